// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IRule144} from "../../src/interfaces/IRule144.sol";
import {Rule144Fixture} from "./Rule144Fixture.sol";

/// @dev Recoveries, and the volume limit of affiliates.
contract Rule144AffiliatesTest is Rule144Fixture {
    function testRecoveryMovesTheLots() external {
        _mint(ALICE, 100);
        vm.warp(START + 10 days);
        _mint(ALICE, 50);
        _recover(ALICE, CAROL);
        assertEq(_earliest(CAROL, 100), START + OTHER, "first lot");
        assertEq(_earliest(CAROL, 150), START + 10 days + OTHER, "second lot");
        _assertLots(ALICE, 0, 0, 0);
        _assertLots(CAROL, 0, 2, 150);
    }

    function testRecoveryOfAnAffiliate() external {
        _mint(ALICE, 20_000);
        _setAffiliate(ALICE);
        vm.warp(START + OTHER);
        _transfer(ALICE, BOB, 6000);
        vm.expectEmit();
        emit IRule144.AffiliateSet(address(token), CAROL, true);
        _recover(ALICE, CAROL);
        assertTrue(rule.isAffiliate(address(token), CAROL), "mark");
        assertEq(_volumeLeft(CAROL), 4000, "sales follow");
    }

    function testRecoveryToAWalletThatSold() external {
        _setAffiliate(ALICE);
        _setAffiliate(CAROL);
        _mint(ALICE, 20_000);
        _mint(CAROL, 3000);
        vm.warp(START + OTHER);
        _transfer(CAROL, BOB, 3000);
        _transfer(ALICE, BOB, 5000);
        vm.warp(START + OTHER + 1 days);
        _recover(ALICE, CAROL);
        assertEq(_volumeLeft(CAROL), 2000, "both count");
        vm.warp(START + OTHER + 90 days);
        assertEq(_volumeLeft(CAROL), 7000, "the successor's own count from the recovery on");
    }

    function testRecoveryOfAWalletWithoutLots() external {
        _setAffiliate(ALICE);
        _recover(ALICE, CAROL);
        assertTrue(rule.isAffiliate(address(token), CAROL), "mark");
        _assertLots(CAROL, 0, 0, 0);
        _mint(CAROL, 1);
        _assertLots(CAROL, 0, 1, 1);
    }

    function testRecoveryOfANonAffiliate() external {
        _mint(ALICE, 1);
        _recover(ALICE, CAROL);
        assertFalse(rule.isAffiliate(address(token), CAROL), "mark");
    }

    function testRecoveryAddsLotsToAWalletWithLots() external {
        _mint(ALICE, 5);
        vm.warp(START + 1 days);
        _mint(CAROL, 2);
        _recover(ALICE, CAROL);
        _assertLots(CAROL, 0, 2, 7);
        _assertLots(ALICE, 0, 0, 0);
    }

    /// @dev The lost wallet has no lots after the recovery. New units would start new ones.
    function testLostWalletStartsAnew() external {
        _mint(ALICE, 5);
        _recover(ALICE, CAROL);
        _mint(ALICE, 7);
        _assertLots(ALICE, 0, 1, 7);
        _assertLots(CAROL, 0, 1, 5);
    }

    function testVolumeOfAnAffiliate() external {
        _mint(ALICE, 50_000);
        _setAffiliate(ALICE);
        vm.warp(START + OTHER);
        assertEq(_volumeLeft(ALICE), 10_000, "1 % of the supply");
        _assertCheck(ALICE, 10_001, "rule144_volume");
        _transfer(ALICE, BOB, 7000);
        _assertCheck(ALICE, 3001, "rule144_volume");
        _assertCheck(ALICE, 3000, 0);
        vm.warp(START + OTHER + 10 days);
        _transfer(ALICE, BOB, 3000);
        assertEq(_volumeLeft(ALICE), 0, "used up");
        vm.warp(START + OTHER + 90 days - 1);
        assertEq(_volumeLeft(ALICE), 0, "still in the window");
        vm.warp(START + OTHER + 90 days);
        assertEq(_volumeLeft(ALICE), 7000, "the first sale has left the window");
        _transfer(ALICE, BOB, 7000);
        assertEq(_volumeLeft(ALICE), 0, "used up again");
        vm.warp(START + OTHER + 100 days);
        assertEq(_volumeLeft(ALICE), 3000, "the second sale has left the window");
    }

    /// @dev Sales that have left the window are deleted, so the volume check never reads more than one window of them.
    function testVolumeCheckCostDoesNotGrowWithOldSales() external {
        _mint(ALICE, 1000);
        _setAffiliate(ALICE);
        uint256 gasAfterOneWindow = _volumeGasAfterDailySales(START + OTHER, 100);
        uint256 gasAfterManyMore = _volumeGasAfterDailySales(START + OTHER + 100 days, 100);
        assertLe(gasAfterManyMore, gasAfterOneWindow + 5000, "gas");
    }

    function _volumeGasAfterDailySales(uint256 start, uint256 count) private returns (uint256 used) {
        for (uint256 i = 0; i < count; ++i) {
            vm.warp(start + i * 1 days);
            _transfer(ALICE, BOB, 1);
        }
        used = gasleft();
        _volumeLeft(ALICE);
        used -= gasleft();
    }

    function testVolumeAfterTheLimitShrank() external {
        _mint(ALICE, 50_000);
        _setAffiliate(ALICE);
        vm.warp(START + OTHER);
        _transfer(ALICE, BOB, 10_000);
        token.setSupply(PARTITION, 500_000);
        assertEq(_volumeLeft(ALICE), 0, "nothing, not less");
    }

    function testVolumeOfNonAffiliates() external {
        _mint(ALICE, 50_000);
        vm.warp(START + OTHER);
        assertEq(_volumeLeft(ALICE), type(uint256).max, "no limit");
        _assertCheck(ALICE, 50_000, 0);
        _transfer(ALICE, BOB, 50_000);
        _setAffiliate(ALICE);
        assertEq(_volumeLeft(ALICE), 10_000, "what was sold before does not count");
        vm.prank(OFFICER);
        rule.setAffiliate(address(token), ALICE, false);
        assertEq(_volumeLeft(ALICE), type(uint256).max, "no limit again");
    }
}
