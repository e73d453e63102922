// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC7518} from "../../src/interfaces/IERC7518.sol";
import {IERC7943MultiToken} from "../../src/interfaces/IERC7943MultiToken.sol";
import {IOperations} from "../../src/interfaces/IOperations.sol";
import {IPlatformSecurityToken7518} from "../../src/interfaces/IPlatformSecurityToken7518.sol";
import {IPlatformSecurityTokenErrors} from "../../src/interfaces/IPlatformSecurityTokenErrors.sol";
import {World} from "../World.sol";

contract TokenLocksTest is World {
    uint256 private constant YEARS_20 = 7305 days;

    function setUp() public override {
        super.setUp();
        mint(alice, REG_D, 1000);
    }

    function testLockTokensOfTheStandard() public {
        vm.expectEmit(address(token));
        emit IERC7518.TokensLocked(alice, REG_D, 300, START + 10);
        vm.prank(officer);
        assertTrue(token.lockTokens(alice, REG_D, 300, START + 10), "true");
        assertEq(token.lockedBalanceOf(alice, REG_D), 300, "locked");
        assertEq(token.transferableBalance(alice, REG_D), 700, "rest");
    }

    function testLockTokensWithOpId() public {
        bytes memory call = abi.encodeWithSignature(
            "lockTokens(uint256,address,uint256,uint256,uint256)", 900, alice, REG_D, 300, START + 10
        );
        vm.expectEmit(address(token));
        emit IOperations.OperationExecuted(900, "lock", keccak256(call));
        vm.prank(issuer);
        assertTrue(token.lockTokens(900, alice, REG_D, 300, START + 10), "true");
        assertEq(token.lockedBalanceOf(alice, REG_D), 300, "locked");
    }

    function testBatchLockTokens() public {
        mint(bob, REG_D, 50);
        bytes32[] memory lines = new bytes32[](2);
        lines[0] = line(alice, 1000);
        lines[1] = line(bob, 20);
        bytes memory call = abi.encodeCall(token.batchLockTokens, (900, REG_D, START + 10, lines));
        vm.expectEmit(address(token));
        emit IOperations.OperationExecuted(900, "lock_page", keccak256(call));
        vm.expectEmit(address(token));
        emit IERC7518.TokensLocked(alice, REG_D, 1000, START + 10);
        vm.expectEmit(address(token));
        emit IERC7518.TokensLocked(bob, REG_D, 20, START + 10);
        vm.prank(issuer);
        token.batchLockTokens(900, REG_D, START + 10, lines);
        assertEq(token.transferableBalance(bob, REG_D), 30, "bob");
    }

    function testLockEndsByTime() public {
        lock(alice, REG_D, 300, START + 10);
        vm.warp(START + 9);
        assertEq(token.lockedBalanceOf(alice, REG_D), 300, "a second before");
        vm.warp(START + 10);
        assertEq(token.lockedBalanceOf(alice, REG_D), 0, "at the time");
        assertEq(token.transferableBalance(alice, REG_D), 1000, "all");
        assertEq(token.tranchesOf(alice, REG_D).length, 1, "still on the books");
    }

    function testLocksAreKeptSortedAndMerged() public {
        lock(alice, REG_D, 1, START + 30);
        lock(alice, REG_D, 2, START + 10);
        lock(alice, REG_D, 4, START + 20);
        lock(alice, REG_D, 8, START + 10);
        lock(alice, REG_D, 16, START + 30);
        lock(alice, REG_D, 32, START + 20);
        IPlatformSecurityToken7518.Tranche[] memory tranches = token.tranchesOf(alice, REG_D);
        assertEq(tranches.length, 3, "count");
        _expectTranche(tranches[0], 10, START + 10);
        _expectTranche(tranches[1], 36, START + 20);
        _expectTranche(tranches[2], 17, START + 30);
        vm.warp(START + 20);
        assertEq(token.lockedBalanceOf(alice, REG_D), 17, "only the last");
    }

    function testUnlockTokenReleasesDueLocks() public {
        lock(alice, REG_D, 1, START + 10);
        lock(alice, REG_D, 2, START + 20);
        lock(alice, REG_D, 4, START + 30);
        _expectNothing();
        vm.warp(START + 20);
        vm.expectEmit(address(token));
        emit IERC7518.TokenUnlocked(alice, REG_D);
        vm.prank(payer);
        token.unlockToken(alice, REG_D);
        IPlatformSecurityToken7518.Tranche[] memory tranches = token.tranchesOf(alice, REG_D);
        assertEq(tranches.length, 1, "one left");
        _expectTranche(tranches[0], 4, START + 30);
        _expectNothing();
        vm.warp(START + 30);
        vm.prank(payer);
        token.unlockToken(alice, REG_D);
        assertEq(token.tranchesOf(alice, REG_D).length, 0, "none left");
        _expectNothing();
    }

    function testUnlockTokenWithoutALockReverts() public {
        _expectNothing();
    }

    function testLockRemovesDueLocks() public {
        lock(alice, REG_D, 600, START + 10);
        lock(alice, REG_D, 400, START + 20);
        vm.warp(START + 10);
        vm.expectEmit(address(token));
        emit IERC7518.TokenUnlocked(alice, REG_D);
        lock(alice, REG_D, 600, START + 30);
        IPlatformSecurityToken7518.Tranche[] memory tranches = token.tranchesOf(alice, REG_D);
        assertEq(tranches.length, 2, "the due one is gone");
        _expectTranche(tranches[0], 400, START + 20);
        _expectTranche(tranches[1], 600, START + 30);
    }

    function testSixteenReleaseTimesFitAndNoMore() public {
        for (uint256 i; i < 16; ++i) {
            lock(alice, REG_D, 1, START + 100 - i);
        }
        assertEq(token.tranchesOf(alice, REG_D).length, 16, "full");
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.TooManyLocks.selector, alice, REG_D));
        vm.prank(issuer);
        token.lockTokens(alice, REG_D, 1, START + 200);
        lock(alice, REG_D, 5, START + 90);
        assertEq(token.lockedBalanceOf(alice, REG_D), 21, "a known time still merges");
        vm.warp(START + 85);
        lock(alice, REG_D, 1, START + 200);
        assertEq(token.tranchesOf(alice, REG_D).length, 16, "room after one is due");
    }

    function testLockAboveTheBalanceReverts() public {
        vm.expectRevert(
            abi.encodeWithSelector(IPlatformSecurityTokenErrors.LockExceedsBalance.selector, alice, REG_D, 1000, 1001)
        );
        vm.prank(issuer);
        token.lockTokens(alice, REG_D, 1001, START + 10);
        lock(alice, REG_D, 600, START + 10);
        vm.expectRevert(
            abi.encodeWithSelector(IPlatformSecurityTokenErrors.LockExceedsBalance.selector, alice, REG_D, 1000, 1001)
        );
        vm.prank(issuer);
        token.lockTokens(alice, REG_D, 401, START + 20);
    }

    function testLockBadInputReverts() public {
        uint256 large = uint256(type(uint96).max) + 1;
        _expectLock(
            alice,
            REG_D,
            large,
            START + 1,
            abi.encodeWithSelector(IPlatformSecurityTokenErrors.AmountTooLarge.selector, large)
        );
        _expectLock(
            alice, REG_D, 0, START + 1, abi.encodeWithSelector(IPlatformSecurityTokenErrors.ZeroAmount.selector, alice)
        );
        _expectLock(
            address(0), REG_D, 1, START + 1, abi.encodeWithSelector(IPlatformSecurityTokenErrors.ZeroAddress.selector)
        );
        _expectLock(
            alice, 3, 1, START + 1, abi.encodeWithSelector(IPlatformSecurityTokenErrors.UnknownPartition.selector, 3)
        );
        uint256[4] memory times = [uint256(0), START, START + YEARS_20 + 1, type(uint256).max];
        for (uint256 i; i < times.length; ++i) {
            _expectLock(
                alice,
                REG_D,
                1,
                times[i],
                abi.encodeWithSelector(IPlatformSecurityTokenErrors.ReleaseTimeOutOfRange.selector, times[i])
            );
        }
    }

    function testBatchLockBadInputReverts() public {
        _expectBatch(
            3,
            START + 1,
            page(alice, 1),
            abi.encodeWithSelector(IPlatformSecurityTokenErrors.UnknownPartition.selector, 3)
        );
        _expectBatch(
            REG_D, START + 1, new bytes32[](0), abi.encodeWithSelector(IPlatformSecurityTokenErrors.EmptyPage.selector)
        );
        _expectBatch(
            REG_D,
            START,
            page(alice, 1),
            abi.encodeWithSelector(IPlatformSecurityTokenErrors.ReleaseTimeOutOfRange.selector, START)
        );
        _expectBatch(
            REG_D,
            START + 1,
            page(alice, 0),
            abi.encodeWithSelector(IPlatformSecurityTokenErrors.ZeroAmount.selector, alice)
        );
        _expectBatch(
            REG_D,
            START + 1,
            page(address(0), 1),
            abi.encodeWithSelector(IPlatformSecurityTokenErrors.ZeroAddress.selector)
        );
        _expectBatch(
            REG_D,
            START + 1,
            page(bob, 1),
            abi.encodeWithSelector(IPlatformSecurityTokenErrors.LockExceedsBalance.selector, bob, REG_D, 0, 1)
        );
    }

    function testLockMayLastTwentyYears() public {
        lock(alice, REG_D, 300, START + YEARS_20);
        assertEq(token.lockedBalanceOf(alice, REG_D), 300, "the longest");
    }

    function testSetFrozenTokensHasNoEnd() public {
        vm.expectEmit(address(token));
        emit IERC7943MultiToken.Frozen(alice, REG_D, 300);
        vm.prank(officer);
        assertTrue(token.setFrozenTokens(alice, REG_D, 300), "true");
        assertEq(token.getFrozenTokens(alice, REG_D), 300, "frozen");
        assertEq(token.lockedBalanceOf(alice, REG_D), 300, "held back");
        assertEq(token.tranchesOf(alice, REG_D).length, 0, "no tranche");
        vm.warp(type(uint40).max);
        assertEq(token.transferableBalance(alice, REG_D), 700, "for ever");
        _expectNothing();
    }

    function testFrozenUnitsOverlapLocks() public {
        lock(alice, REG_D, 400, START + 10);
        vm.startPrank(custodian);
        token.setFrozenTokens(alice, REG_D, 300);
        assertEq(token.lockedBalanceOf(alice, REG_D), 400, "the lock covers them");
        token.setFrozenTokens(alice, REG_D, 900);
        assertEq(token.lockedBalanceOf(alice, REG_D), 900, "the greater number counts");
        vm.stopPrank();
        vm.warp(START + 10);
        assertEq(token.lockedBalanceOf(alice, REG_D), 900, "the release of the lock frees none of them");
        vm.prank(custodian);
        token.setFrozenTokens(alice, REG_D, 0);
        assertEq(token.lockedBalanceOf(alice, REG_D), 0, "lifted");
        assertEq(token.getFrozenTokens(bob, REG_D), 0, "nobody else");
    }

    function testFrozenUnitsMayExceedTheBalance() public {
        vm.prank(custodian);
        token.setFrozenTokens(alice, REG_D, 1500);
        assertEq(token.getFrozenTokens(alice, REG_D), 1500, "the order");
        assertEq(token.lockedBalanceOf(alice, REG_D), 1000, "what there is");
        mint(alice, REG_D, 600);
        assertEq(token.transferableBalance(alice, REG_D), 100, "units received later are frozen first");
        whitelist(bob, REG_D);
        vm.expectRevert(
            abi.encodeWithSelector(
                IPlatformSecurityTokenErrors.TransferRefused.selector, alice, bob, REG_D, 101, bytes32("locked")
            )
        );
        vm.prank(alice);
        token.safeTransferFrom(alice, bob, REG_D, 101, "");
    }

    function testSetFrozenTokensOfAHolderWith16ReleaseTimes() public {
        for (uint256 i = 1; i <= 16; ++i) {
            lock(alice, REG_D, 1, START + i);
        }
        vm.prank(officer);
        token.setFrozenTokens(alice, REG_D, 1000);
        assertEq(token.transferableBalance(alice, REG_D), 0, "frozen");
        assertEq(token.tranchesOf(alice, REG_D).length, 16, "and the locks stay");
    }

    function testSetFrozenTokensBadInputReverts() public {
        uint256 large = uint256(type(uint96).max) + 1;
        vm.startPrank(officer);
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.AmountTooLarge.selector, large));
        token.setFrozenTokens(alice, REG_D, large);
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.UnknownPartition.selector, 3));
        token.setFrozenTokens(alice, 3, 1);
        vm.expectRevert(IPlatformSecurityTokenErrors.ZeroAddress.selector);
        token.setFrozenTokens(address(0), REG_D, 1);
        vm.stopPrank();
    }

    function testLockedBalanceOfCountsNoDueLock() public {
        lock(alice, REG_D, 60, START + 10 days);
        lock(alice, REG_D, 30, START + 20 days);
        vm.warp(START + 15 days);
        assertEq(token.lockedBalanceOf(alice, REG_D), 30, "between the releases");
        vm.warp(START + 25 days);
        assertEq(token.lockedBalanceOf(alice, REG_D), 0, "after both");
        assertEq(token.transferableBalance(alice, REG_D), 1000, "all units");
    }

    function testUnlockTokenRemovesEveryDueLock() public {
        lock(alice, REG_D, 10, START + 10 days);
        lock(alice, REG_D, 20, START + 20 days);
        lock(alice, REG_D, 30, START + 30 days);
        lock(alice, REG_D, 40, START + 40 days);
        vm.warp(START + 35 days);
        vm.prank(issuer);
        token.unlockToken(alice, REG_D);
        IPlatformSecurityToken7518.Tranche[] memory tranches = token.tranchesOf(alice, REG_D);
        assertEq(tranches.length, 1, "tranches left");
        _expectTranche(tranches[0], 40, START + 40 days);
    }

    function testSetFrozenTokensToZeroLeavesNoTranche() public {
        vm.startPrank(officer);
        token.setFrozenTokens(alice, REG_D, 0);
        assertEq(token.tranchesOf(alice, REG_D).length, 0, "never frozen");
        token.setFrozenTokens(alice, REG_D, 10);
        token.setFrozenTokens(alice, REG_D, 0);
        assertEq(token.tranchesOf(alice, REG_D).length, 0, "frozen before");
        vm.stopPrank();
    }

    function _expectTranche(IPlatformSecurityToken7518.Tranche memory tranche, uint256 units, uint256 releaseAt)
        private
        pure
    {
        assertEq(tranche.units, units, "units");
        assertEq(tranche.releaseAt, releaseAt, "release");
    }

    function _expectNothing() private {
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.NothingToUnlock.selector, alice, REG_D));
        vm.prank(payer);
        token.unlockToken(alice, REG_D);
    }

    function _expectLock(address holder, uint256 partition, uint256 units, uint256 releaseAt, bytes memory reason)
        private
    {
        vm.expectRevert(reason);
        vm.prank(issuer);
        token.lockTokens(holder, partition, units, releaseAt);
        vm.expectRevert(reason);
        vm.prank(issuer);
        token.lockTokens(900, holder, partition, units, releaseAt);
    }

    function _expectBatch(uint256 partition, uint256 releaseAt, bytes32[] memory lines, bytes memory reason) private {
        vm.expectRevert(reason);
        vm.prank(issuer);
        token.batchLockTokens(900, partition, releaseAt, lines);
    }
}
