// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC7518} from "../../src/interfaces/IERC7518.sol";
import {IPlatformSecurityToken7518} from "../../src/interfaces/IPlatformSecurityToken7518.sol";
import {IPlatformSecurityTokenErrors} from "../../src/interfaces/IPlatformSecurityTokenErrors.sol";
import {World} from "../World.sol";

contract TokenPartitionsTest is World {
    function testAddPartitionGivesTheNextId() public {
        vm.expectEmit(address(token));
        emit IPlatformSecurityToken7518.PartitionAdded(3, 50, true, true);
        _add(3, 50, true, true);
        IPlatformSecurityToken7518.Partition memory added = token.partitionOf(3);
        assertEq(added.cap, 50, "cap");
        assertEq(added.supply, 0, "supply");
        assertTrue(added.restricted && added.rule144, "flags");
        assertEq(token.partitionCount(), 3, "count");
        assertEq(token.totalCap(), CAP, "total cap stays");
    }

    function testAddPartitionOutOfOrderReverts() public {
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.PartitionOutOfOrder.selector, 3, 2));
        _add(2, 50, false, false);
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.PartitionOutOfOrder.selector, 3, 4));
        _add(4, 50, false, false);
    }

    function testAddPartitionAboveUint96Reverts() public {
        uint256 cap = uint256(type(uint96).max) + 1;
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.AmountTooLarge.selector, cap));
        _add(3, cap, false, false);
    }

    function testAddPartitionStopsAt32() public {
        for (uint256 id = 3; id <= 32; ++id) {
            _add(id, 1, false, false);
        }
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.PartitionCountOutOfRange.selector, 33));
        _add(33, 1, false, false);
        assertEq(token.partitionCount(), 32, "full");
    }

    function testSetCapOfAPartition() public {
        mint(alice, REG_D, 40);
        vm.expectEmit(address(token));
        emit IPlatformSecurityToken7518.CapChanged(REG_D, 40);
        _setCap(REG_D, 40);
        assertEq(token.partitionOf(REG_D).cap, 40, "cap");
        assertEq(token.partitionOf(REG_D).supply, 40, "supply stays");
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.CapBelowSupply.selector, REG_D, 39, 40));
        _setCap(REG_D, 39);
    }

    function testSetCapOfTheWhole() public {
        mint(alice, REG_D, 40);
        mint(alice, REG_S, 2);
        vm.expectEmit(address(token));
        emit IPlatformSecurityToken7518.CapChanged(0, 42);
        _setCap(0, 42);
        assertEq(token.totalCap(), 42, "cap");
        assertEq(token.totalSupply(), 42, "supply stays");
        assertEq(token.partitionCount(), 2, "count stays");
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.CapBelowSupply.selector, 0, 41, 42));
        _setCap(0, 41);
    }

    function testSetCapBadInputReverts() public {
        uint256 cap = uint256(type(uint96).max) + 1;
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.AmountTooLarge.selector, cap));
        _setCap(0, cap);
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.UnknownPartition.selector, 9));
        _setCap(9, 1);
    }

    function testRestrictIsIdempotentAndEmitsEachTime() public {
        for (uint256 i; i < 2; ++i) {
            vm.expectEmit(address(token));
            emit IERC7518.TransferRestricted(REG_D);
            vm.prank(officer);
            assertTrue(token.restrictTransfer(REG_D), "true");
            assertTrue(token.isRestricted(REG_D), "restricted");
            assertFalse(token.isRestricted(REG_S), "only this one");
        }
        assertEq(token.partitionOf(REG_D).cap, CAP, "cap stays");
    }

    function testRemoveRestriction() public {
        vm.startPrank(officer);
        token.restrictTransfer(REG_D);
        vm.expectEmit(address(token));
        emit IERC7518.TransferRestrictionRemoved(REG_D);
        assertTrue(token.removeRestriction(REG_D), "true");
        assertFalse(token.isRestricted(REG_D), "free");
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.NotRestricted.selector, REG_D));
        token.removeRestriction(REG_D);
        vm.stopPrank();
    }

    function testRestrictionOfAnUnknownPartitionReverts() public {
        vm.startPrank(officer);
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.UnknownPartition.selector, 3));
        token.restrictTransfer(3);
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.UnknownPartition.selector, 0));
        token.removeRestriction(0);
        vm.stopPrank();
    }

    function testReadsOfAnUnknownPartition() public {
        assertFalse(token.isRestricted(7), "not restricted");
        assertEq(token.totalSupply(7), 0, "no supply");
        assertEq(token.balanceOf(alice, 7), 0, "no balance");
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.UnknownPartition.selector, 7));
        token.partitionOf(7);
    }

    function _add(uint256 id, uint256 cap, bool restricted, bool rule144) private {
        vm.prank(issuer);
        token.addPartition(id, IPlatformSecurityToken7518.PartitionTerms(cap, restricted, rule144));
    }

    function _setCap(uint256 partition, uint256 cap) private {
        vm.prank(issuer);
        token.setCap(partition, cap);
    }
}
