// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IPlatformSecurityToken7518} from "../../src/interfaces/IPlatformSecurityToken7518.sol";
import {World} from "../World.sol";
import {ModuleStub} from "../mocks/ModuleStub.sol";
import {RevertingReceiver} from "../mocks/Receivers.sol";
import {IERC1155} from "@openzeppelin/contracts/token/ERC1155/IERC1155.sol";

/// @dev Each test kills a mutant of the transfer and lock code that the first mutation run left alive (MUTATION.md).
contract TokenSurvivorsTest is World {
    function setUp() public override {
        super.setUp();
        mint(alice, REG_D, 100);
        whitelist(bob, REG_D);
    }

    function _two(uint256 first, uint256 second) private pure returns (uint256[] memory pair) {
        pair = new uint256[](2);
        (pair[0], pair[1]) = (first, second);
    }

    /// @dev The last tranche is a small part of what is cut.
    function testForcedTransferCutsFarIntoTheTranches() external {
        lock(alice, REG_D, 90, START + 10 days);
        lock(alice, REG_D, 3, START + 20 days);
        freeze(alice);
        bytes memory data = abi.encode(nextOpId());
        vm.prank(custodian);
        token.forceTransfer(alice, bob, REG_D, 17, data);
        IPlatformSecurityToken7518.Tranche[] memory tranches = token.tranchesOf(alice, REG_D);
        assertEq(tranches.length, 1, "the last tranche is gone");
        assertEq(tranches[0].units, 83, "the rest comes off the one before");
        assertEq(tranches[0].releaseAt, START + 10 days, "release");
    }

    function testLockedBalanceOfLongAfterTheRelease() external {
        lock(alice, REG_D, 60, START + 10 days);
        lock(alice, REG_D, 30, START + 20 days);
        vm.warp(START + 15 days);
        assertEq(token.lockedBalanceOf(alice, REG_D), 30, "between the releases");
        vm.warp(START + 25 days);
        assertEq(token.lockedBalanceOf(alice, REG_D), 0, "after both");
        assertEq(token.transferableBalance(alice, REG_D), 100, "all");
    }

    function testUnlockTokenDropsAllThatIsLongDue() external {
        lock(alice, REG_D, 10, START + 10 days);
        lock(alice, REG_D, 20, START + 20 days);
        lock(alice, REG_D, 30, START + 30 days);
        lock(alice, REG_D, 40, START + 40 days);
        vm.warp(START + 35 days);
        vm.prank(issuer);
        token.unlockToken(alice, REG_D);
        IPlatformSecurityToken7518.Tranche[] memory tranches = token.tranchesOf(alice, REG_D);
        assertEq(tranches.length, 1, "tranches left");
        assertEq(tranches[0].units, 40, "units");
        assertEq(tranches[0].releaseAt, START + 40 days, "release");
    }

    /// @dev Freezing nothing leaves nothing on the books, not a tranche of zero units.
    function testSetFrozenTokensToZero() external {
        vm.startPrank(officer);
        token.setFrozenTokens(alice, REG_D, 0);
        assertEq(token.tranchesOf(alice, REG_D).length, 0, "never frozen");
        token.setFrozenTokens(alice, REG_D, 10);
        token.setFrozenTokens(alice, REG_D, 0);
        assertEq(token.tranchesOf(alice, REG_D).length, 0, "frozen before");
        vm.stopPrank();
    }

    function testSafeBatchTransferFromEmitsTheBatch() external {
        uint256[] memory ids = _two(REG_D, REG_D);
        uint256[] memory amounts = _two(30, 40);
        vm.expectEmit(address(token));
        emit IERC1155.TransferBatch(alice, alice, bob, ids, amounts);
        vm.prank(alice);
        token.safeBatchTransferFrom(alice, bob, ids, amounts, "");
    }

    function testSafeBatchTransferFromAsksTheReceiver() external {
        address unwilling = address(new RevertingReceiver());
        whitelist(unwilling, REG_D);
        vm.expectRevert(abi.encodeWithSelector(RevertingReceiver.Unwilling.selector));
        vm.prank(alice);
        token.safeBatchTransferFrom(alice, unwilling, _two(REG_D, REG_D), _two(1, 1), "");
    }

    function testBatchesOfUnequalLength() external {
        uint256[] memory single = new uint256[](1);
        vm.startPrank(alice);
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityToken7518.LengthMismatch.selector, 1, 2));
        token.safeBatchTransferFrom(alice, bob, single, _two(1, 1), "");
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityToken7518.LengthMismatch.selector, 2, 1));
        token.safeBatchTransferFrom(alice, bob, _two(1, 1), single, "");
        vm.stopPrank();
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityToken7518.LengthMismatch.selector, 1, 2));
        token.balanceOfBatch(one(alice), _two(1, 1));
        address[] memory pair = new address[](2);
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityToken7518.LengthMismatch.selector, 2, 1));
        token.balanceOfBatch(pair, single);
    }

    function testCanTransferFromZeroUpToTheTotalCap() external {
        (bool allowed, bytes32 reason) = token.canTransfer(address(0), bob, REG_D, CAP - 100, "");
        assertTrue(allowed, "all that is left");
        assertEq(reason, bytes32(0), "reason");
        whitelist(bob, REG_S);
        mint(alice, REG_D, CAP - 200);
        (, reason) = token.canTransfer(address(0), bob, REG_S, 100, "");
        assertEq(reason, bytes32(0), "the last hundred");
        (, reason) = token.canTransfer(address(0), bob, REG_S, 101, "");
        assertEq(reason, bytes32("total_cap"), "one more");
    }

    /// @dev The module's yes is one more condition, not an answer for the others.
    function testModuleThatAllowsDoesNotOverrule() external {
        uint256 flagged = 3;
        vm.prank(issuer);
        token.addPartition(flagged, IPlatformSecurityToken7518.PartitionTerms(CAP, false, true));
        ModuleStub module = new ModuleStub();
        vm.prank(officer);
        token.setRule144(address(module));
        mint(alice, flagged, 100);
        whitelist(bob, flagged);
        lock(alice, flagged, 60, START + 10 days);
        _assertRefused(flagged, 101, "insufficient_balance");
        _assertRefused(flagged, 41, "locked");
        (bool allowed,) = token.canTransfer(alice, bob, flagged, 40, "");
        assertTrue(allowed, "what is free");
    }

    function _assertRefused(uint256 partition, uint256 amount, bytes32 expected) private {
        (bool allowed, bytes32 reason) = token.canTransfer(alice, bob, partition, amount, "");
        assertFalse(allowed, "allowed");
        assertEq(reason, expected, "reason");
        vm.expectRevert(
            abi.encodeWithSelector(
                IPlatformSecurityToken7518.TransferRefused.selector, alice, bob, partition, amount, expected
            )
        );
        vm.prank(alice);
        token.safeTransferFrom(alice, bob, partition, amount, "");
    }
}
