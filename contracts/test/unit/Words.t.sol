// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {HolderSlot, HolderSlotLibrary} from "../../src/token/HolderSlot.sol";
import {HolderWord, HolderWordLibrary} from "../../src/token/HolderWord.sol";
import {PageLine} from "../../src/token/PageLine.sol";
import {PartitionWord, PartitionWordLibrary} from "../../src/token/PartitionWord.sol";
import {TotalWord, TotalWordLibrary} from "../../src/token/TotalWord.sol";
import {Test} from "../Test.sol";

/// @notice A write to one field of a word changes no other field, for any word.
contract WordsTest is Test {
    function testFuzzHolderWord(uint256 raw, uint96 units, uint40 release, uint8 extras) public pure {
        HolderWord word = HolderWord.wrap(raw);
        uint256 tranche = (uint256(release) << 96) | units;
        HolderWord locked = word.withFirstTranche(tranche);
        assertEq(locked.firstUnits(), units, "units");
        assertEq(locked.firstRelease(), release, "release");
        assertEq(locked.firstTranche(), tranche, "tranche");
        _sameBut(raw, HolderWord.unwrap(locked), ((1 << 136) - 1) << 96);
        HolderWord extended = word.withExtraCount(extras);
        assertEq(extended.extraCount(), extras, "extras");
        _sameBut(raw, HolderWord.unwrap(extended), uint256(0xff) << 232);
        assertTrue(word.whitelisted().isWhitelisted(), "listed");
        assertFalse(word.unlisted().isWhitelisted(), "not listed");
        _sameBut(raw, HolderWord.unwrap(word.whitelisted()), 1 << 240);
        _sameBut(raw, HolderWord.unwrap(word.unlisted()), 1 << 240);
        assertTrue(word.followed().isFollowed(), "followed");
        _sameBut(raw, HolderWord.unwrap(word.followed()), 1 << 241);
    }

    function testFuzzHolderBalance(uint256 raw, uint96 units) public pure {
        HolderWord word = HolderWord.wrap(raw);
        uint256 balance = word.balance();
        if (balance + units <= type(uint96).max) {
            assertEq(word.credit(units).balance(), balance + units, "credit");
            _sameBut(raw, HolderWord.unwrap(word.credit(units)), type(uint96).max);
        }
        if (units <= balance) {
            assertEq(word.debit(units).balance(), balance - units, "debit");
            _sameBut(raw, HolderWord.unwrap(word.debit(units)), type(uint96).max);
        }
    }

    function testFuzzHolderMarks(uint256 raw, uint256 other) public pure {
        HolderWord word = HolderWord.wrap(raw);
        assertFalse(word.unfrozen().isFrozen(), "unfrozen");
        _sameBut(raw, HolderWord.unwrap(word.unfrozen()), 1 << 243);
        assertFalse(word.movable().isReinstated(), "movable");
        _sameBut(raw, HolderWord.unwrap(word.movable()), 1 << 244);
        HolderWord second = HolderWord.wrap(other & ~uint256(type(uint96).max));
        HolderWord both = word.joined(second);
        assertTrue(both.isFrozen() == (word.isFrozen() || second.isFrozen()), "either freeze");
        assertTrue(both.isWhitelisted() == (word.isWhitelisted() || second.isWhitelisted()), "either listing");
        assertTrue(both.isReinstated() == (word.isReinstated() || second.isReinstated()), "either mark");
        _sameBut(raw, HolderWord.unwrap(both), (3 << 240) | (3 << 243));
        HolderWord back = HolderWordLibrary.reinstated();
        assertTrue(back.isFrozen() && back.isReinstated() && back.isFree() && back.balance() == 0, "reinstated");
    }

    function testFuzzHolderSlot(uint256 raw, address successor, uint80 number) public pure {
        raw &= type(uint256).max >> 1;
        HolderSlot slot = HolderSlot.wrap(raw);
        assertFalse(slot.isRetired(), "a word");
        assertEq(HolderWord.unwrap(slot.shown()), raw, "as stored");
        assertTrue(slot.isFrozen() == slot.shown().isFrozen(), "one bit for both");
        assertTrue(slot.frozen().isFrozen(), "frozen");
        _sameBut(raw, HolderSlot.unwrap(slot.frozen()), 1 << 243);
        HolderSlot retired = HolderSlotLibrary.retired(successor, number);
        assertTrue(retired.isRetired() && retired.isFrozen(), "a record");
        assertEq(retired.successor(), successor, "successor");
        assertEq(retired.recovery(), number, "number");
        assertEq(HolderWord.unwrap(retired.shown()), 1 << 243, "no units, frozen");
        assertEq(HolderSlot.unwrap(retired.frozen()), HolderSlot.unwrap(retired), "frozen already");
    }

    function testFuzzPartitionWord(uint256 raw, uint96 supply, uint96 cap, bool restricted, bool rule144) public pure {
        PartitionWord made = PartitionWordLibrary.create(cap, restricted, rule144);
        assertTrue(made.exists(), "exists");
        assertEq(made.supply(), 0, "no supply");
        assertEq(made.cap(), cap, "cap");
        assertTrue(made.isRestricted() == restricted && made.asksRule144() == rule144, "flags");
        PartitionWord word = PartitionWord.wrap(raw);
        assertEq(word.withSupply(supply).supply(), supply, "supply");
        _sameBut(raw, PartitionWord.unwrap(word.withSupply(supply)), type(uint96).max);
        assertEq(word.withCap(cap).cap(), cap, "new cap");
        _sameBut(raw, PartitionWord.unwrap(word.withCap(cap)), uint256(type(uint96).max) << 96);
        assertTrue(word.withRestricted(restricted).isRestricted() == restricted, "restriction");
        _sameBut(raw, PartitionWord.unwrap(word.withRestricted(restricted)), 1 << 193);
    }

    function testFuzzTotalWord(uint96 supply, uint96 cap, uint32 flags) public pure {
        TotalWord word = TotalWord.wrap(0).withCap(cap).withSupply(supply);
        for (uint256 i; i < 32; ++i) {
            word = word.withPartition((flags >> i) & 1 != 0);
        }
        assertEq(word.supply(), supply, "supply");
        assertEq(word.cap(), cap, "cap");
        assertEq(word.count(), 32, "count");
        for (uint256 i; i < 32; ++i) {
            assertTrue(word.asksRule144(i + 1) == ((flags >> i) & 1 != 0), "flag");
        }
        assertEq(TotalWordLibrary.sealedWord(32).count(), 32, "sealed");
    }

    function testFuzzPageLine(address account, uint96 units) public pure {
        bytes32 line = bytes32(abi.encodePacked(account, units));
        assertEq(PageLine.account(line), account, "account");
        assertEq(PageLine.units(line), units, "units");
    }

    function _sameBut(uint256 before, uint256 afterwards, uint256 mask) private pure {
        assertEq(before & ~mask, afterwards & ~mask, "other fields");
    }
}
