// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Roles} from "../../src/Roles.sol";
import {IAgentGated} from "../../src/interfaces/IAgentGated.sol";
import {IERC7518} from "../../src/interfaces/IERC7518.sol";
import {IPlatformSecurityToken7518} from "../../src/interfaces/IPlatformSecurityToken7518.sol";
import {World} from "../World.sol";

/// @notice Each mutating function by name: who may not call it, and what the refusal says.
contract TokenGateTest is World {
    uint256 private constant ISSUER_OR_COMPLIANCE = Roles.ISSUER | Roles.COMPLIANCE;
    uint256 private constant CUSTODY_OR_COMPLIANCE = Roles.CUSTODY | Roles.COMPLIANCE;

    function testBatchWhitelistRequiresItsRole() public {
        _refused(abi.encodeCall(token.batchWhitelist, (REG_D, one(alice), true)), ISSUER_OR_COMPLIANCE);
    }

    function testMintPageRequiresItsRole() public {
        _refused(abi.encodeCall(token.mintPage, (1, REG_D, 0, page(alice, 1))), Roles.ISSUER);
    }

    function testBatchMintRequiresItsRole() public {
        _refused(abi.encodeCall(token.batchMint, (1, REG_D, page(alice, 1))), Roles.ISSUER);
    }

    function testBatchLockTokensRequiresItsRole() public {
        _refused(abi.encodeCall(token.batchLockTokens, (1, REG_D, START + 1, page(alice, 1))), ISSUER_OR_COMPLIANCE);
    }

    function testLockTokensRequiresItsRole() public {
        _refused(abi.encodeWithSelector(0x5783f8e7, alice, REG_D, 1, START + 1), ISSUER_OR_COMPLIANCE);
        _refused(
            abi.encodeWithSignature(
                "lockTokens(uint256,address,uint256,uint256,uint256)", 1, alice, REG_D, 1, START + 1
            ),
            ISSUER_OR_COMPLIANCE
        );
    }

    function testUnlockTokenRequiresItsRole() public {
        _refused(abi.encodeCall(token.unlockToken, (alice, REG_D)), Roles.ALL);
    }

    function testAddPartitionRequiresItsRole() public {
        IPlatformSecurityToken7518.PartitionTerms memory terms = twoPartitions()[0];
        _refused(abi.encodeCall(token.addPartition, (3, terms)), Roles.ISSUER);
    }

    function testSetCapRequiresItsRole() public {
        _refused(abi.encodeCall(token.setCap, (0, 1)), Roles.ISSUER);
    }

    function testRestrictTransferRequiresItsRole() public {
        _refused(abi.encodeCall(token.restrictTransfer, (REG_D)), Roles.COMPLIANCE);
    }

    function testRemoveRestrictionRequiresItsRole() public {
        _refused(abi.encodeCall(token.removeRestriction, (REG_D)), Roles.COMPLIANCE);
    }

    function testSetRule144RequiresItsRole() public {
        _refused(abi.encodeCall(token.setRule144, (alice)), Roles.COMPLIANCE);
    }

    function testSetPayoutAssetRequiresItsRole() public {
        _refused(abi.encodeCall(token.setPayoutAsset, (alice)), Roles.ISSUER);
    }

    function testFreezeAddressRequiresItsRole() public {
        _refused(abi.encodeCall(token.freezeAddress, (alice, "")), CUSTODY_OR_COMPLIANCE);
    }

    function testUnFreezeRequiresItsRole() public {
        _refused(abi.encodeCall(token.unFreeze, (alice, "")), Roles.COMPLIANCE);
    }

    function testSetFrozenTokensRequiresItsRole() public {
        _refused(abi.encodeCall(token.setFrozenTokens, (alice, REG_D, 0)), CUSTODY_OR_COMPLIANCE);
    }

    function testForceTransferRequiresItsRole() public {
        _refused(abi.encodeCall(token.forceTransfer, (alice, bob, REG_D, 1, "")), Roles.CUSTODY);
    }

    function testForcedTransferRequiresItsRole() public {
        _refused(abi.encodeCall(token.forcedTransfer, (alice, bob, REG_D, 1)), Roles.CUSTODY);
    }

    function testRecoveryAddressRequiresItsRole() public {
        _refused(abi.encodeCall(token.recoveryAddress, (alice, bob, 1)), Roles.CUSTODY);
    }

    function testPayoutsRequireTheirRole() public {
        _refused(abi.encodeWithSelector(0x117de2fd, alice, 1), Roles.PAYOUT);
        _refused(abi.encodeWithSelector(IERC7518.batchPayout.selector, one(alice), new uint256[](1)), Roles.PAYOUT);
        _refused(abi.encodeWithSignature("payout(uint256,address,address,uint256)", 1, alice, bob, 1), Roles.PAYOUT);
        _refused(
            abi.encodeWithSignature("batchPayout(uint256,address,bytes32[])", 1, alice, page(bob, 1)), Roles.PAYOUT
        );
    }

    /// @dev A removed agent loses at once what he had.
    function testRemovedAgentIsRefused() public {
        vm.prank(owner);
        registry.setRoles(issuer, 0);
        vm.expectRevert(
            abi.encodeWithSelector(
                IAgentGated.NotAuthorized.selector, issuer, IPlatformSecurityToken7518.mintPage.selector, Roles.ISSUER
            )
        );
        vm.prank(issuer);
        token.mintPage(1, REG_D, 0, page(alice, 1));
    }

    function testTheOwnerOfTheRegistryIsNoAgent() public {
        vm.expectRevert(
            abi.encodeWithSelector(
                IAgentGated.NotAuthorized.selector, owner, IERC7518.freezeAddress.selector, CUSTODY_OR_COMPLIANCE
            )
        );
        vm.prank(owner);
        token.freezeAddress(alice, "");
    }

    /// @dev Tried as a stranger and as an agent that has every role but the needed ones.
    function _refused(bytes memory call, uint256 needed) private {
        _refusedFor(stranger, call, needed);
        vm.prank(owner);
        registry.setRoles(carol, Roles.ALL & ~needed);
        _refusedFor(carol, call, needed);
    }

    function _refusedFor(address caller, bytes memory call, uint256 needed) private {
        vm.prank(caller);
        (bool ok, bytes memory answer) = address(token).call(call);
        assertFalse(ok, "refused");
        assertEq(
            answer, abi.encodeWithSelector(IAgentGated.NotAuthorized.selector, caller, bytes4(call), needed), "why"
        );
    }
}
