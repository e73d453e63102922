// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Roles} from "../../src/Roles.sol";
import {IAgentRegistry} from "../../src/interfaces/IAgentRegistry.sol";
import {World} from "../World.sol";
import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

contract AgentRegistryTest is World {
    function testSetRolesGivesExactlyThoseRoles() public {
        vm.expectEmit(address(registry));
        emit IAgentRegistry.RolesChanged(stranger, 0, Roles.CUSTODY | Roles.PAYOUT);
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
        emit IAgentRegistry.RolesChanged(issuer, Roles.ISSUER, Roles.ISSUER);
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
}
