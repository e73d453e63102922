// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IPlatformSecurityTokenErrors} from "../../src/interfaces/IPlatformSecurityTokenErrors.sol";
import {World} from "../World.sol";

/// @notice A retired wallet shows nothing, and no call overwrites the record of its successor. In the home partition the
/// record is where its units were.
contract TokenRetiredTest is World {
    bytes private retired;

    function setUp() public override {
        super.setUp();
        for (uint256 partition = REG_D; partition <= REG_S; ++partition) {
            mint(alice, partition, 100);
            lock(alice, partition, 60, START + 10);
            lock(alice, partition, 40, START + 20);
            vm.prank(officer);
            token.setFrozenTokens(alice, partition, 30);
        }
        // An address and a number with every bit set would show in each field of a holder's word.
        vm.prank(custodian);
        token.recoveryAddress(alice, address(type(uint160).max), type(uint80).max);
        retired = abi.encodeWithSelector(
            IPlatformSecurityTokenErrors.AddressRetired.selector, alice, address(type(uint160).max)
        );
    }

    function testRetiredWalletShowsNothing() public view {
        for (uint256 partition = REG_D; partition <= REG_S; ++partition) {
            assertEq(token.balanceOf(alice, partition), 0, "balance");
            assertEq(token.transferableBalance(alice, partition), 0, "transferable");
            assertEq(token.lockedBalanceOf(alice, partition), 0, "locked");
            assertEq(token.getFrozenTokens(alice, partition), 0, "frozen units");
            assertEq(token.tranchesOf(alice, partition).length, 0, "tranches");
            assertFalse(token.isWhitelisted(alice, partition), "listing");
        }
        assertTrue(token.isFrozen(alice), "frozen");
        assertEq(token.successorOf(alice), address(type(uint160).max), "successor");
        assertEq(token.lastRecoveryOf(alice), type(uint80).max, "number");
        assertEq(token.balanceOf(address(type(uint160).max), REG_D), 100, "the units moved");
    }

    function testRetiredWalletIsNotListed() public {
        for (uint256 partition = REG_D; partition <= REG_S; ++partition) {
            for (uint256 i; i < 2; ++i) {
                vm.expectRevert(retired);
                vm.prank(officer);
                token.batchWhitelist(partition, one(alice), i == 0);
            }
        }
    }

    function testRetiredWalletTakesNoOrder() public {
        for (uint256 partition = REG_D; partition <= REG_S; ++partition) {
            for (uint256 units; units < 2; ++units) {
                vm.expectRevert(retired);
                vm.prank(officer);
                token.setFrozenTokens(alice, partition, units);
            }
        }
    }

    function testRetiredWalletHasNoLocks() public {
        vm.startPrank(officer);
        vm.expectRevert(retired);
        token.lockTokens(alice, REG_D, 1, START + 30);
        vm.expectRevert(retired);
        token.batchLockTokens(900, REG_D, START + 30, page(alice, 1));
        vm.expectRevert(retired);
        token.releaseLock(900, alice, REG_D, 1, START + 10, 0);
        vm.warp(START + 20);
        vm.expectRevert(retired);
        token.unlockToken(alice, REG_D);
        for (uint256 i; i < 3; ++i) {
            vm.expectRevert();
            if (i == 0) token.lockTokens(alice, REG_S, 1, START + 30);
            else if (i == 1) token.releaseLock(900, alice, REG_S, 1, START + 10, 0);
            else token.unlockToken(alice, REG_S);
        }
        vm.stopPrank();
        _assertRecordKept();
    }

    function testRetiredWalletGivesAndTakesNothing() public {
        freeze(bob);
        bytes memory frozen = abi.encodeWithSelector(IPlatformSecurityTokenErrors.AddressIsFrozen.selector, alice);
        vm.startPrank(custodian);
        vm.expectRevert(retired);
        token.forceTransfer(alice, carol, REG_D, 1, "");
        vm.expectRevert(retired);
        token.redeem(900, alice, REG_D, 1);
        vm.expectRevert(frozen);
        token.forceTransfer(bob, alice, REG_D, 1, "");
        vm.stopPrank();
        vm.startPrank(issuer);
        vm.expectRevert(frozen);
        token.mintPage(900, REG_D, 0, page(alice, 1));
        token.setHolderRedemption(true);
        vm.stopPrank();
        vm.startPrank(alice);
        vm.expectRevert();
        token.safeTransferFrom(alice, alice, REG_D, 0, "");
        vm.expectRevert();
        token.redeemOwn(REG_D, 1);
        vm.stopPrank();
        _assertRecordKept();
    }

    /// @dev A freeze is accepted, because it is there already.
    function testFreezeKeepsTheRecord() public {
        freeze(alice);
        _assertRecordKept();
        vm.expectRevert(retired);
        vm.prank(officer);
        token.unFreeze(alice, "");
    }

    function _assertRecordKept() private view {
        assertEq(token.successorOf(alice), address(type(uint160).max), "successor");
        assertEq(token.lastRecoveryOf(alice), type(uint80).max, "number");
        assertTrue(token.isFrozen(alice), "frozen");
        assertEq(token.balanceOf(alice, REG_D), 0, "empty");
    }
}
