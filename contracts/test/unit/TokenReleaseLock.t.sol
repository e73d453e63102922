// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Roles} from "../../src/Roles.sol";
import {IAgentGated} from "../../src/interfaces/IAgentGated.sol";
import {IOperations} from "../../src/interfaces/IOperations.sol";
import {IPlatformSecurityToken7518} from "../../src/interfaces/IPlatformSecurityToken7518.sol";
import {IPlatformSecurityTokenErrors} from "../../src/interfaces/IPlatformSecurityTokenErrors.sol";
import {World} from "../World.sol";

contract TokenReleaseLockTest is World {
    function setUp() public override {
        super.setUp();
        mint(alice, REG_D, 1000);
    }

    function testReleaseLockFreesUnitsAtOnce() public {
        lock(alice, REG_D, 300, START + 10);
        bytes memory call = abi.encodeCall(token.releaseLock, (900, alice, REG_D, 100, START + 10, 0));
        vm.expectEmit(address(token));
        emit IOperations.OperationExecuted(900, "release_lock", keccak256(call));
        vm.expectEmit(address(token));
        emit IPlatformSecurityToken7518.LockReleased(alice, REG_D, 100, START + 10, 0);
        _release(900, 100, START + 10, 0);
        assertEq(token.lockedBalanceOf(alice, REG_D), 200, "rest");
        assertTrue(token.isOperationExecuted("release_lock", 900), "number");
        _release(901, 200, START + 10, START);
        assertEq(token.tranchesOf(alice, REG_D).length, 0, "gone");
    }

    function testReleaseLockBringsATimeForward() public {
        lock(alice, REG_D, 1, START + 10);
        lock(alice, REG_D, 2, START + 20);
        lock(alice, REG_D, 4, START + 30);
        _release(900, 2, START + 20, START + 10);
        IPlatformSecurityToken7518.Tranche[] memory tranches = token.tranchesOf(alice, REG_D);
        assertEq(tranches.length, 2, "one time less");
        _expectTranche(tranches[0], 3, START + 10);
        _expectTranche(tranches[1], 4, START + 30);
        _release(901, 1, START + 30, START + 5);
        tranches = token.tranchesOf(alice, REG_D);
        _expectTranche(tranches[0], 1, START + 5);
        _expectTranche(tranches[2], 3, START + 30);
    }

    function testReleaseLockRefused() public {
        lock(alice, REG_D, 300, START + 10);
        _expectRelease(
            0, START + 10, 0, abi.encodeWithSelector(IPlatformSecurityTokenErrors.ZeroAmount.selector, alice)
        );
        _expectRelease(
            301,
            START + 10,
            0,
            abi.encodeWithSelector(IPlatformSecurityTokenErrors.LockTooSmall.selector, alice, REG_D, START + 10, 300)
        );
        _expectRelease(
            1,
            START + 11,
            0,
            abi.encodeWithSelector(IPlatformSecurityTokenErrors.LockTooSmall.selector, alice, REG_D, START + 11, 0)
        );
        _expectRelease(
            1,
            START + 10,
            START + 10,
            abi.encodeWithSelector(IPlatformSecurityTokenErrors.ReleaseTimeOutOfRange.selector, START + 10)
        );
        vm.expectRevert(
            abi.encodeWithSelector(
                IAgentGated.NotAuthorized.selector, issuer, token.releaseLock.selector, Roles.COMPLIANCE
            )
        );
        vm.prank(issuer);
        token.releaseLock(900, alice, REG_D, 1, START + 10, 0);
    }

    function testReleaseOfAPartToASeventeenthTimeReverts() public {
        for (uint256 i = 1; i <= 16; ++i) {
            lock(alice, REG_D, 2, START + 10 * i);
        }
        _expectRelease(
            1,
            START + 20,
            START + 5,
            abi.encodeWithSelector(IPlatformSecurityTokenErrors.TooManyLocks.selector, alice, REG_D)
        );
        _release(900, 2, START + 20, START + 5);
        assertEq(token.tranchesOf(alice, REG_D).length, 16, "the whole lock moves");
    }

    function testReleaseOfAnUnknownTimeAmongSixteenReverts() public {
        for (uint256 i = 1; i <= 16; ++i) {
            lock(alice, REG_D, 2, START + 10 * i);
        }
        _expectRelease(
            1,
            START + 11,
            0,
            abi.encodeWithSelector(IPlatformSecurityTokenErrors.LockTooSmall.selector, alice, REG_D, START + 11, 0)
        );
    }

    function _release(uint256 opId, uint256 units, uint256 releaseAt, uint256 newReleaseAt) private {
        vm.prank(officer);
        token.releaseLock(opId, alice, REG_D, units, releaseAt, newReleaseAt);
    }

    function _expectRelease(uint256 units, uint256 releaseAt, uint256 newReleaseAt, bytes memory reason) private {
        vm.expectRevert(reason);
        _release(900, units, releaseAt, newReleaseAt);
    }

    function _expectTranche(IPlatformSecurityToken7518.Tranche memory tranche, uint256 units, uint256 releaseAt)
        private
        pure
    {
        assertEq(tranche.units, units, "units");
        assertEq(tranche.releaseAt, releaseAt, "release");
    }
}
