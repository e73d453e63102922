// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {HolderWord} from "./HolderWord.sol";
import {TokenStorage} from "./TokenStorage.sol";

/// @title Locks
/// @notice The locks of one holder in one partition: a list of tranches sorted by release time, each time once. The
/// first tranche is in the holder's word, so a holder with one lock needs no further slot. Up to 15 more are in `extras`.
/// @dev A tranche is `releaseAt << 96 | units`, so the order of words is the order of times. Due tranches are removed when
/// the word is written anyway (`dropDue`). Functions that change a word return it, and the caller stores it. Units that
/// `setFrozenTokens` froze are no tranche: they overlap the locks.
library Locks {
    /// @notice Limit of tranches in addition to the first.
    uint256 internal constant EXTRAS_MAX = 15;
    /// @notice The longest lock, in seconds: 20 years. So a typing error in a release time cannot lock units for ever.
    uint256 internal constant SECONDS_MAX = 7305 days;

    uint256 private constant _RELEASE_SHIFT = 96;

    function tranche(uint256 units, uint256 releaseAt) internal pure returns (uint256) {
        return (releaseAt << _RELEASE_SHIFT) | units;
    }

    function unitsOf(uint256 item) internal pure returns (uint256) {
        return uint96(item);
    }

    function releaseOf(uint256 item) internal pure returns (uint256) {
        return item >> _RELEASE_SHIFT;
    }

    /// @dev The number of stored tranches, with due ones.
    function count(HolderWord word) internal pure returns (uint256) {
        return word.firstTranche() == 0 ? 0 : word.extraCount() + 1;
    }

    function trancheAt(HolderWord word, TokenStorage.Holding storage holding, uint256 index)
        internal
        view
        returns (uint256)
    {
        return index == 0 ? word.firstTranche() : holding.extras[index - 1];
    }

    /// @dev Units whose release time is in the future. The list is sorted, so it is read from the end.
    function lockedUnits(HolderWord word, TokenStorage.Holding storage holding) internal view returns (uint256 units) {
        for (uint256 i = count(word); i > 0; --i) {
            uint256 item = trancheAt(word, holding, i - 1);
            if (releaseOf(item) <= block.timestamp) break;
            units += unitsOf(item);
        }
    }

    /// @dev Units that `setFrozenTokens` froze. They may exceed the balance.
    function frozenUnits(HolderWord word, TokenStorage.Holding storage holding) internal view returns (uint256) {
        return word.hasFrozenUnits() ? holding.frozen : 0;
    }

    /// @dev Units that may not move: locked, frozen or both, at most the balance.
    function heldBack(HolderWord word, TokenStorage.Holding storage holding) internal view returns (uint256 units) {
        units = lockedUnits(word, holding);
        uint256 frozen = frozenUnits(word, holding);
        if (frozen > units) units = frozen < word.balance() ? frozen : word.balance();
    }

    /// @dev Sets the frozen units. The slot is written only if there are or were any.
    function freeze(HolderWord word, TokenStorage.Holding storage holding, uint256 units)
        internal
        returns (HolderWord)
    {
        if (units != 0 || word.hasFrozenUnits()) holding.frozen = units;
        return word.withFrozenUnits(units != 0);
    }

    /// @dev Whether a tranche is due. The first one is the earliest, so only its time is compared.
    function isDue(HolderWord word) internal view returns (bool) {
        return word.firstTranche() != 0 && word.firstRelease() <= block.timestamp;
    }

    /// @dev Removes due tranches. The caller has checked that the first one is due.
    function dropDue(HolderWord word, TokenStorage.Holding storage holding) internal returns (HolderWord) {
        uint256 length = count(word);
        uint256 due = 1;
        while (due < length && releaseOf(holding.extras[due - 1]) <= block.timestamp) ++due;
        for (uint256 i = due; i < length; ++i) {
            word = _put(word, holding, i - due, holding.extras[i - 1]);
        }
        return _shorten(word, holding, length, length - due);
    }

    /// @dev Adds units to the tranche of `releaseAt`, or inserts a new one. If there is no room for another release time,
    /// `full` is true and nothing changes. The word must have no due tranche.
    function add(HolderWord word, TokenStorage.Holding storage holding, uint256 units, uint256 releaseAt)
        internal
        returns (HolderWord, bool full)
    {
        uint256 length = count(word);
        uint256 place = length;
        for (; place > 0; --place) {
            uint256 item = trancheAt(word, holding, place - 1);
            if (releaseOf(item) == releaseAt) return (_put(word, holding, place - 1, item + units), false);
            if (releaseOf(item) < releaseAt) break;
        }
        if (length > EXTRAS_MAX) return (word, true);
        for (uint256 i = length; i > place; --i) {
            word = _put(word, holding, i, trancheAt(word, holding, i - 1));
        }
        word = _put(word, holding, place, tranche(units, releaseAt));
        return (word.withExtraCount(length), false);
    }

    /// @dev Removes `units` from the latest tranches. At least so many must be locked. The word must have no due tranche.
    function cut(HolderWord word, TokenStorage.Holding storage holding, uint256 units) internal returns (HolderWord) {
        uint256 length = count(word);
        uint256 left = length;
        while (units > 0) {
            uint256 item = trancheAt(word, holding, left - 1);
            uint256 held = unitsOf(item);
            if (held > units) {
                word = _put(word, holding, left - 1, item - units);
                break;
            }
            units -= held;
            --left;
        }
        return _shorten(word, holding, length, left);
    }

    /// @dev Removes `units` from the tranche of `releaseAt`, which has at least so many; `held` is what it had, 0 if there
    /// is none. The word must have no due tranche.
    function take(HolderWord word, TokenStorage.Holding storage holding, uint256 units, uint256 releaseAt)
        internal
        returns (HolderWord, uint256 held)
    {
        uint256 length = count(word);
        uint256 place = 0;
        while (place < length && releaseOf(trancheAt(word, holding, place)) != releaseAt) ++place;
        if (place == length) return (word, 0);
        uint256 item = trancheAt(word, holding, place);
        held = unitsOf(item);
        if (held > units) return (_put(word, holding, place, item - units), held);
        if (held < units) return (word, held);
        for (uint256 i = place + 1; i < length; ++i) {
            word = _put(word, holding, i - 1, trancheAt(word, holding, i));
        }
        return (_shorten(word, holding, length, length - 1), held);
    }

    /// @dev Moves the extra tranches to a holder without tranches. The first one moves with the word.
    function moveExtras(HolderWord word, TokenStorage.Holding storage source, TokenStorage.Holding storage target)
        internal
    {
        for (uint256 i = word.extraCount(); i > 0; --i) {
            target.extras[i - 1] = source.extras[i - 1];
            source.extras[i - 1] = 0;
        }
    }

    function _put(HolderWord word, TokenStorage.Holding storage holding, uint256 index, uint256 item)
        private
        returns (HolderWord)
    {
        if (index == 0) return word.withFirstTranche(item);
        holding.extras[index - 1] = item;
        return word;
    }

    /// @dev Removes the tranches from index `left` on.
    function _shorten(HolderWord word, TokenStorage.Holding storage holding, uint256 length, uint256 left)
        private
        returns (HolderWord)
    {
        for (uint256 i = left; i < length; ++i) {
            word = _put(word, holding, i, 0);
        }
        return word.withExtraCount(left == 0 ? 0 : left - 1);
    }
}
