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
import {TokenRules} from "./TokenRules.sol";
import {TokenStorage} from "./TokenStorage.sol";
import {TotalWord} from "./TotalWord.sol";

/// @title TokenCustody
/// @notice What agents do to holdings without the holder: freeze, forced transfer, recovery of a wallet.
/// @dev No receiver hook is called here: the receiver must not be able to stop any of it.
abstract contract TokenCustody is TokenRules {
    /// @inheritdoc IERC7518
    function freezeAddress(address account, bytes calldata data) external onlyRole(Roles.COMPLIANCE | Roles.CUSTODY) {
        _requireNotZero(account);
        mapping(address account => AccountWord) storage accounts = TokenStorage.state().accounts;
        accounts[account] = accounts[account].withFrozen(true);
        emit AddressFrozen(account, data);
    }

    /// @inheritdoc IERC7518
    function unFreeze(address account, bytes calldata data) external onlyRole(Roles.COMPLIANCE) {
        _requireNotZero(account);
        AccountWord word = _living(account);
        TokenStorage.state().accounts[account] = word.withFrozen(false);
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
        for (uint256 partition = 1; partition <= total.count(); ++partition) {
            _recover(lost, replacement, partition);
            if (total.asksRule144(partition)) {
                address module = TokenStorage.state().rule144;
                if (module != address(0)) IRule144(module).onRecovery(lost, replacement, partition);
            }
        }
        emit AddressRecovered(lost, replacement);
    }

    /// @inheritdoc IPlatformSecurityToken7518
    function successorOf(address lost) external view returns (address) {
        return TokenStorage.state().accounts[lost].successor();
    }

    /// @inheritdoc IERC7943MultiToken
    function canSend(address account) external view returns (bool) {
        return account != address(0) && !isFrozen(account);
    }

    /// @inheritdoc IERC7943MultiToken
    function canReceive(address account) external view returns (bool) {
        return account != address(0) && !isFrozen(account);
    }

    /// @dev Unlocked units go first; of the locked ones those with the latest release.
    function _force(address from, address to, uint256 partition, uint256 amount) private {
        bool asksRule144 = _partition(partition).asksRule144();
        _requireNotZero(to);
        if (amount == 0) revert ZeroAmount(from);
        if (!isFrozen(from)) revert AddressNotFrozen(from);
        _requireNotFrozen(to);
        mapping(address holder => HolderWord) storage holders = TokenStorage.state().holders[partition];
        HolderWord word = _settled(from, partition);
        uint256 balance = word.balance();
        if (amount > balance) revert BalanceTooLow(from, partition, balance, amount);
        holders[from] = _cutToBalance(from, partition, word.debit(amount));
        holders[to] = holders[to].credit(amount);
        emit TransferSingle(msg.sender, from, to, partition, amount);
        emit TokensForceTransferred(from, to, partition, amount);
        address module = asksRule144 ? TokenStorage.state().rule144 : address(0);
        if (module != address(0)) IRule144(module).onForcedTransfer(from, to, partition, amount);
    }

    /// @dev Restores "locked is at most the balance" after units were taken.
    function _cutToBalance(address holder, uint256 partition, HolderWord word) private returns (HolderWord) {
        uint256[15] storage extras = TokenStorage.state().extras[partition][holder];
        uint256 locked = Locks.lockedUnits(word, extras);
        uint256 balance = word.balance();
        if (locked <= balance) return word;
        uint256 frozen = Locks.frozenUnits(word, extras);
        word = Locks.cut(word, extras, locked - balance);
        emit LocksCut(holder, partition, locked - balance);
        if (frozen != 0) emit Frozen(holder, partition, Locks.frozenUnits(word, extras));
        return word;
    }

    /// @dev Freezes `lost` for good, records its successor and lets a freeze follow the person to the new wallet.
    function _retire(address lost, address replacement) private {
        AccountWord lostWord = _living(lost);
        AccountWord word = _living(replacement);
        mapping(address account => AccountWord) storage accounts = TokenStorage.state().accounts;
        accounts[lost] = lostWord.retiredTo(replacement);
        if (!lostWord.isFrozen()) {
            emit AddressFrozen(lost, "");
        } else if (!word.isFrozen()) {
            accounts[replacement] = word.withFrozen(true);
            emit AddressFrozen(replacement, "");
        }
    }

    /// @dev Moves the word as it is: balance, every tranche and the whitelist bit, due tranches included.
    function _recover(address lost, address replacement, uint256 partition) private {
        mapping(address holder => HolderWord) storage holders = TokenStorage.state().holders[partition];
        HolderWord target = holders[replacement];
        uint256 held = target.balance();
        if (held != 0) revert WalletNotEmpty(replacement, partition, held);
        HolderWord word = holders[lost];
        if (HolderWord.unwrap(word) == 0) return;
        mapping(address holder => uint256[15]) storage extras = TokenStorage.state().extras[partition];
        Locks.moveExtras(word, extras[lost], extras[replacement]);
        holders[lost] = HolderWord.wrap(0);
        holders[replacement] = target.isWhitelisted() ? word.withWhitelisted(true) : word;
        uint256 balance = word.balance();
        if (balance != 0) emit TransferSingle(msg.sender, lost, replacement, partition, balance);
    }

    /// @dev The word of an account that was not recovered away.
    function _living(address account) private view returns (AccountWord word) {
        word = TokenStorage.state().accounts[account];
        address successor = word.successor();
        if (successor != address(0)) revert AddressRetired(account, successor);
    }
}
