// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Roles} from "../../src/Roles.sol";
import {Rule144} from "../../src/Rule144.sol";
import {IAgentGated} from "../../src/interfaces/IAgentGated.sol";
import {IAgentRegistry} from "../../src/interfaces/IAgentRegistry.sol";
import {IRule144} from "../../src/interfaces/IRule144.sol";
import {Rule144Fixture} from "./Rule144Fixture.sol";

/// @dev The roles of the settings, and the callers of the notifications.
contract Rule144AccessTest is Rule144Fixture {
    function testConstructorRegistryZero() external {
        vm.expectRevert(abi.encodeWithSelector(IRule144.ZeroAddress.selector));
        new Rule144(IAgentRegistry(address(0)));
    }

    function testNotificationsFromOthersRevert() external {
        bytes memory refused = abi.encodeWithSelector(IRule144.PartitionNotServed.selector, STRANGER, PARTITION);
        vm.startPrank(STRANGER);
        vm.expectRevert(refused);
        rule.onMint(ALICE, PARTITION, 1);
        vm.expectRevert(refused);
        rule.onTransfer(ALICE, BOB, PARTITION, 1);
        vm.expectRevert(refused);
        rule.onForcedTransfer(ALICE, BOB, PARTITION, 1);
        vm.expectRevert(refused);
        rule.onRecovery(ALICE, BOB, PARTITION);
        vm.expectRevert(refused);
        rule.onRedemption(ALICE, PARTITION, 1);
        vm.stopPrank();
    }

    /// @dev A wallet has no offering, so only compliance of the whole platform can set its data.
    function testSettingsOfAnAccountWithoutCode() external {
        registry.setRolesFor(keccak256("off_1"), STRANGER, Roles.COMPLIANCE);
        vm.prank(STRANGER);
        _expectNotAuthorized(rule.servePartition.selector);
        rule.servePartition(ALICE, PARTITION);
        vm.prank(OFFICER);
        rule.servePartition(ALICE, PARTITION);
        assertTrue(rule.isServed(ALICE, PARTITION), "served");
    }

    function testSettingsCallerWithoutRole() external {
        registry.setRoles(STRANGER, Roles.ISSUER | Roles.CUSTODY | Roles.PAYOUT);
        vm.startPrank(STRANGER);
        _expectNotAuthorized(rule.servePartition.selector);
        rule.servePartition(address(token), 2);
        _expectNotAuthorized(rule.setIssuerStatus.selector);
        rule.setIssuerStatus(address(token), IRule144.IssuerStatus(0, false));
        _expectNotAuthorized(rule.setAffiliate.selector);
        rule.setAffiliate(address(token), ALICE, true);
        _expectNotAuthorized(rule.removeLegend.selector);
        rule.removeLegend(address(token), PARTITION, ALICE, START, "opinion");
        _expectNotAuthorized(rule.reconcile.selector);
        rule.reconcile(address(token), PARTITION, ALICE, START, "letter");
        vm.stopPrank();
    }

    function _expectNotAuthorized(bytes4 selector) private {
        vm.expectRevert(
            abi.encodeWithSelector(IAgentGated.NotAuthorized.selector, STRANGER, selector, Roles.COMPLIANCE)
        );
    }

    function testServePartition() external {
        assertTrue(rule.isServed(address(token), PARTITION), "served");
        assertFalse(rule.isServed(address(token), 2), "not served");
        vm.startPrank(OFFICER);
        vm.expectRevert(abi.encodeWithSelector(IRule144.PartitionAlreadyServed.selector, address(token), PARTITION));
        rule.servePartition(address(token), PARTITION);
        vm.expectRevert(abi.encodeWithSelector(IRule144.ZeroAddress.selector));
        rule.servePartition(address(0), PARTITION);
        vm.expectEmit();
        emit IRule144.PartitionServed(address(token), 3);
        rule.servePartition(address(token), 3);
        vm.stopPrank();
    }

    function testSetIssuerStatus() external {
        vm.startPrank(OFFICER);
        vm.expectEmit();
        emit IRule144.IssuerStatusSet(address(token), uint40(START), true);
        rule.setIssuerStatus(address(token), IRule144.IssuerStatus(uint40(START), true));
        vm.expectRevert(abi.encodeWithSelector(IRule144.InFuture.selector, START + 1));
        rule.setIssuerStatus(address(token), IRule144.IssuerStatus(uint40(START + 1), false));
        vm.expectRevert(abi.encodeWithSelector(IRule144.ZeroAddress.selector));
        rule.setIssuerStatus(address(0), IRule144.IssuerStatus(0, false));
        vm.stopPrank();
        assertEq(rule.issuerStatus(address(token)).reportingSince, START, "since");
        assertTrue(rule.issuerStatus(address(token)).shell, "shell");
    }

    function testSetAffiliate() external {
        vm.startPrank(OFFICER);
        vm.expectEmit();
        emit IRule144.AffiliateSet(address(token), ALICE, true);
        rule.setAffiliate(address(token), ALICE, true);
        vm.expectRevert(abi.encodeWithSelector(IRule144.ZeroAddress.selector));
        rule.setAffiliate(address(0), ALICE, true);
        vm.expectRevert(abi.encodeWithSelector(IRule144.ZeroAddress.selector));
        rule.setAffiliate(address(token), address(0), true);
        vm.stopPrank();
    }
}
