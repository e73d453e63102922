// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {AgentGated} from "../AgentGated.sol";
import {Operations} from "../Operations.sol";
import {IERC7518} from "../interfaces/IERC7518.sol";
import {IPlatformSecurityToken7518} from "../interfaces/IPlatformSecurityToken7518.sol";
import {IRule144} from "../interfaces/IRule144.sol";
import {AccountWord} from "./AccountWord.sol";
import {HolderWord} from "./HolderWord.sol";
import {Locks} from "./Locks.sol";
import {PartitionWord} from "./PartitionWord.sol";
import {Reasons} from "./Reasons.sol";
import {TokenStorage} from "./TokenStorage.sol";
import {TotalWord} from "./TotalWord.sol";

/// @title TokenRules
/// @notice The predicate of `canTransfer` and of every voluntary transfer, and the reads that it needs.
abstract contract TokenRules is IPlatformSecurityToken7518, AgentGated, Operations {
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
        HolderWord word = holding.word;
        return word.balance() - Locks.heldBack(word, holding);
    }

    /// @inheritdoc IERC7518
    function lockedBalanceOf(address account, uint256 id) external view returns (uint256) {
        TokenStorage.Holding storage holding = _holding(account, id);
        return Locks.heldBack(holding.word, holding);
    }

    /// @inheritdoc IPlatformSecurityToken7518
    function isFrozen(address holder) public view returns (bool) {
        return TokenStorage.state().accounts[holder].word.isFrozen();
    }

    /// @dev Returns why a transfer would be refused now, or 0. With `from` zero it answers for a mint.
    function _refusal(address from, address to, uint256 partition, uint256 amount) internal view returns (bytes32) {
        PartitionWord word = TokenStorage.state().partitions[partition].word;
        TokenStorage.Holding storage target = _holding(to, partition);
        if (from != address(0)) {
            return _moveRefusal(word, _holding(from, partition), target, from, to, partition, amount);
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
        address from,
        address to,
        uint256 partition,
        uint256 amount
    ) internal view returns (bytes32 reason) {
        if (word.isRestricted()) return Reasons.RESTRICTED;
        if (isFrozen(from)) return Reasons.FROM_FROZEN;
        reason = _receiverRefusal(word, target, to);
        if (reason != Reasons.ALLOWED) return reason;
        reason = _balanceRefusal(source, amount);
        if (reason != Reasons.ALLOWED || !word.asksRule144()) return reason;
        return _rule144Refusal(from, to, partition, amount);
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

    /// @dev Returns the word. Reverts if the account was recovered.
    function _living(address account, AccountWord word) internal pure returns (AccountWord) {
        address successor = word.successor();
        if (successor != address(0)) revert AddressRetired(account, successor);
        return word;
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

    function _receiverRefusal(PartitionWord word, TokenStorage.Holding storage target, address to)
        private
        view
        returns (bytes32)
    {
        if (!word.exists()) return Reasons.UNKNOWN_PARTITION;
        if (word.isPaused()) return Reasons.PAUSED;
        if (to == address(0)) return Reasons.TO_ZERO;
        if (isFrozen(to)) return Reasons.TO_FROZEN;
        return target.word.isWhitelisted() ? Reasons.ALLOWED : Reasons.TO_NOT_WHITELISTED;
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

    function _balanceRefusal(TokenStorage.Holding storage holding, uint256 amount) internal view returns (bytes32) {
        HolderWord word = holding.word;
        uint256 balance = word.balance();
        if (amount > balance) return Reasons.INSUFFICIENT_BALANCE;
        if (word.isFree()) return Reasons.ALLOWED;
        return amount > balance - Locks.heldBack(word, holding) ? Reasons.LOCKED : Reasons.ALLOWED;
    }

    function _rule144Refusal(address from, address to, uint256 partition, uint256 amount)
        private
        view
        returns (bytes32)
    {
        address module = TokenStorage.state().rule144;
        if (module == address(0)) return Reasons.RULE144_UNSET;
        (bool allowed, bytes32 reason) = IRule144(module).check(from, to, partition, amount);
        if (allowed) return Reasons.ALLOWED;
        return reason == 0 ? Reasons.RULE144 : reason;
    }
}
