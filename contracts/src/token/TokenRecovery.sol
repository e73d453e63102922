// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Roles} from "../Roles.sol";
import {IPlatformSecurityToken7518} from "../interfaces/IPlatformSecurityToken7518.sol";
import {IRule144} from "../interfaces/IRule144.sol";
import {AccountWord, AccountWordLibrary} from "./AccountWord.sol";
import {HolderWord} from "./HolderWord.sol";
import {Locks} from "./Locks.sol";
import {TokenRules} from "./TokenRules.sol";
import {TokenStorage} from "./TokenStorage.sol";
import {TotalWord} from "./TotalWord.sol";

/// @title TokenRecovery
/// @notice Moves everything of a lost wallet to another one, and takes the retirement of a wallet back.
/// @dev Calls no receiver hook, so a receiver cannot block a recovery.
abstract contract TokenRecovery is TokenRules {
    /// @inheritdoc IPlatformSecurityToken7518
    function recoveryAddress(address lost, address replacement, uint256 opId) external onlyRole(Roles.CUSTODY) {
        if (opId == 0) revert OperationIdZero();
        _report(opId, _RECOVERY);
        _requireNotZero(lost);
        _requireNotZero(replacement);
        if (lost == replacement) revert RecoveryToItself(lost);
        _retire(lost, replacement, opId);
        TotalWord total = TokenStorage.state().total;
        uint256 count = total.count();
        for (uint256 partition = 1; partition <= count; ++partition) {
            _recover(lost, replacement, partition);
            if (total.asksRule144(partition)) _reportRecovery(lost, replacement, partition);
        }
        emit AddressRecovered(lost, replacement);
    }

    /// @inheritdoc IPlatformSecurityToken7518
    function reinstateAddress(address account, uint256 opId) external onlyRole(Roles.CUSTODY) {
        _execute(opId, _REINSTATE);
        TokenStorage.Account storage slot = TokenStorage.state().accounts[account];
        AccountWord word = slot.word;
        if (word.successor() == address(0)) revert AddressNotRetired(account);
        slot.word = word.reinstated();
        emit AddressReinstated(account, word.successor());
    }

    /// @inheritdoc IPlatformSecurityToken7518
    function successorOf(address lost) external view returns (address) {
        return TokenStorage.state().accounts[lost].word.successor();
    }

    /// @inheritdoc IPlatformSecurityToken7518
    function lastRecoveryOf(address lost) external view returns (uint256) {
        return TokenStorage.state().accounts[lost].word.recovery();
    }

    /// @dev Freezes `lost`, records its successor and the operation number. If it was frozen before, the successor is
    /// frozen too. The number needs no bit in the bitmap: the slot is written anyway, which saves 5,000 gas.
    function _retire(address lost, address replacement, uint256 opId) private {
        TokenStorage.Account storage lostSlot = TokenStorage.state().accounts[lost];
        TokenStorage.Account storage slot = TokenStorage.state().accounts[replacement];
        AccountWord lostWord = lostSlot.word;
        uint256 last = lostWord.recovery();
        if (opId == last) revert OperationReplayed(opId);
        _living(lost, lostWord);
        // A wallet that was reinstated refuses its older recoveries by this.
        if (opId < last || opId > type(uint88).max) revert RecoveryOutOfOrder(lost, last, opId);
        AccountWord word = _living(replacement, slot.word);
        lostSlot.word = AccountWordLibrary.retired(replacement, opId);
        if (lostWord.isFrozen() && !word.isFrozen()) {
            slot.word = word.frozen();
            emit AddressFrozen(replacement, "");
        }
    }

    function _recover(address lost, address replacement, uint256 partition) private {
        mapping(address holder => TokenStorage.Holding) storage holdings = TokenStorage.state().holdings[partition];
        TokenStorage.Holding storage source = holdings[lost];
        HolderWord word = source.word;
        if (HolderWord.unwrap(word) == 0) return;
        TokenStorage.Holding storage target = holdings[replacement];
        HolderWord targetWord = target.word;
        source.word = HolderWord.wrap(0);
        uint256 balance = word.balance();
        if (targetWord.isFree()) {
            // Moves the word with all tranches, due ones too.
            Locks.moveExtras(word, source, target);
            target.word = word.joined(targetWord);
        } else {
            target.word = _merge(word, source, target, replacement, partition);
        }
        if (word.hasFrozenUnits()) _moveFrozenUnits(source, target, lost, replacement, partition);
        if (balance != 0) emit TransferSingle(msg.sender, lost, replacement, partition, balance);
    }

    /// @dev Adds to a wallet that has locks or frozen units of its own. Locks with the same release time merge. Reverts for
    /// more than 16 release times; `releaseLock` then brings two of them together.
    function _merge(
        HolderWord word,
        TokenStorage.Holding storage source,
        TokenStorage.Holding storage target,
        address replacement,
        uint256 partition
    ) private returns (HolderWord merged) {
        merged = _settled(target.word, target, replacement, partition).joined(word);
        uint256 length = Locks.count(word);
        for (uint256 i; i < length; ++i) {
            uint256 tranche = Locks.trancheAt(word, source, i);
            if (i != 0) source.extras[i - 1] = 0;
            if (Locks.releaseOf(tranche) <= block.timestamp) continue;
            bool full;
            (merged, full) = Locks.add(merged, target, Locks.unitsOf(tranche), Locks.releaseOf(tranche));
            if (full) revert TooManyLocks(replacement, partition);
        }
    }

    /// @dev Both wallets can have been under an order, so the frozen units add up.
    function _moveFrozenUnits(
        TokenStorage.Holding storage source,
        TokenStorage.Holding storage target,
        address lost,
        address replacement,
        uint256 partition
    ) private {
        uint256 units = source.frozen + target.frozen;
        if (units > type(uint96).max) units = type(uint96).max;
        source.frozen = 0;
        target.word = Locks.freeze(target.word, target, units);
        emit Frozen(lost, partition, 0);
        emit Frozen(replacement, partition, units);
    }

    /// @dev Also for an empty holding, because the module has more to move, such as the affiliate mark.
    function _reportRecovery(address lost, address replacement, uint256 partition) private {
        address module = TokenStorage.state().rule144;
        if (module != address(0)) IRule144(module).onRecovery(lost, replacement, partition);
    }
}
