// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IRule144} from "../../src/interfaces/IRule144.sol";
import {Rule144Fixture} from "./Rule144Fixture.sol";

/// @dev The lots of a holder when units move.
contract Rule144BooksTest is Rule144Fixture {
    function testLotsOfOneDayMerge() external {
        uint256 midnight = START / 1 days * 1 days + 1 days;
        vm.warp(midnight);
        _mint(ALICE, 1);
        vm.warp(midnight + 1 days - 1);
        _mint(ALICE, 2);
        _assertLots(ALICE, 0, 1, 3);
        assertEq(_earliest(ALICE, 1), midnight + 1 days - 1 + OTHER, "the later time holds for both");
        vm.warp(midnight + 1 days);
        _mint(ALICE, 4);
        _assertLots(ALICE, 0, 2, 7);
    }

    function testOldLotsBecomeFreeTwoAtATime() external {
        for (uint256 i = 0; i < 5; ++i) {
            vm.warp(START + i * 1 days);
            _mint(ALICE, 10);
        }
        vm.warp(START + 3 days + OTHER);
        _mint(ALICE, 1);
        _assertLots(ALICE, 20, 4, 51);
        _mint(ALICE, 1);
        _assertLots(ALICE, 40, 2, 52);
        _mint(ALICE, 1);
        _assertLots(ALICE, 40, 2, 53);
        _assertCheck(ALICE, 40, 0);
        _assertCheck(ALICE, 41, "rule144_holding");
        _transfer(ALICE, BOB, 30);
        _assertLots(ALICE, 10, 2, 23);
    }

    /// @dev Dust every day for three years leaves at most a year of lots.
    function testDustCannotMakeTheLotsGrowWithoutLimit() external {
        for (uint256 i = 0; i < 3 * 365; ++i) {
            vm.warp(START + i * 1 days);
            _mint(ALICE, 1);
        }
        (uint256 free, IRule144.Lot[] memory lots) = rule.lotsOf(address(token), ALICE, PARTITION);
        assertEq(free + lots.length, 3 * 365, "all units");
        assertLe(lots.length, 367, "a year of days");
    }

    function testForcedTransferKeepsTheTimeOfAcquisition() external {
        _mint(ALICE, 100);
        vm.warp(START + 10 days);
        _mint(ALICE, 50);
        vm.warp(START + 20 days);
        _force(ALICE, BOB, 120);
        assertEq(_earliest(BOB, 100), START + OTHER, "first lot keeps its time");
        assertEq(_earliest(BOB, 120), START + 10 days + OTHER, "second lot keeps its time");
        _assertLots(ALICE, 0, 1, 30);
    }

    /// @dev Lots are used in the order received, so an older lot waits behind a younger one.
    function testForcedTransferBehindAYoungerLot() external {
        _mint(ALICE, 100);
        vm.warp(START + 30 days);
        _mint(BOB, 10);
        _force(ALICE, BOB, 100);
        assertEq(_earliest(BOB, 10), START + 30 days + OTHER, "own lot first");
        assertEq(_earliest(BOB, 110), START + 30 days + OTHER, "the latest of those used");
    }

    function testForcedTransferOfFreeUnits() external {
        _mint(ALICE, 100);
        vm.warp(START + OTHER);
        _force(ALICE, BOB, 60);
        _assertLots(BOB, 60, 0, 60);
        assertEq(_earliest(BOB, 60), 0, "free");
        _assertLots(ALICE, 0, 1, 40);
        _mint(ALICE, 1);
        _force(ALICE, BOB, 40);
        _assertLots(BOB, 100, 0, 100);
    }

    function testTackedLotOfTheSameDayKeepsTheLaterTime() external {
        uint256 midnight = START / 1 days * 1 days + 1 days;
        vm.warp(midnight);
        _mint(ALICE, 5);
        vm.warp(midnight + 100);
        _mint(BOB, 5);
        _force(ALICE, BOB, 5);
        _assertLots(BOB, 0, 1, 10);
        assertEq(_earliest(BOB, 10), midnight + 100 + OTHER, "the later time");
    }

    function testMovementOfMoreThanTheLotsReverts() external {
        _mint(ALICE, 100);
        bytes memory missing =
            abi.encodeWithSelector(IRule144.LotsMissing.selector, address(token), PARTITION, ALICE, 101, 100);
        vm.expectRevert(missing);
        _transfer(ALICE, BOB, 101);
        vm.expectRevert(missing);
        _force(ALICE, BOB, 101);
    }

    function testRemoveLegend() external {
        _mint(ALICE, 100);
        vm.warp(START + 10 days);
        _mint(ALICE, 50);
        vm.expectEmit();
        emit IRule144.LegendRemoved(address(token), PARTITION, ALICE, START + 10 days, 50, "opinion");
        vm.prank(OFFICER);
        rule.removeLegend(address(token), PARTITION, ALICE, START + 10 days, "opinion");
        _assertCheck(ALICE, 50, 0);
        _assertCheck(ALICE, 51, "rule144_holding");
        _transfer(ALICE, BOB, 50);
        assertEq(_earliest(ALICE, 100), START + OTHER, "the other lot waits");
        vm.warp(START + OTHER);
        _transfer(ALICE, BOB, 100);
    }

    /// @dev A tacked lot can stand behind a younger one, so one book can have two lots of the same time.
    function testRemoveLegendFreesEveryLotOfTheTime() external {
        _mint(ALICE, 100);
        _mint(BOB, 50);
        vm.warp(START + 10 days);
        _mint(ALICE, 20);
        _force(BOB, ALICE, 50);
        vm.expectEmit();
        emit IRule144.LegendRemoved(address(token), PARTITION, ALICE, START, 150, "opinion");
        vm.prank(OFFICER);
        rule.removeLegend(address(token), PARTITION, ALICE, START, "opinion");
        _assertCheck(ALICE, 150, 0);
        _assertCheck(ALICE, 151, "rule144_holding");
    }

    /// @dev A freed lot stays in the queue with zero units until the queue moves past it.
    function testRemoveLegendOfTheFirstLot() external {
        _mint(ALICE, 100);
        vm.warp(START + 10 days);
        _mint(ALICE, 50);
        vm.prank(OFFICER);
        rule.removeLegend(address(token), PARTITION, ALICE, START, "opinion");
        _assertLots(ALICE, 100, 2, 150);
        assertEq(_earliest(ALICE, 101), START + 10 days + OTHER, "second lot");
        vm.warp(START + 10 days + OTHER);
        _transfer(ALICE, BOB, 150);
        _assertLots(ALICE, 0, 0, 0);
    }

    /// @dev A freed first lot does not delay the later ones.
    function testFreedLotDoesNotDelayOtherLots() external {
        _mint(BOB, 100);
        vm.warp(START + 10 days);
        _mint(ALICE, 50);
        _force(BOB, ALICE, 100);
        vm.prank(OFFICER);
        rule.removeLegend(address(token), PARTITION, ALICE, START + 10 days, "opinion");
        assertEq(_earliest(ALICE, 150), START + OTHER, "tacked lot alone");
    }

    function testRemoveLegendUnknownLot() external {
        _mint(ALICE, 100);
        vm.expectRevert(
            abi.encodeWithSelector(IRule144.UnknownLot.selector, address(token), PARTITION, ALICE, START + 1)
        );
        vm.prank(OFFICER);
        rule.removeLegend(address(token), PARTITION, ALICE, START + 1, "opinion");
        vm.expectRevert(abi.encodeWithSelector(IRule144.ZeroDocument.selector));
        vm.prank(OFFICER);
        rule.removeLegend(address(token), PARTITION, ALICE, START, 0);
    }
}
