// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {HolderSlot, HolderSlotLibrary} from "../../src/token/HolderSlot.sol";
import {HolderWord} from "../../src/token/HolderWord.sol";
import {PartitionWord, PartitionWordLibrary} from "../../src/token/PartitionWord.sol";
import {TotalWord} from "../../src/token/TotalWord.sol";

/// @notice Proofs, for every word and every value, that a packed field changes alone. `contracts/prove` runs them.
contract WordProof {
    uint256 private constant UNITS_MAX = type(uint96).max;

    /// @dev All fields of a holder's word but those named in `except` (bits as numbered here) are the same.
    function _assertHolderSame(HolderWord before, HolderWord word, uint256 except) private pure {
        assert(except & 1 != 0 || word.balance() == before.balance());
        assert(except & 2 != 0 || word.firstTranche() == before.firstTranche());
        assert(except & 2 != 0 || word.firstUnits() == before.firstUnits());
        assert(except & 2 != 0 || word.firstRelease() == before.firstRelease());
        assert(except & 4 != 0 || word.extraCount() == before.extraCount());
        assert(except & 8 != 0 || word.isWhitelisted() == before.isWhitelisted());
        assert(except & 16 != 0 || word.isFollowed() == before.isFollowed());
        assert(HolderWord.unwrap(word) >> 242 == HolderWord.unwrap(before) >> 242);
    }

    function checkHolderCredit(HolderWord before, uint256 units) external pure {
        if (units > UNITS_MAX - before.balance()) return;
        HolderWord word = before.credit(units);
        assert(word.balance() == before.balance() + units);
        _assertHolderSame(before, word, 1);
    }

    function checkHolderDebit(HolderWord before, uint256 units) external pure {
        if (units > before.balance()) return;
        HolderWord word = before.debit(units);
        assert(word.balance() == before.balance() - units);
        _assertHolderSame(before, word, 1);
    }

    function checkHolderTranche(HolderWord before, uint96 units, uint40 releaseAt) external pure {
        HolderWord word = before.withFirstTranche((uint256(releaseAt) << 96) | units);
        assert(word.firstUnits() == units);
        assert(word.firstRelease() == releaseAt);
        assert(word.firstTranche() == (uint256(releaseAt) << 96) | units);
        _assertHolderSame(before, word, 2);
    }

    function checkHolderExtraCount(HolderWord before, uint8 count) external pure {
        HolderWord word = before.withExtraCount(count);
        assert(word.extraCount() == count);
        _assertHolderSame(before, word, 4);
    }

    function checkHolderFlags(HolderWord before) external pure {
        assert(before.whitelisted().isWhitelisted());
        _assertHolderSame(before, before.whitelisted(), 8);
        assert(!before.unlisted().isWhitelisted());
        _assertHolderSame(before, before.unlisted(), 8);
        assert(before.followed().isFollowed());
        _assertHolderSame(before, before.followed(), 16);
    }

    /// @dev The fields are the whole word: two words that agree in all of them are one.
    function checkHolderFieldsAreTheWord(HolderWord left, HolderWord right) external pure {
        bool same = left.balance() == right.balance() && left.firstTranche() == right.firstTranche()
            && left.extraCount() == right.extraCount() && left.isWhitelisted() == right.isWhitelisted()
            && left.isFollowed() == right.isFollowed()
            && HolderWord.unwrap(left) >> 242 == HolderWord.unwrap(right) >> 242;
        assert(same == (HolderWord.unwrap(left) == HolderWord.unwrap(right)));
    }

    function _assertPartitionSame(PartitionWord before, PartitionWord word, uint256 except) private pure {
        assert(except & 1 != 0 || word.supply() == before.supply());
        assert(except & 2 != 0 || word.cap() == before.cap());
        assert(except & 4 != 0 || word.isRestricted() == before.isRestricted());
        assert(word.exists() == before.exists());
        assert(word.asksRule144() == before.asksRule144());
        assert(PartitionWord.unwrap(word) >> 195 == PartitionWord.unwrap(before) >> 195);
    }

    function checkPartitionCreate(uint96 cap, bool restricted, bool rule144) external pure {
        PartitionWord word = PartitionWordLibrary.create(cap, restricted, rule144);
        assert(word.exists() && word.supply() == 0 && word.cap() == cap);
        assert(word.isRestricted() == restricted && word.asksRule144() == rule144);
    }

    function checkPartitionFields(PartitionWord before, uint96 units, bool restricted) external pure {
        assert(before.withSupply(units).supply() == units);
        _assertPartitionSame(before, before.withSupply(units), 1);
        assert(before.withCap(units).cap() == units);
        _assertPartitionSame(before, before.withCap(units), 2);
        assert(before.withRestricted(restricted).isRestricted() == restricted);
        _assertPartitionSame(before, before.withRestricted(restricted), 4);
    }

    function checkTotalFields(TotalWord before, uint96 units, uint256 partition) external pure {
        if (partition == 0 || partition > 32) return;
        TotalWord word = before.withSupply(units);
        assert(word.supply() == units && word.cap() == before.cap() && word.count() == before.count());
        assert(word.asksRule144(partition) == before.asksRule144(partition));
        word = before.withCap(units);
        assert(word.cap() == units && word.supply() == before.supply() && word.count() == before.count());
        assert(word.asksRule144(partition) == before.asksRule144(partition));
    }

    /// @dev Another partition is counted, its own bit is set as asked, and no other bit moves.
    function checkTotalPartition(TotalWord before, bool rule144, uint256 other) external pure {
        uint256 count = before.count();
        if (count >= 32 || other == 0 || other > 32 || other == count + 1) return;
        TotalWord word = before.withPartition(rule144);
        assert(word.count() == count + 1);
        assert(word.supply() == before.supply() && word.cap() == before.cap());
        assert(word.asksRule144(other) == before.asksRule144(other));
        if (!before.asksRule144(count + 1)) assert(word.asksRule144(count + 1) == rule144);
    }

    /// @dev A slot is a word or the record of a retired wallet, never both, and a freeze changes neither.
    function checkSlot(HolderSlot before, address replacement, uint80 number) external pure {
        assert(before.frozen().isFrozen() && before.frozen().isRetired() == before.isRetired());
        assert(!before.isRetired() || before.frozen().successor() == before.successor());
        assert(!before.isRetired() || before.frozen().recovery() == before.recovery());
        assert(before.isRetired() || before.shown().isFrozen() == before.isFrozen());
        HolderSlot retired = HolderSlotLibrary.retired(replacement, number);
        assert(retired.isRetired() && retired.isFrozen());
        assert(retired.successor() == replacement && retired.recovery() == number);
        HolderWord shown = retired.shown();
        assert(shown.isFrozen() && shown.balance() == 0 && shown.isFree());
        assert(!shown.isWhitelisted() && !shown.isFollowed() && !shown.isReinstated());
    }

    /// @dev No change of a holder's word makes it a record.
    function checkWordStaysAWord(HolderWord word, HolderWord other, uint256 units) external pure {
        if (HolderSlotLibrary.stored(word).isRetired() || HolderSlotLibrary.stored(other).isRetired()) return;
        if (units > UNITS_MAX - word.balance() || other.balance() > UNITS_MAX - word.balance()) return;
        assert(!HolderSlotLibrary.stored(word.credit(units)).isRetired());
        assert(!HolderSlotLibrary.stored(word.whitelisted().followed().unfrozen().movable()).isRetired());
        HolderWord both = word.joined(other);
        assert(!HolderSlotLibrary.stored(both).isRetired());
        assert(both.balance() == word.balance() + other.balance());
        assert(both.isFrozen() == (word.isFrozen() || other.isFrozen()));
        assert(both.firstTranche() == word.firstTranche() && both.hasFrozenUnits() == word.hasFrozenUnits());
    }
}
