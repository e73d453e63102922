// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IRule144} from "../../src/interfaces/IRule144.sol";
import {Rule144Fixture} from "./Rule144Fixture.sol";

/// @dev The time at which units become free.
contract Rule144HoldingTest is Rule144Fixture {
    function testCheckOneYearWithoutReporting() external {
        _mint(ALICE, 100);
        _assertCheck(ALICE, 100, "rule144_holding");
        assertEq(_earliest(ALICE, 100), START + OTHER, "earliest");
        vm.warp(START + OTHER - 1);
        _assertCheck(ALICE, 1, "rule144_holding");
        vm.warp(START + OTHER);
        _assertCheck(ALICE, 100, 0);
    }

    function testCheckSixMonthsWithReporting() external {
        _setReporting(START - 90 days);
        _mint(ALICE, 100);
        assertEq(_earliest(ALICE, 1), START + REPORTING, "earliest");
        vm.warp(START + REPORTING - 1);
        _assertCheck(ALICE, 100, "rule144_holding");
        vm.warp(START + REPORTING);
        _assertCheck(ALICE, 100, 0);
    }

    /// @dev The issuer must have reported for 90 days. Reporting can shorten the period, never lengthen it.
    function testEarliestTransferTimeReportingSeasons() external {
        _mint(ALICE, 100);
        vm.warp(START + 150 days);
        _setReporting(START + 150 days);
        assertEq(_earliest(ALICE, 100), START + 240 days, "when it has seasoned");
        vm.warp(START + 300 days);
        _setReporting(START + 300 days);
        assertEq(_earliest(ALICE, 100), START + OTHER, "never later than without");
        _setReporting(0);
        assertEq(_earliest(ALICE, 100), START + OTHER, "no longer reporting");
    }

    function testCheckShell() external {
        _mint(ALICE, 100);
        vm.warp(START + OTHER);
        vm.prank(OFFICER);
        rule.setIssuerStatus(address(token), IRule144.IssuerStatus(0, true));
        _assertCheck(ALICE, 1, "rule144_shell");
        assertEq(_earliest(ALICE, 1), type(uint256).max, "never");
    }

    function testCheckMoreThanTheLotsHold() external {
        _mint(ALICE, 100);
        vm.warp(START + OTHER);
        _assertCheck(ALICE, 101, "rule144_holding");
        assertEq(_earliest(ALICE, 101), type(uint256).max, "never");
        assertEq(_earliest(ALICE, 0), 0, "nothing is free at once");
    }

    function testCheckPartitionNotServed() external {
        vm.prank(address(token));
        (bool allowed, bytes32 reason) = rule.check(ALICE, BOB, 2, 1);
        assertFalse(allowed, "allowed");
        assertEq(reason, bytes32("rule144_not_served"), "reason");
    }

    function testEarliestTransferTimeIsFirstInFirstOut() external {
        _mint(ALICE, 100);
        vm.warp(START + 10 days);
        _mint(ALICE, 50);
        assertEq(_earliest(ALICE, 100), START + OTHER, "first lot");
        assertEq(_earliest(ALICE, 101), START + 10 days + OTHER, "second lot");
        vm.warp(START + OTHER);
        _assertCheck(ALICE, 100, 0);
        _assertCheck(ALICE, 101, "rule144_holding");
        _transfer(ALICE, BOB, 60);
        _assertCheck(ALICE, 40, 0);
        _assertCheck(ALICE, 41, "rule144_holding");
    }

    function testTransferStartsANewPeriod() external {
        _mint(ALICE, 100);
        vm.warp(START + OTHER);
        _transfer(ALICE, BOB, 100);
        _assertLots(ALICE, 0, 0, 0);
        assertEq(_earliest(BOB, 100), START + 2 * OTHER, "from the transfer");
    }

    function testTransferAcrossLots() external {
        for (uint256 i = 0; i < 4; ++i) {
            vm.warp(START + i * 1 days);
            _mint(ALICE, 10);
        }
        vm.warp(START + 3 days + OTHER);
        _transfer(ALICE, BOB, 25);
        _assertLots(ALICE, 0, 2, 15);
        _transfer(ALICE, BOB, 15);
        _assertLots(ALICE, 0, 0, 0);
        _assertLots(BOB, 0, 1, 40);
    }

    function testTransferToSelf() external {
        _mint(ALICE, 100);
        vm.warp(START + OTHER);
        _transfer(ALICE, ALICE, 30);
        // The new lot freed the 70 old units.
        _assertLots(ALICE, 70, 1, 100);
    }
}
