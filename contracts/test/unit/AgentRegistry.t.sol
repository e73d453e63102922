// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {AgentRegistry} from "../../src/AgentRegistry.sol";
import {Roles} from "../../src/Roles.sol";
import {IAgentRegistry} from "../../src/interfaces/IAgentRegistry.sol";
import {World} from "../World.sol";
import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

contract AgentRegistryTest is World {
    function testSetRolesGivesExactlyThoseRoles() public {
        vm.expectEmit(address(registry));
        emit IAgentRegistry.RolesChanged(stranger, 0, 0, Roles.CUSTODY | Roles.PAYOUT, block.timestamp);
        vm.prank(owner);
        registry.setRoles(stranger, Roles.CUSTODY | Roles.PAYOUT);
        assertTrue(registry.isAgent(stranger), "agent");
        assertTrue(registry.hasRole(stranger, Roles.PAYOUT), "payout");
        assertTrue(registry.hasRole(stranger, Roles.PAYOUT | Roles.ISSUER), "one of the mask is enough");
        assertFalse(registry.hasRole(stranger, Roles.ISSUER | Roles.COMPLIANCE), "others");
        assertEq(registry.rolesOf(stranger), Roles.CUSTODY | Roles.PAYOUT, "word");
    }

    function testSetRolesToZeroRemovesTheAgent() public {
        vm.prank(owner);
        registry.setRoles(issuer, 0);
        assertFalse(registry.isAgent(issuer), "no agent");
        assertFalse(registry.hasRole(issuer, Roles.ALL), "no role");
    }

    function testSetRolesUnchangedStillEmits() public {
        vm.expectEmit(address(registry));
        emit IAgentRegistry.RolesChanged(issuer, 0, Roles.ISSUER, 0, 0);
        vm.prank(owner);
        registry.setRoles(issuer, Roles.ISSUER);
    }

    function testSetRolesByStrangerReverts() public {
        vm.expectRevert(abi.encodeWithSelector(Ownable.OwnableUnauthorizedAccount.selector, issuer));
        vm.prank(issuer);
        registry.setRoles(issuer, Roles.ALL);
    }

    function testSetRolesOfZeroAddressReverts() public {
        vm.expectRevert(IAgentRegistry.AgentZero.selector);
        vm.prank(owner);
        registry.setRoles(address(0), Roles.ISSUER);
    }

    function testSetRolesWithUnknownBitReverts(uint256 roles) public {
        vm.assume(roles & ~Roles.ALL != 0);
        vm.expectRevert(abi.encodeWithSelector(IAgentRegistry.UnknownRoles.selector, roles));
        vm.prank(owner);
        registry.setRoles(stranger, roles);
    }

    function testRenounceOwnershipReverts() public {
        vm.expectRevert(IAgentRegistry.OwnershipIsRequired.selector);
        vm.prank(owner);
        registry.renounceOwnership();
        vm.expectRevert(abi.encodeWithSelector(Ownable.OwnableUnauthorizedAccount.selector, stranger));
        vm.prank(stranger);
        registry.renounceOwnership();
        assertEq(registry.owner(), owner, "owner");
    }

    function testOwnershipMovesInTwoSteps() public {
        vm.prank(owner);
        registry.transferOwnership(stranger);
        assertEq(registry.owner(), owner, "not yet");
        vm.prank(stranger);
        registry.acceptOwnership();
        assertEq(registry.owner(), stranger, "now");
    }

    function testNewRolesCountAfterTheDelay() public {
        AgentRegistry slow = new AgentRegistry(owner, 2 days);
        vm.expectEmit(address(slow));
        emit IAgentRegistry.RolesChanged(stranger, 0, 0, Roles.CUSTODY, START + 2 days);
        vm.prank(owner);
        slow.setRoles(stranger, Roles.CUSTODY);
        assertFalse(slow.isAgent(stranger), "announced only");
        _expectAnnounced(slow, 0, Roles.CUSTODY, START + 2 days);
        vm.warp(START + 2 days - 1);
        assertFalse(slow.hasRole(stranger, Roles.CUSTODY), "a second before");
        vm.warp(START + 2 days);
        assertTrue(slow.hasRole(stranger, Roles.CUSTODY), "at the time");
        assertEq(slow.rolesOf(stranger), Roles.CUSTODY, "word");
        _expectAnnounced(slow, 0, 0, 0);
    }

    function testARoleEndsAtOnceAndAnAnnouncementCanBeWithdrawn() public {
        AgentRegistry slow = new AgentRegistry(owner, 2 days);
        vm.startPrank(owner);
        slow.setRoles(stranger, Roles.ISSUER | Roles.PAYOUT);
        vm.warp(START + 2 days);
        slow.setRoles(stranger, Roles.PAYOUT | Roles.CUSTODY);
        assertEq(slow.rolesOf(stranger), Roles.PAYOUT, "issuer ended, custody waits");
        slow.setRoles(stranger, 0);
        assertEq(slow.rolesOf(stranger), 0, "removed");
        vm.warp(START + 9 days);
        assertEq(slow.rolesOf(stranger), 0, "custody never came");
        vm.stopPrank();
    }

    /// @dev A repetition must not put a grant off, and more roles must not come with an older announcement.
    function testARepeatedAnnouncementKeepsItsTime() public {
        AgentRegistry slow = new AgentRegistry(owner, 2 days);
        vm.startPrank(owner);
        slow.setRoles(stranger, Roles.ISSUER | Roles.PAYOUT);
        vm.warp(START + 1 days);
        slow.setRoles(stranger, Roles.ISSUER);
        _expectAnnounced(slow, 0, Roles.ISSUER, START + 2 days);
        slow.setRoles(stranger, Roles.ISSUER | Roles.CUSTODY);
        _expectAnnounced(slow, 0, Roles.ISSUER | Roles.CUSTODY, START + 3 days);
        vm.stopPrank();
    }

    function testDelayAboveTheLimitReverts() public {
        vm.expectRevert(abi.encodeWithSelector(IAgentRegistry.GrantDelayTooLong.selector, 30 days + 1));
        new AgentRegistry(owner, 30 days + 1);
        assertEq(new AgentRegistry(owner, 30 days).grantDelay(), 30 days, "limit");
    }

    function testARoleForOneOfferingCountsThereOnly() public {
        bytes32 other = keccak256("off_2");
        vm.prank(owner);
        registry.setRolesFor(OFFERING, stranger, Roles.ISSUER);
        assertTrue(registry.hasRoleFor(OFFERING, stranger, Roles.ISSUER), "there");
        assertFalse(registry.hasRoleFor(other, stranger, Roles.ALL), "elsewhere");
        assertFalse(registry.isAgent(stranger) || registry.hasRole(stranger, Roles.ALL), "on the platform");
        assertEq(registry.rolesFor(OFFERING, stranger), Roles.ISSUER, "word");
        assertTrue(registry.hasRoleFor(other, issuer, Roles.ISSUER), "an agent of the platform counts everywhere");
        assertEq(registry.rolesFor(other, issuer), 0, "but was not named there");
    }

    function testSetRolesForBadInputReverts() public {
        vm.expectRevert(IAgentRegistry.OfferingIdZero.selector);
        vm.prank(owner);
        registry.setRolesFor(0, stranger, Roles.ISSUER);
        vm.expectRevert(abi.encodeWithSelector(Ownable.OwnableUnauthorizedAccount.selector, issuer));
        vm.prank(issuer);
        registry.setRolesFor(OFFERING, issuer, Roles.ALL);
    }

    function _expectAnnounced(AgentRegistry slow, bytes32 offeringId, uint256 roles, uint256 effectiveAt) private view {
        (uint256 announced, uint256 start) = slow.announcedRoles(offeringId, stranger);
        assertEq(announced, roles, "announced");
        assertEq(start, effectiveAt, "from");
    }
}
