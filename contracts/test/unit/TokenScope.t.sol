// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {PlatformSecurityToken7518} from "../../src/PlatformSecurityToken7518.sol";
import {Roles} from "../../src/Roles.sol";
import {Rule144} from "../../src/Rule144.sol";
import {DemoCoin} from "../../src/demo/DemoCoin.sol";
import {IAgentGated} from "../../src/interfaces/IAgentGated.sol";
import {IPlatformSecurityToken7518} from "../../src/interfaces/IPlatformSecurityToken7518.sol";
import {IPlatformSecurityTokenErrors} from "../../src/interfaces/IPlatformSecurityTokenErrors.sol";
import {World} from "../World.sol";

/// @notice An agent that is named for one offering can do nothing in the token of another one.
contract TokenScopeTest is World {
    bytes32 private constant OTHER = keccak256("off_2");

    PlatformSecurityToken7518 private other;
    address private agent = makeAddr("agent of one offering");

    function setUp() public override {
        super.setUp();
        vm.prank(issuer);
        other = PlatformSecurityToken7518(factory.deployToken(OTHER, "OFF2", CAP, twoPartitions()));
        vm.prank(owner);
        registry.setRolesFor(OFFERING, agent, Roles.ALL);
    }

    function testAgentOfOneOfferingActsThere() public {
        vm.startPrank(agent);
        token.mintPage(1, REG_D, 0, page(alice, 10));
        token.freezeAddress(alice, "");
        token.recoveryAddress(alice, bob, 2);
        vm.stopPrank();
        assertEq(token.balanceOf(bob, REG_D), 10, "all roles");
    }

    function testAgentOfOneOfferingIsRefusedElsewhere() public {
        _refused(abi.encodeCall(other.mintPage, (1, REG_D, 0, page(alice, 10))), Roles.ISSUER);
        _refused(abi.encodeCall(other.freezeAddress, (alice, "")), Roles.COMPLIANCE | Roles.CUSTODY);
        _refused(abi.encodeCall(other.recoveryAddress, (alice, bob, 2)), Roles.CUSTODY);
        _refused(abi.encodeCall(other.redeem, (3, alice, REG_D, 1)), Roles.COMPLIANCE | Roles.CUSTODY);
        _refused(abi.encodeCall(other.unlockToken, (alice, REG_D)), Roles.ALL);
    }

    function testIssuerOfOneOfferingDeploysItOnly() public {
        bytes32 third = keccak256("off_3");
        IPlatformSecurityToken7518.PartitionTerms[] memory terms = twoPartitions();
        vm.expectRevert(
            abi.encodeWithSelector(
                IAgentGated.NotAuthorized.selector, agent, factory.deployToken.selector, Roles.ISSUER
            )
        );
        vm.prank(agent);
        factory.deployToken(third, "OFF3", CAP, terms);
        vm.prank(owner);
        registry.setRolesFor(third, agent, Roles.ISSUER);
        vm.prank(agent);
        factory.deployToken(third, "OFF3", CAP, terms);
        assertTrue(factory.tokenOf(third) != address(0), "deployed");
    }

    function testComplianceOfOneOfferingSetsItsRule144DataOnly() public {
        Rule144 rule = new Rule144(registry);
        vm.startPrank(agent);
        rule.servePartition(address(token), REG_D);
        vm.expectRevert(
            abi.encodeWithSelector(
                IAgentGated.NotAuthorized.selector, agent, rule.servePartition.selector, Roles.COMPLIANCE
            )
        );
        rule.servePartition(address(other), REG_D);
        vm.stopPrank();
        assertTrue(rule.isServed(address(token), REG_D), "own");
    }

    function testAFrozenOperatorMovesNothing() public {
        mint(alice, REG_D, 10);
        whitelist(bob, REG_D);
        vm.prank(alice);
        token.setApprovalForAll(carol, true);
        freeze(carol);
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.AddressIsFrozen.selector, carol));
        vm.prank(carol);
        token.safeTransferFrom(alice, bob, REG_D, 1, "");
        recover(carol, stranger);
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.AddressIsFrozen.selector, carol));
        vm.prank(carol);
        token.safeTransferFrom(alice, bob, REG_D, 1, "");
    }

    function testThePayeeCannotBeTheToken() public {
        address coin = address(new DemoCoin("Demo Dollar", "DUSD", 6));
        vm.expectRevert(IPlatformSecurityTokenErrors.PayeeIsToken.selector);
        vm.prank(payer);
        token.payout(1, coin, address(token), 1);
    }

    function _refused(bytes memory call, uint256 roles) private {
        vm.prank(agent);
        (bool ok, bytes memory answer) = address(other).call(call);
        assertFalse(ok, "refused");
        assertEq(
            answer,
            abi.encodeWithSelector(IAgentGated.NotAuthorized.selector, agent, bytes4(call), roles),
            "by its role"
        );
    }
}
