// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Roles} from "../Roles.sol";
import {IPlatformSecurityToken7518} from "../interfaces/IPlatformSecurityToken7518.sol";
import {IRule144} from "../interfaces/IRule144.sol";
import {HolderSlot, HolderSlotLibrary} from "./HolderSlot.sol";
import {HolderWord, HolderWordLibrary} from "./HolderWord.sol";
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
        _requireRecoverable(lost, replacement, opId);
        TotalWord total = TokenStorage.state().total;
        uint256 count = total.count();
        // The home partition is the first one, so the lost wallet is retired before the module is called.
        HolderSlot left = HolderSlotLibrary.retired(replacement, opId);
        for (uint256 partition = TokenStorage.HOME; partition <= count; ++partition) {
            _recover(lost, replacement, partition, left);
            left = HolderSlot.wrap(0);
            if (total.asksRule144(partition)) _reportRecovery(lost, replacement, partition);
        }
        emit AddressRecovered(lost, replacement);
    }

    /// @inheritdoc IPlatformSecurityToken7518
    function reinstateAddress(address account, uint256 opId) external onlyRole(Roles.CUSTODY) {
        _execute(opId, _REINSTATE);
        TokenStorage.Holding storage home = _home(account);
        HolderSlot slot = home.slot;
        if (!slot.isRetired()) revert AddressNotRetired(account);
        // Its slot has no room for the number beside units, and its older recoveries must stay refused.
        TokenStorage.state().recoveries[account] = slot.recovery();
        home.slot = HolderSlotLibrary.stored(HolderWordLibrary.reinstated());
        emit AddressReinstated(account, slot.successor());
    }

    /// @inheritdoc IPlatformSecurityToken7518
    function successorOf(address lost) external view returns (address) {
        HolderSlot slot = _home(lost).slot;
        return slot.isRetired() ? slot.successor() : address(0);
    }

    /// @inheritdoc IPlatformSecurityToken7518
    function lastRecoveryOf(address lost) external view returns (uint256) {
        return _lastRecovery(lost, _home(lost).slot);
    }

    /// @dev Checks both wallets, and the operation number: the record of the retired wallet keeps it, so it needs no bit in
    /// the bitmap, which saves 5,000 gas. The freeze of a lost wallet moves with its slot of the home partition.
    function _requireRecoverable(address lost, address replacement, uint256 opId) private {
        HolderSlot slot = _home(lost).slot;
        uint256 last = _lastRecovery(lost, slot);
        if (opId == last) revert OperationReplayed(opId);
        HolderWord word = _living(lost, slot);
        // A wallet that was reinstated refuses its older recoveries by this.
        if (opId < last || opId > HolderSlotLibrary.RECOVERY_MAX) revert RecoveryOutOfOrder(lost, last, opId);
        HolderWord replacementWord = _living(replacement, _home(replacement).slot);
        if (word.isFrozen() && !replacementWord.isFrozen()) emit AddressFrozen(replacement, "");
    }

    function _lastRecovery(address account, HolderSlot slot) private view returns (uint256) {
        if (slot.isRetired()) return slot.recovery();
        return slot.living().isReinstated() ? TokenStorage.state().recoveries[account] : 0;
    }

    /// @dev Moves a holding and leaves `left` in the slot of the lost wallet.
    function _recover(address lost, address replacement, uint256 partition, HolderSlot left) private {
        mapping(address holder => TokenStorage.Holding) storage holdings = TokenStorage.state().holdings[partition];
        TokenStorage.Holding storage source = holdings[lost];
        HolderWord word = source.slot.living().movable();
        source.slot = left;
        if (HolderWord.unwrap(word) == 0) return;
        TokenStorage.Holding storage target = holdings[replacement];
        HolderWord targetWord = target.slot.living();
        if (targetWord.isFree()) {
            // Moves the word with all tranches, due ones too.
            Locks.moveExtras(word, source, target);
            target.slot = HolderSlotLibrary.stored(word.joined(targetWord));
        } else {
            target.slot = HolderSlotLibrary.stored(_merge(word, source, target, replacement, partition));
        }
        if (word.hasFrozenUnits()) _moveFrozenUnits(source, target, lost, replacement, partition);
        uint256 balance = word.balance();
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
        merged = _settled(target.slot.living(), target, replacement, partition).joined(word);
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
        target.slot = HolderSlotLibrary.stored(Locks.freeze(target.slot.living(), target, units));
        emit Frozen(lost, partition, 0);
        emit Frozen(replacement, partition, units);
    }

    /// @dev Also for an empty holding, because the module has more to move, such as the affiliate mark.
    function _reportRecovery(address lost, address replacement, uint256 partition) private {
        address module = TokenStorage.state().rule144;
        if (module != address(0)) IRule144(module).onRecovery(lost, replacement, partition);
    }
}
