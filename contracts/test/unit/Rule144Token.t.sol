// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {PlatformSecurityToken7518} from "../../src/PlatformSecurityToken7518.sol";
import {Rule144} from "../../src/Rule144.sol";
import {IPlatformSecurityToken7518} from "../../src/interfaces/IPlatformSecurityToken7518.sol";
import {IPlatformSecurityTokenErrors} from "../../src/interfaces/IPlatformSecurityTokenErrors.sol";
import {IRule144} from "../../src/interfaces/IRule144.sol";
import {World} from "../World.sol";

/// @dev The rule with a real token: one partition uses it, the other one does not.
contract Rule144TokenTest is World {
    uint256 private constant RULED = 1;
    uint256 private constant FREE = 2;
    uint256 private constant UNITS = 1000;
    uint256 private constant OTHER = 366 days;

    Rule144 private rule;

    function setUp() public override {
        super.setUp();
        rule = new Rule144(registry);
        IPlatformSecurityToken7518.PartitionTerms[] memory terms = twoPartitions();
        terms[0].rule144 = true;
        vm.prank(issuer);
        token = PlatformSecurityToken7518(factory.deployToken(keccak256("off_144"), "OFF144", CAP, terms));
        vm.startPrank(officer);
        token.setRule144(address(rule));
        rule.servePartition(address(token), RULED);
        vm.stopPrank();
        mint(alice, RULED, UNITS);
        mint(alice, FREE, UNITS);
        whitelist(bob, RULED);
        whitelist(bob, FREE);
    }

    function _assertCanTransfer(uint256 partition, uint256 units, bytes32 expected) private view {
        (bool allowed, bytes32 reason) = token.canTransfer(alice, bob, partition, units, "");
        assertEq(reason, expected, "reason");
        assertTrue(allowed == (expected == 0), "allowed");
    }

    function _assertLotsFollow(address holder) private view {
        (uint256 free, IRule144.Lot[] memory lots) = rule.lotsOf(address(token), holder, RULED);
        uint256 units = free;
        for (uint256 i = 0; i < lots.length; ++i) {
            units += lots[i].units;
        }
        assertEq(units, token.balanceOf(holder, RULED), "lots follow the balance");
    }

    function testTransferWithinTheHoldingPeriod() external {
        _assertCanTransfer(RULED, 1, "rule144_holding");
        _assertCanTransfer(FREE, 1, 0);
        vm.expectRevert(
            abi.encodeWithSelector(
                IPlatformSecurityTokenErrors.TransferRefused.selector, alice, bob, RULED, 1, bytes32("rule144_holding")
            )
        );
        vm.prank(alice);
        token.safeTransferFrom(alice, bob, RULED, 1, "");
        vm.prank(alice);
        token.safeTransferFrom(alice, bob, FREE, 1, "");
    }

    function testTransferAfterTheHoldingPeriod() external {
        vm.warp(START + OTHER);
        _assertCanTransfer(RULED, UNITS, 0);
        vm.prank(alice);
        token.safeTransferFrom(alice, bob, RULED, 600, "");
        _assertLotsFollow(alice);
        _assertLotsFollow(bob);
        (bool allowed, bytes32 reason) = token.canTransfer(bob, alice, RULED, 1, "");
        assertFalse(allowed, "the buyer's own period");
        assertEq(reason, bytes32("rule144_holding"), "reason");
    }

    function testSelfTransferKeepsTheHoldingPeriod() external {
        vm.warp(START + OTHER);
        vm.prank(alice);
        token.safeTransferFrom(alice, alice, RULED, 600, "");
        _assertCanTransfer(RULED, UNITS, 0);
        assertEq(rule.earliestTransferTime(address(token), alice, RULED, UNITS), START + OTHER, "unchanged");
        _assertLotsFollow(alice);
    }

    function testBatchTransferWithTheSamePartitionTwice() external {
        vm.warp(START + OTHER);
        uint256[] memory ids = new uint256[](2);
        uint256[] memory amounts = new uint256[](2);
        (ids[0], ids[1]) = (RULED, RULED);
        (amounts[0], amounts[1]) = (400, 600);
        vm.prank(alice);
        token.safeBatchTransferFrom(alice, bob, ids, amounts, "");
        _assertLotsFollow(alice);
        _assertLotsFollow(bob);
    }

    /// @dev An affiliate cannot bypass the volume limit by splitting a sale.
    function testBatchTransferOfAnAffiliate() external {
        vm.prank(officer);
        rule.setAffiliate(address(token), alice, true);
        vm.warp(START + OTHER);
        assertEq(rule.volumeLeft(address(token), alice, RULED), 10, "1 % of 1000");
        uint256[] memory ids = new uint256[](2);
        uint256[] memory amounts = new uint256[](2);
        (ids[0], ids[1]) = (RULED, RULED);
        (amounts[0], amounts[1]) = (6, 5);
        vm.expectRevert(
            abi.encodeWithSelector(
                IPlatformSecurityTokenErrors.TransferRefused.selector, alice, bob, RULED, 5, bytes32("rule144_volume")
            )
        );
        vm.prank(alice);
        token.safeBatchTransferFrom(alice, bob, ids, amounts, "");
    }

    function testForcedTransferKeepsTheTimeOfAcquisition() external {
        vm.warp(START + 100 days);
        freeze(alice);
        uint256 opId = nextOpId();
        vm.prank(custodian);
        token.forceTransfer(alice, bob, RULED, 700, abi.encode(opId));
        assertEq(rule.earliestTransferTime(address(token), bob, RULED, 700), START + OTHER, "tacked");
        _assertLotsFollow(alice);
        _assertLotsFollow(bob);
    }

    function testRecoveryKeepsTheTimeOfAcquisition() external {
        vm.warp(START + 100 days);
        uint256 opId = nextOpId();
        vm.prank(custodian);
        token.recoveryAddress(alice, carol, opId);
        assertEq(rule.earliestTransferTime(address(token), carol, RULED, UNITS), START + OTHER, "tacked");
        _assertLotsFollow(alice);
        _assertLotsFollow(carol);
    }

    function testRedemptionTakesTheOldestLotsFirst() external {
        vm.warp(START + 100 days);
        mint(alice, RULED, 50);
        vm.prank(officer);
        token.redeem(900, alice, RULED, UNITS - 10);
        _assertLotsFollow(alice);
        assertEq(rule.earliestTransferTime(address(token), alice, RULED, 10), START + OTHER, "rest of the first lot");
        assertEq(rule.earliestTransferTime(address(token), alice, RULED, 11), START + 100 days + OTHER, "second lot");
    }

    /// @dev Units whose lots a new module does not know cannot be redeemed before compliance reconciles them.
    function testRedemptionOfUnitsWithoutLotsReverts() external {
        rule = new Rule144(registry);
        _useModule(address(rule));
        vm.prank(officer);
        rule.servePartition(address(token), RULED);
        vm.expectRevert(abi.encodeWithSelector(IRule144.LotsMissing.selector, address(token), RULED, alice, 1, 0));
        vm.prank(officer);
        token.redeem(900, alice, RULED, 1);
        _reconcile(alice, START);
        vm.prank(officer);
        token.redeem(900, alice, RULED, 1);
        _assertLotsFollow(alice);
    }

    /// @dev If the module does not serve the partition, voluntary transfers are refused.
    function testTransferWithAModuleThatDoesNotServeReverts() external {
        Rule144 other = new Rule144(registry);
        vm.prank(officer);
        token.setRule144(address(other));
        vm.warp(START + OTHER);
        _assertCanTransfer(RULED, 1, "rule144_not_served");
        (bool allowed, bytes32 reason) = token.canTransfer(address(0), alice, RULED, 1, "");
        assertFalse(allowed, "no mint either");
        assertEq(reason, bytes32("rule144_not_served"), "reason of the mint");
        vm.expectRevert(abi.encodeWithSelector(IRule144.PartitionNotServed.selector, address(token), RULED));
        vm.prank(issuer);
        token.batchMint(900, RULED, page(alice, 1));
    }

    /// @dev The replacement's lots of units that left it while no module was set do not block the recovery.
    function testRecoveryToAWalletWithLotsThatAreOutOfDate() external {
        mint(carol, RULED, 50);
        _useModule(address(0));
        freeze(carol);
        vm.prank(custodian);
        token.forceTransfer(carol, bob, RULED, 50, "");
        vm.prank(officer);
        token.unFreeze(carol, "");
        _useModule(address(rule));
        vm.prank(custodian);
        token.recoveryAddress(alice, carol, 900);
        assertEq(token.balanceOf(carol, RULED), UNITS, "moved");
        _reconcile(carol, START);
        _assertLotsFollow(carol);
    }

    function _reconcile(address holder, uint256 acquiredAt) private {
        vm.prank(officer);
        rule.reconcile(address(token), RULED, holder, acquiredAt, "letter");
    }

    function _useModule(address module) private {
        vm.prank(officer);
        token.setRule144(module);
    }

    /// @dev A new module has no lots of existing units. They cannot move until compliance gives them a time.
    function testReconcileAfterAChangeOfModule() external {
        rule = new Rule144(registry);
        _useModule(address(rule));
        vm.prank(officer);
        rule.servePartition(address(token), RULED);
        vm.warp(START + 2 * OTHER);
        _assertCanTransfer(RULED, 1, "rule144_holding");
        vm.expectEmit();
        emit IRule144.LotsReconciled(address(token), RULED, alice, 0, UNITS, START + OTHER + 1, "letter");
        _reconcile(alice, START + OTHER + 1);
        _assertCanTransfer(RULED, 1, "rule144_holding");
        vm.warp(START + 2 * OTHER + 1);
        _assertCanTransfer(RULED, UNITS, 0);
        _assertLotsFollow(alice);
    }

    /// @dev A recovery without a module does not move the lots. Compliance reconciles both wallets afterwards.
    function testReconcileAfterARecoveryWithoutModule() external {
        _useModule(address(0));
        uint256 opId = nextOpId();
        vm.prank(custodian);
        token.recoveryAddress(alice, carol, opId);
        _useModule(address(rule));
        _reconcile(carol, START);
        _reconcile(alice, START);
        _assertLotsFollow(carol);
        _assertLotsFollow(alice);
        assertEq(rule.earliestTransferTime(address(token), carol, RULED, UNITS), START + OTHER, "the old time");
    }

    function testReconcileOfCorrectLots() external {
        _reconcile(alice, 0);
        _assertLotsFollow(alice);
        assertEq(rule.earliestTransferTime(address(token), alice, RULED, UNITS), START + OTHER, "unchanged");
    }

    function testReconcileToFreeUnits() external {
        _useModule(address(0));
        mint(bob, FREE, 1);
        freeze(alice);
        uint256 opId = nextOpId();
        vm.prank(custodian);
        token.forceTransfer(alice, bob, RULED, 400, abi.encode(opId));
        _useModule(address(rule));
        _reconcile(bob, 0);
        assertEq(rule.earliestTransferTime(address(token), bob, RULED, 400), 0, "free");
        _reconcile(alice, 0);
        _assertLotsFollow(alice);
    }

    function testReconcileRefused() external {
        vm.startPrank(officer);
        vm.expectRevert(abi.encodeWithSelector(IRule144.ZeroDocument.selector));
        rule.reconcile(address(token), RULED, alice, START, 0);
        vm.expectRevert(abi.encodeWithSelector(IRule144.InFuture.selector, START + 1));
        rule.reconcile(address(token), RULED, alice, START + 1, "letter");
        vm.expectRevert(abi.encodeWithSelector(IRule144.PartitionNotServed.selector, address(token), FREE));
        rule.reconcile(address(token), FREE, alice, START, "letter");
        vm.stopPrank();
    }
}
