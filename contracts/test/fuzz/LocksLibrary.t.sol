// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {HolderSlotLibrary} from "../../src/token/HolderSlot.sol";
import {HolderWord} from "../../src/token/HolderWord.sol";
import {Locks} from "../../src/token/Locks.sol";
import {TokenStorage} from "../../src/token/TokenStorage.sol";
import {Test} from "../Test.sol";

/// @notice Compares every slot that `Locks` writes with a simple model: one number per second. It needs no token, so
/// `contracts/mutate` runs it for each mutant of `Locks`.
contract LocksLibraryTest is Test {
    using Locks for HolderWord;

    uint256 private constant START = 1_800_000_000;
    uint256 private constant SPAN = 24;
    uint256 private constant BALANCE = 400;

    TokenStorage.Holding private _holding;
    TokenStorage.Holding private _other;
    /// @dev Units whose lock ends at START + index, also those that are due and not yet removed.
    uint256[SPAN] private _model;
    uint256 private _frozen;

    function setUp() public {
        vm.warp(START);
        _store(HolderWord.wrap(0).credit(BALANCE).whitelisted());
    }

    function testFuzzLocksLibraryFollowsTheModel(uint256[32] memory steps) public {
        for (uint256 i; i < steps.length; ++i) {
            _step(uint256(keccak256(abi.encode(steps[i], i))));
            _compare();
        }
    }

    /// @dev The locks of one holder in each way in which their number can be 0, 1 or 16.
    function testSixteenTranchesAndNoMore() public {
        for (uint256 i = 16; i > 0; --i) {
            _add(i, i);
            _compare();
        }
        _add(17, 17);
        _take(1, 17);
        _add(1, 8);
        _compare();
        _take(8 + 1, 8);
        _add(17, 17);
        _compare();
        for (uint256 i = 1; i <= 17; ++i) {
            vm.warp(START + i);
            _dropDue();
            _compare();
        }
        assertEq(_word().firstTranche(), 0, "none is left");
    }

    function testSeveralDueTranchesAreRemovedAtOnce() public {
        for (uint256 i = 1; i < 7; ++i) {
            _add(i, i);
        }
        vm.warp(START + 4);
        _compare();
        _dropDue();
        _compare();
    }

    function testFrozenUnitsUpToTheBalanceAndAbove() public {
        for (uint256 i = 0; i < 3; ++i) {
            _freeze(BALANCE - 1 + i);
            _compare();
        }
        _freeze(0);
        _compare();
    }

    function _step(uint256 seed) private {
        uint256 kind = seed % 10;
        uint256 units = 1 + ((seed >> 8) % 12);
        uint256 second = (seed >> 16) % SPAN;
        if (kind < 5) _add(units, second);
        else if (kind == 5) _cut((seed >> 8) % (_locked() + 1));
        else if (kind == 6) _take(units, second);
        else if (kind == 7) _freeze((seed >> 24) % 3 == 0 ? 0 : (seed >> 32) % (2 * BALANCE));
        else if (kind == 8) _moveAndBack();
        else vm.warp(block.timestamp + second % 3);
        // Not after each step, so that due tranches stay for a while.
        if ((seed >> 40) % 4 == 0) _dropDue();
    }

    function _add(uint256 units, uint256 second) private {
        _dropDue();
        if (!_live(second)) return;
        bool room = _model[second] != 0 || _times() < 16;
        (HolderWord word, bool full) = _word().add(_holding, units, START + second);
        assertTrue(full == !room, "full");
        _store(word);
        if (room) _model[second] += units;
    }

    function _dropDue() private {
        if (!_word().isDue()) return;
        _store(_word().dropDue(_holding));
        for (uint256 i; i < SPAN; ++i) {
            if (!_live(i)) _model[i] = 0;
        }
    }

    function _cut(uint256 units) private {
        _dropDue();
        if (units > _locked()) units = _locked();
        _store(_word().cut(_holding, units));
        for (uint256 i = SPAN; i > 0; --i) {
            uint256 taken = units < _model[i - 1] ? units : _model[i - 1];
            _model[i - 1] -= taken;
            units -= taken;
        }
    }

    function _take(uint256 units, uint256 second) private {
        _dropDue();
        (HolderWord word, uint256 held) = _word().take(_holding, units, START + second);
        assertEq(held, _model[second], "held");
        _store(word);
        if (held >= units) _model[second] -= units;
    }

    function _freeze(uint256 units) private {
        _store(_word().freeze(_holding, units));
        _frozen = units;
    }

    /// @dev The word is kept by the caller, as in a recovery.
    function _moveAndBack() private {
        _word().moveExtras(_holding, _other);
        for (uint256 i; i < 15; ++i) {
            assertEq(_holding.extras[i], 0, "a moved tranche is left");
        }
        _word().moveExtras(_other, _holding);
        for (uint256 i; i < 15; ++i) {
            assertEq(_other.extras[i], 0, "a tranche is left behind");
        }
    }

    function _compare() private view {
        HolderWord word = _word();
        uint256 index;
        bool due;
        for (uint256 i; i < SPAN; ++i) {
            if (_model[i] == 0) continue;
            due = due || !_live(i);
            uint256 item = index == 0 ? word.firstTranche() : _holding.extras[index - 1];
            assertEq(item, ((START + i) << 96) | _model[i], "tranche");
            assertEq(word.trancheAt(_holding, index), item, "by its index");
            assertEq(Locks.tranche(_model[i], START + i), item, "encoded");
            ++index;
        }
        assertEq(word.count(), index, "count");
        assertEq(word.extraCount(), index == 0 ? 0 : index - 1, "extra count");
        if (index == 0) assertEq(word.firstTranche(), 0, "no first tranche");
        for (uint256 i = index == 0 ? 0 : index - 1; i < 15; ++i) {
            assertEq(_holding.extras[i], 0, "an empty slot");
        }
        assertTrue(word.isDue() == due, "due");
        assertEq(word.lockedUnits(_holding), _locked(), "locked");
        _compareFrozen(word);
    }

    function _compareFrozen(HolderWord word) private view {
        assertTrue(word.hasFrozenUnits() == (_frozen != 0), "mark of frozen units");
        assertEq(_holding.frozen, _frozen, "frozen units in their slot");
        assertEq(word.frozenUnits(_holding), _frozen, "frozen");
        uint256 frozen = _frozen < BALANCE ? _frozen : BALANCE;
        assertEq(word.heldBack(_holding), _locked() > frozen ? _locked() : frozen, "held back");
        assertEq(word.balance(), BALANCE, "balance");
        assertTrue(word.isWhitelisted(), "marks");
    }

    function _word() private view returns (HolderWord) {
        return _holding.slot.living();
    }

    function _store(HolderWord word) private {
        _holding.slot = HolderSlotLibrary.stored(word);
    }

    function _live(uint256 second) private view returns (bool) {
        return START + second > block.timestamp;
    }

    function _locked() private view returns (uint256 units) {
        for (uint256 i; i < SPAN; ++i) {
            if (_live(i)) units += _model[i];
        }
    }

    function _times() private view returns (uint256 times) {
        for (uint256 i; i < SPAN; ++i) {
            if (_model[i] != 0) ++times;
        }
    }
}
