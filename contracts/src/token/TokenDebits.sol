// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {HolderSlotLibrary} from "./HolderSlot.sol";
import {HolderWord} from "./HolderWord.sol";
import {Locks} from "./Locks.sol";
import {TokenRules} from "./TokenRules.sol";
import {TokenStorage} from "./TokenStorage.sol";

/// @title TokenDebits
/// @notice Takes units from a holder regardless of locks and frozen units, for forced transfers and redemptions.
abstract contract TokenDebits is TokenRules {
    /// @dev Takes unlocked units first, then locked units with the latest release times. An unknown partition is refused
    /// too, because nobody holds units of it.
    /// @return followed Whether the Rule 144 module keeps lots for these units.
    function _take(address from, uint256 partition, uint256 amount) internal returns (bool followed) {
        if (amount == 0) revert ZeroAmount(from);
        TokenStorage.Holding storage source = _holding(from, partition);
        HolderWord word = _living(from, source.slot);
        if (amount > word.balance()) revert BalanceTooLow(from, partition, word.balance(), amount);
        followed = word.isFollowed();
        word = word.debit(amount);
        if (!word.isFree()) word = _cutToBalance(source, from, partition, word);
        source.slot = HolderSlotLibrary.stored(word);
    }

    /// @dev Cuts the latest locks, and the frozen units, until they do not exceed the balance. Removes due locks first.
    function _cutToBalance(TokenStorage.Holding storage holding, address holder, uint256 partition, HolderWord word)
        private
        returns (HolderWord)
    {
        word = _settled(word, holding, holder, partition);
        uint256 balance = word.balance();
        uint256 locked = Locks.lockedUnits(word, holding);
        if (locked > balance) {
            word = Locks.cut(word, holding, locked - balance);
            emit LocksCut(holder, partition, locked - balance);
        }
        if (Locks.frozenUnits(word, holding) > balance) {
            word = Locks.freeze(word, holding, balance);
            emit Frozen(holder, partition, balance);
        }
        return word;
    }
}
