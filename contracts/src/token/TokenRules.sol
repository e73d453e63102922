// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {AgentGated} from "../AgentGated.sol";
import {Operations} from "../Operations.sol";
import {IERC7518} from "../interfaces/IERC7518.sol";
import {IPlatformSecurityToken7518} from "../interfaces/IPlatformSecurityToken7518.sol";
import {IRule144} from "../interfaces/IRule144.sol";
import {HolderSlot} from "./HolderSlot.sol";
import {HolderWord} from "./HolderWord.sol";
import {Locks} from "./Locks.sol";
import {PartitionWord} from "./PartitionWord.sol";
import {Reasons} from "./Reasons.sol";
import {TokenStorage} from "./TokenStorage.sol";
import {TotalWord} from "./TotalWord.sol";

/// @title TokenRules
/// @notice The predicate of `canTransfer` and of every voluntary transfer, and the reads that it needs.
abstract contract TokenRules is IPlatformSecurityToken7518, AgentGated, Operations {
    /// @dev A voluntary transfer.
    struct Move {
        address from;
        address to;
        uint256 partition;
        uint256 amount;
    }

    /// @inheritdoc IERC7518
    function canTransfer(address from, address to, uint256 id, uint256 amount, bytes calldata)
        external
        view
        returns (bool allowed, bytes32 reason)
    {
        reason = _refusal(from, to, id, amount);
        allowed = reason == Reasons.ALLOWED;
    }

    /// @inheritdoc IERC7518
    function transferableBalance(address account, uint256 id) external view returns (uint256) {
        TokenStorage.Holding storage holding = _holding(account, id);
        HolderWord word = _shown(holding);
        return word.balance() - Locks.heldBack(word, holding);
    }

    /// @inheritdoc IERC7518
    function lockedBalanceOf(address account, uint256 id) external view returns (uint256) {
        TokenStorage.Holding storage holding = _holding(account, id);
        return Locks.heldBack(_shown(holding), holding);
    }

    /// @inheritdoc IPlatformSecurityToken7518
    function isFrozen(address holder) public view returns (bool) {
        return _home(holder).slot.isFrozen();
    }

    /// @dev Returns why a transfer would be refused now, or 0. With `from` zero it answers for a mint.
    function _refusal(address from, address to, uint256 partition, uint256 amount) internal view returns (bytes32) {
        PartitionWord word = TokenStorage.state().partitions[partition].word;
        TokenStorage.Holding storage target = _holding(to, partition);
        if (from != address(0)) {
            return _moveRefusal(word, _holding(from, partition), target, Move(from, to, partition, amount));
        }
        bytes32 reason = _receiverRefusal(word, target, to);
        return reason == Reasons.ALLOWED ? _mintRefusal(word, partition, amount) : reason;
    }

    /// @dev The predicate of a voluntary transfer. The caller passes the storage that it needs afterwards, so it is read
    /// once.
    function _moveRefusal(
        PartitionWord word,
        TokenStorage.Holding storage source,
        TokenStorage.Holding storage target,
        Move memory move
    ) internal view returns (bytes32 reason) {
        if (word.isRestricted()) return Reasons.RESTRICTED;
        if (isFrozen(move.from)) return Reasons.FROM_FROZEN;
        reason = _receiverRefusal(word, target, move.to);
        if (reason != Reasons.ALLOWED) return reason;
        reason = _balanceRefusal(source, move.amount);
        if (reason != Reasons.ALLOWED || !word.asksRule144()) return reason;
        return _rule144Refusal(move);
    }

    /// @dev The agents of the token's offering are accepted beside those of the platform.
    function _scope() internal view override returns (bytes32) {
        return offeringId();
    }

    /// @inheritdoc IPlatformSecurityToken7518
    function offeringId() public view virtual returns (bytes32);

    function _holding(address holder, uint256 partition) internal view returns (TokenStorage.Holding storage) {
        return TokenStorage.state().holdings[partition][holder];
    }

    /// @dev The holding whose slot tells whether an account is frozen or retired.
    function _home(address account) internal view returns (TokenStorage.Holding storage) {
        return TokenStorage.home()[account];
    }

    /// @dev The holder's word as views show it; see `HolderSlot`.
    function _shown(TokenStorage.Holding storage holding) internal view returns (HolderWord) {
        return holding.slot.shown();
    }

    /// @dev Returns the holder's word without due tranches. The caller stores it.
    function _settled(HolderWord word, TokenStorage.Holding storage holding, address holder, uint256 partition)
        internal
        returns (HolderWord)
    {
        if (!Locks.isDue(word)) return word;
        emit TokenUnlocked(holder, partition);
        return Locks.dropDue(word, holding);
    }

    /// @dev Returns the word of a partition. Reverts if it does not exist.
    function _partition(uint256 partition) internal view returns (PartitionWord word) {
        word = TokenStorage.state().partitions[partition].word;
        if (!word.exists()) revert UnknownPartition(partition);
    }

    /// @dev Returns the word in a slot of `account`. Reverts if the account is retired.
    function _living(address account, HolderSlot slot) internal pure returns (HolderWord) {
        if (slot.isRetired()) revert AddressRetired(account, slot.successor());
        return HolderWord.wrap(HolderSlot.unwrap(slot));
    }

    function _requireFitting(uint256 amount) internal pure {
        if (amount > type(uint96).max) revert AmountTooLarge(amount);
    }

    function _requireNotZero(address account) internal pure {
        if (account == address(0)) revert ZeroAddress();
    }

    function _requireNotFrozen(address account) internal view {
        if (isFrozen(account)) revert AddressIsFrozen(account);
    }

    /// @dev Reverts if the account is retired, whatever the partition.
    function _requireLiving(address account) internal view {
        _living(account, _home(account).slot);
    }

    function _receiverRefusal(PartitionWord word, TokenStorage.Holding storage target, address to)
        private
        view
        returns (bytes32)
    {
        if (!word.exists()) return Reasons.UNKNOWN_PARTITION;
        if (word.isPaused()) return Reasons.PAUSED;
        if (to == address(0)) return Reasons.TO_ZERO;
        if (isFrozen(to)) return Reasons.TO_FROZEN;
        // A retired wallet is frozen, so it does not get here.
        return target.slot.living().isWhitelisted() ? Reasons.ALLOWED : Reasons.TO_NOT_WHITELISTED;
    }

    function _mintRefusal(PartitionWord word, uint256 partition, uint256 amount) private view returns (bytes32) {
        if (amount == 0) return Reasons.ZERO_AMOUNT;
        if (amount > word.cap() - word.supply()) return Reasons.CAP;
        TotalWord total = TokenStorage.state().total;
        if (amount > total.cap() - total.supply()) return Reasons.TOTAL_CAP;
        if (!word.asksRule144()) return Reasons.ALLOWED;
        address module = TokenStorage.state().rule144;
        if (module == address(0)) return Reasons.RULE144_UNSET;
        bool served = IRule144(module).isServed(address(this), partition);
        return served ? Reasons.ALLOWED : Reasons.RULE144_NOT_SERVED;
    }

    /// @dev The caller has refused a frozen holder, so the holder is not retired.
    function _balanceRefusal(TokenStorage.Holding storage holding, uint256 amount) internal view returns (bytes32) {
        HolderWord word = holding.slot.living();
        uint256 balance = word.balance();
        if (amount > balance) return Reasons.INSUFFICIENT_BALANCE;
        if (word.isFree()) return Reasons.ALLOWED;
        return amount > balance - Locks.heldBack(word, holding) ? Reasons.LOCKED : Reasons.ALLOWED;
    }

    function _rule144Refusal(Move memory move) private view returns (bytes32) {
        address module = TokenStorage.state().rule144;
        if (module == address(0)) return Reasons.RULE144_UNSET;
        (bool allowed, bytes32 reason) = IRule144(module).check(move.from, move.to, move.partition, move.amount);
        if (allowed) return Reasons.ALLOWED;
        return reason == 0 ? Reasons.RULE144 : reason;
    }
}
