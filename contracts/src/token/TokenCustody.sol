// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Roles} from "../Roles.sol";
import {IERC7518} from "../interfaces/IERC7518.sol";
import {IERC7943MultiToken} from "../interfaces/IERC7943MultiToken.sol";
import {IPlatformSecurityToken7518} from "../interfaces/IPlatformSecurityToken7518.sol";
import {IRule144} from "../interfaces/IRule144.sol";
import {AccountWord} from "./AccountWord.sol";
import {HolderWord} from "./HolderWord.sol";
import {Locks} from "./Locks.sol";
import {PageLine} from "./PageLine.sol";
import {TokenRules} from "./TokenRules.sol";
import {TokenStorage} from "./TokenStorage.sol";
import {TotalWord} from "./TotalWord.sol";

/// @title TokenCustody
/// @notice What agents do without the holder: freeze, forced transfer, recovery of a wallet.
/// @dev Nothing here calls a receiver hook, so a receiver cannot block it.
abstract contract TokenCustody is TokenRules {
    /// @inheritdoc IERC7518
    function freezeAddress(address account, bytes calldata data) external onlyRole(Roles.COMPLIANCE | Roles.CUSTODY) {
        _requireNotZero(account);
        TokenStorage.Account storage slot = TokenStorage.state().accounts[account];
        slot.word = slot.word.frozen();
        emit AddressFrozen(account, data);
    }

    /// @inheritdoc IERC7518
    function unFreeze(address account, bytes calldata data) external onlyRole(Roles.COMPLIANCE) {
        _requireNotZero(account);
        TokenStorage.Account storage slot = TokenStorage.state().accounts[account];
        slot.word = _living(account, slot).unfrozen();
        emit AddressUnfrozen(account, data);
    }

    /// @inheritdoc IERC7518
    function forceTransfer(address from, address to, uint256 id, uint256 amount, bytes calldata data)
        external
        onlyRole(Roles.CUSTODY)
        returns (bool)
    {
        if (data.length != 0) {
            if (data.length < 32) revert MalformedData(data.length);
            _execute(uint256(bytes32(data)), "force_transfer");
        }
        _force(from, to, id, amount);
        return true;
    }

    /// @inheritdoc IERC7943MultiToken
    function forcedTransfer(address from, address to, uint256 tokenId, uint256 amount)
        external
        onlyRole(Roles.CUSTODY)
        returns (bool)
    {
        _force(from, to, tokenId, amount);
        emit ForcedTransfer(from, to, tokenId, amount);
        return true;
    }

    /// @inheritdoc IPlatformSecurityToken7518
    function recoveryAddress(address lost, address replacement, uint256 opId) external onlyRole(Roles.CUSTODY) {
        _execute(opId, "recovery");
        _requireNotZero(lost);
        _requireNotZero(replacement);
        if (lost == replacement) revert RecoveryToItself(lost);
        _retire(lost, replacement);
        TotalWord total = TokenStorage.state().total;
        uint256 count = total.count();
        for (uint256 partition = 1; partition <= count; ++partition) {
            _recover(lost, replacement, partition);
            if (total.asksRule144(partition)) _reportRecovery(lost, replacement, partition);
        }
        emit AddressRecovered(lost, replacement);
    }

    /// @inheritdoc IPlatformSecurityToken7518
    function frozenAmong(bytes32[] calldata lines) external view returns (uint256 bits) {
        if (lines.length > 256) revert PageTooLong(lines.length);
        for (uint256 i; i < lines.length; ++i) {
            if (isFrozen(PageLine.account(lines[i]))) bits |= 1 << i;
        }
    }

    /// @inheritdoc IPlatformSecurityToken7518
    function successorOf(address lost) external view returns (address) {
        return TokenStorage.state().accounts[lost].word.successor();
    }

    /// @inheritdoc IERC7943MultiToken
    function canSend(address account) external view returns (bool) {
        return account != address(0) && !isFrozen(account);
    }

    /// @inheritdoc IERC7943MultiToken
    function canReceive(address account) external view returns (bool) {
        return account != address(0) && !isFrozen(account);
    }

    /// @dev Takes unlocked units first, then locked units with the latest release times.
    function _force(address from, address to, uint256 partition, uint256 amount) private {
        _requireNotZero(to);
        if (amount == 0) revert ZeroAmount(from);
        if (!isFrozen(from)) revert AddressNotFrozen(from);
        _requireNotFrozen(to);
        TokenStorage.Holding storage source = _holding(from, partition);
        TokenStorage.Holding storage target = _holding(to, partition);
        HolderWord word = source.word;
        // An unknown partition is refused here too, because nobody holds units of it.
        if (amount > word.balance()) revert BalanceTooLow(from, partition, word.balance(), amount);
        bool followed = word.isFollowed();
        word = word.debit(amount);
        source.word = word.firstTranche() == 0 ? word : _cutToBalance(source, from, partition, word);
        word = target.word.credit(amount);
        target.word = followed ? word.followed() : word;
        emit TransferSingle(msg.sender, from, to, partition, amount);
        emit TokensForceTransferred(from, to, partition, amount);
        if (followed) _reportForced(from, to, partition, amount);
    }

    /// @dev Without a module nothing is reported, because a forced transfer must not depend on one.
    function _reportForced(address from, address to, uint256 partition, uint256 amount) private {
        address module = TokenStorage.state().rule144;
        if (module != address(0)) IRule144(module).onForcedTransfer(from, to, partition, amount);
    }

    /// @dev Cuts the latest locks until they do not exceed the balance. Removes due locks first.
    function _cutToBalance(TokenStorage.Holding storage holding, address holder, uint256 partition, HolderWord word)
        private
        returns (HolderWord)
    {
        word = _settled(word, holding, holder, partition);
        uint256 locked = Locks.lockedUnits(word, holding);
        uint256 balance = word.balance();
        if (locked <= balance) return word;
        uint256 frozen = Locks.frozenUnits(word, holding);
        word = Locks.cut(word, holding, locked - balance);
        emit LocksCut(holder, partition, locked - balance);
        if (frozen != 0) emit Frozen(holder, partition, Locks.frozenUnits(word, holding));
        return word;
    }

    /// @dev Freezes `lost` forever and records its successor. If it was frozen before, the successor is frozen too.
    function _retire(address lost, address replacement) private {
        TokenStorage.Account storage lostSlot = TokenStorage.state().accounts[lost];
        TokenStorage.Account storage slot = TokenStorage.state().accounts[replacement];
        AccountWord lostWord = _living(lost, lostSlot);
        AccountWord word = _living(replacement, slot);
        lostSlot.word = lostWord.retiredTo(replacement);
        if (lostWord.isFrozen() && !word.isFrozen()) {
            slot.word = word.frozen();
            emit AddressFrozen(replacement, "");
        }
    }

    /// @dev Moves the word unchanged: balance, whitelist bit and all tranches, with due ones.
    function _recover(address lost, address replacement, uint256 partition) private {
        mapping(address holder => TokenStorage.Holding) storage holdings = TokenStorage.state().holdings[partition];
        TokenStorage.Holding storage target = holdings[replacement];
        HolderWord targetWord = target.word;
        if (targetWord.balance() != 0) revert WalletNotEmpty(replacement, partition, targetWord.balance());
        TokenStorage.Holding storage source = holdings[lost];
        HolderWord word = source.word;
        if (HolderWord.unwrap(word) == 0) return;
        Locks.moveExtras(word, source, target);
        source.word = HolderWord.wrap(0);
        target.word = targetWord.isWhitelisted() ? word.whitelisted() : word;
        uint256 balance = word.balance();
        if (balance != 0) emit TransferSingle(msg.sender, lost, replacement, partition, balance);
    }

    /// @dev Also for an empty holding, because the module has more to move, such as the affiliate mark.
    function _reportRecovery(address lost, address replacement, uint256 partition) private {
        address module = TokenStorage.state().rule144;
        if (module != address(0)) IRule144(module).onRecovery(lost, replacement, partition);
    }

    /// @dev The word of an account. Reverts if the account was recovered.
    function _living(address account, TokenStorage.Account storage slot) private view returns (AccountWord word) {
        word = slot.word;
        address successor = word.successor();
        if (successor != address(0)) revert AddressRetired(account, successor);
    }
}
