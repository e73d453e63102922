// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {PlatformSecurityToken7518} from "../../src/PlatformSecurityToken7518.sol";
import {Roles} from "../../src/Roles.sol";
import {TokenFactory} from "../../src/TokenFactory.sol";
import {IAgentGated} from "../../src/interfaces/IAgentGated.sol";
import {IPlatformSecurityToken7518} from "../../src/interfaces/IPlatformSecurityToken7518.sol";
import {IPlatformSecurityTokenErrors} from "../../src/interfaces/IPlatformSecurityTokenErrors.sol";
import {World} from "../World.sol";

/// @notice The pause of a whole token, and the way out of a defective implementation.
contract TokenPauseTest is World {
    function setUp() public override {
        super.setUp();
        mint(alice, REG_D, 100);
        mint(bob, REG_S, 50);
        whitelist(bob, REG_D);
    }

    function testPauseStopsTransfersAndMints() public {
        _pause();
        assertTrue(token.paused(), "paused");
        (bool allowed, bytes32 reason) = token.canTransfer(alice, bob, REG_D, 1, "");
        assertFalse(allowed, "transfer");
        assertEq(reason, "paused", "why");
        (, reason) = token.canTransfer(address(0), bob, REG_D, 1, "");
        assertEq(reason, "paused", "mint");
        vm.expectRevert(
            abi.encodeWithSelector(
                IPlatformSecurityTokenErrors.TransferRefused.selector, alice, bob, REG_D, 1, bytes32("paused")
            )
        );
        vm.prank(alice);
        token.safeTransferFrom(alice, bob, REG_D, 1, "");
        vm.expectRevert(IPlatformSecurityTokenErrors.TokenPaused.selector);
        vm.prank(issuer);
        token.mintPage(900, REG_S, 0, page(alice, 1));
    }

    function testPauseCoversAPartitionAddedLater() public {
        _pause();
        vm.prank(issuer);
        token.addPartition(3, IPlatformSecurityToken7518.PartitionTerms(CAP, false, false));
        (, bytes32 reason) = token.canTransfer(alice, bob, 3, 0, "");
        assertEq(reason, "paused", "new partition");
    }

    function testForcedTransferAndRecoveryGoOnDuringAPause() public {
        _pause();
        freeze(alice);
        vm.prank(custodian);
        token.forceTransfer(alice, bob, REG_D, 10, "");
        recover(alice, carol);
        assertEq(token.balanceOf(carol, REG_D), 90, "recovered");
    }

    function testUnpauseByComplianceOnly() public {
        vm.prank(custodian);
        token.pause();
        vm.expectRevert(
            abi.encodeWithSelector(
                IAgentGated.NotAuthorized.selector, custodian, token.unpause.selector, Roles.COMPLIANCE
            )
        );
        vm.prank(custodian);
        token.unpause();
        vm.expectEmit(address(token));
        emit IPlatformSecurityToken7518.Unpaused(officer);
        vm.prank(officer);
        token.unpause();
        assertFalse(token.paused(), "not paused");
        vm.prank(alice);
        token.safeTransferFrom(alice, bob, REG_D, 100, "");
    }

    function testPauseKeepsRestrictions() public {
        vm.startPrank(officer);
        token.restrictTransfer(REG_D);
        token.pause();
        token.unpause();
        vm.stopPrank();
        assertTrue(token.isRestricted(REG_D), "restricted");
        assertFalse(token.isRestricted(REG_S), "not this one");
    }

    /// @dev The steps of README, "A way out of a defective implementation".
    function testATokenIsIssuedAnewUnderTheSameOffering() public {
        lock(alice, REG_D, 60, START + 10);
        _pause();
        PlatformSecurityToken7518 old = token;
        PlatformSecurityToken7518 mended = new PlatformSecurityToken7518(registry);
        TokenFactory successor = new TokenFactory(registry, address(mended));
        vm.startPrank(issuer);
        token = PlatformSecurityToken7518(successor.deployToken(OFFERING, "OFF1", CAP, twoPartitions()));
        token.mintPage(1, REG_D, 0, page(alice, old.balanceOf(alice, REG_D)));
        token.mintPage(2, REG_S, 0, page(bob, old.balanceOf(bob, REG_S)));
        IPlatformSecurityToken7518.Tranche memory tranche = old.tranchesOf(alice, REG_D)[0];
        token.lockTokens(3, alice, REG_D, tranche.units, tranche.releaseAt);
        vm.stopPrank();
        assertEq(token.offeringId(), old.offeringId(), "offering");
        assertTrue(address(token) != address(old), "address");
        assertEq(token.totalSupply(), old.totalSupply(), "supply");
        assertEq(token.transferableBalance(alice, REG_D), old.transferableBalance(alice, REG_D), "locks");
        whitelist(bob, REG_D);
        vm.prank(alice);
        token.safeTransferFrom(alice, bob, REG_D, 40, "");
        vm.expectRevert();
        vm.prank(alice);
        old.safeTransferFrom(alice, bob, REG_D, 1, "");
    }

    function _pause() private {
        vm.expectEmit(address(token));
        emit IPlatformSecurityToken7518.Paused(officer);
        vm.prank(officer);
        token.pause();
    }
}
