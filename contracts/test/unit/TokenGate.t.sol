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

    function testGateOfBatchWhitelist() public {
        _refused(abi.encodeCall(token.batchWhitelist, (REG_D, one(alice), true)), ISSUER_OR_COMPLIANCE);
    }

    function testGateOfMintPage() public {
        _refused(abi.encodeCall(token.mintPage, (1, REG_D, 0, page(alice, 1))), Roles.ISSUER);
    }

    function testGateOfBatchMint() public {
        _refused(abi.encodeCall(token.batchMint, (1, REG_D, page(alice, 1))), Roles.ISSUER);
    }

    function testGateOfBatchLockTokens() public {
        _refused(abi.encodeCall(token.batchLockTokens, (1, REG_D, START + 1, page(alice, 1))), ISSUER_OR_COMPLIANCE);
    }

    function testGateOfLockTokens() public {
        _refused(abi.encodeWithSelector(0x5783f8e7, alice, REG_D, 1, START + 1), ISSUER_OR_COMPLIANCE);
        _refused(
            abi.encodeWithSignature(
                "lockTokens(uint256,address,uint256,uint256,uint256)", 1, alice, REG_D, 1, START + 1
            ),
            ISSUER_OR_COMPLIANCE
        );
    }

    function testGateOfUnlockToken() public {
        _refused(abi.encodeCall(token.unlockToken, (alice, REG_D)), Roles.ALL);
    }

    function testGateOfAddPartition() public {
        IPlatformSecurityToken7518.PartitionTerms memory terms = twoPartitions()[0];
        _refused(abi.encodeCall(token.addPartition, (3, terms)), Roles.ISSUER);
    }

    function testGateOfSetCap() public {
        _refused(abi.encodeCall(token.setCap, (0, 1)), Roles.ISSUER);
    }

    function testGateOfRestrictTransfer() public {
        _refused(abi.encodeCall(token.restrictTransfer, (REG_D)), Roles.COMPLIANCE);
    }

    function testGateOfRemoveRestriction() public {
        _refused(abi.encodeCall(token.removeRestriction, (REG_D)), Roles.COMPLIANCE);
    }

    function testGateOfSetRule144() public {
        _refused(abi.encodeCall(token.setRule144, (alice)), Roles.COMPLIANCE);
    }

    function testGateOfSetPayoutAsset() public {
        _refused(abi.encodeCall(token.setPayoutAsset, (alice)), Roles.ISSUER);
    }

    function testGateOfFreezeAddress() public {
        _refused(abi.encodeCall(token.freezeAddress, (alice, "")), CUSTODY_OR_COMPLIANCE);
    }

    function testGateOfUnFreeze() public {
        _refused(abi.encodeCall(token.unFreeze, (alice, "")), Roles.COMPLIANCE);
    }

    function testGateOfSetFrozenTokens() public {
        _refused(abi.encodeCall(token.setFrozenTokens, (alice, REG_D, 0)), CUSTODY_OR_COMPLIANCE);
    }

    function testGateOfForceTransfer() public {
        _refused(abi.encodeCall(token.forceTransfer, (alice, bob, REG_D, 1, "")), Roles.CUSTODY);
    }

    function testGateOfForcedTransfer() public {
        _refused(abi.encodeCall(token.forcedTransfer, (alice, bob, REG_D, 1)), Roles.CUSTODY);
    }

    function testGateOfRecoveryAddress() public {
        _refused(abi.encodeCall(token.recoveryAddress, (alice, bob, 1)), Roles.CUSTODY);
    }

    function testGateOfPayouts() public {
        _refused(abi.encodeWithSelector(0x117de2fd, alice, 1), Roles.PAYOUT);
        _refused(abi.encodeWithSelector(IERC7518.batchPayout.selector, one(alice), new uint256[](1)), Roles.PAYOUT);
        _refused(abi.encodeWithSignature("payout(uint256,address,address,uint256)", 1, alice, bob, 1), Roles.PAYOUT);
        _refused(
            abi.encodeWithSignature("batchPayout(uint256,address,bytes32[])", 1, alice, page(bob, 1)), Roles.PAYOUT
        );
    }

    /// @dev A removed agent loses at once what he had.
    function testARemovedAgentIsRefused() public {
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
