// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Roles} from "../../src/Roles.sol";
import {IAgentGated} from "../../src/interfaces/IAgentGated.sol";
import {IOperations} from "../../src/interfaces/IOperations.sol";
import {IPlatformSecurityToken7518} from "../../src/interfaces/IPlatformSecurityToken7518.sol";
import {IPlatformSecurityTokenErrors} from "../../src/interfaces/IPlatformSecurityTokenErrors.sol";
import {IRule144} from "../../src/interfaces/IRule144.sol";
import {World} from "../World.sol";
import {ModuleStub} from "../mocks/ModuleStub.sol";
import {IERC1155} from "@openzeppelin/contracts/token/ERC1155/IERC1155.sol";

/// @notice Units are burnt by an agent, or by the holder where the issuer allows it.
contract TokenRedemptionTest is World {
    function setUp() public override {
        super.setUp();
        mint(alice, REG_D, 100);
    }

    function testRedeemBurnsAndLowersTheSupplies() public {
        bytes memory call = abi.encodeCall(token.redeem, (900, alice, REG_D, 30));
        vm.expectEmit(address(token));
        emit IOperations.OperationExecuted(900, "redeem", keccak256(call));
        vm.expectEmit(address(token));
        emit IERC1155.TransferSingle(officer, alice, address(0), REG_D, 30);
        vm.prank(officer);
        token.redeem(900, alice, REG_D, 30);
        assertEq(token.balanceOf(alice, REG_D), 70, "balance");
        assertEq(token.totalSupply(REG_D), 70, "partition");
        assertEq(token.totalSupply(), 70, "total");
        assertTrue(token.isOperationExecuted("redeem", 900), "number");
    }

    function testRedeemMakesRoomUnderTheCap() public {
        vm.prank(issuer);
        token.setCap(REG_D, 100);
        vm.prank(custodian);
        token.redeem(900, alice, REG_D, 40);
        mint(bob, REG_D, 40);
        assertEq(token.totalSupply(REG_D), 100, "full again");
    }

    /// @dev A mint by mistake must be corrected also if it was locked, frozen or paused meanwhile.
    function testRedeemIgnoresLocksFreezeRestrictionAndPause() public {
        lock(alice, REG_D, 80, START + 10);
        vm.startPrank(officer);
        token.setFrozenTokens(alice, REG_D, 90);
        token.freezeAddress(alice, "");
        token.restrictTransfer(REG_D);
        token.pause();
        vm.expectEmit(address(token));
        emit IPlatformSecurityToken7518.LocksCut(alice, REG_D, 70);
        token.redeem(900, alice, REG_D, 90);
        vm.stopPrank();
        assertEq(token.balanceOf(alice, REG_D), 10, "rest");
        assertEq(token.lockedBalanceOf(alice, REG_D), 10, "still locked");
        assertEq(token.getFrozenTokens(alice, REG_D), 10, "frozen units taken too");
    }

    function testRedeemRefused() public {
        vm.expectRevert(
            abi.encodeWithSelector(
                IAgentGated.NotAuthorized.selector, issuer, token.redeem.selector, Roles.COMPLIANCE | Roles.CUSTODY
            )
        );
        vm.prank(issuer);
        token.redeem(900, alice, REG_D, 1);
        vm.startPrank(officer);
        vm.expectRevert(
            abi.encodeWithSelector(IPlatformSecurityTokenErrors.BalanceTooLow.selector, alice, REG_D, 100, 101)
        );
        token.redeem(900, alice, REG_D, 101);
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.ZeroAmount.selector, alice));
        token.redeem(900, alice, REG_D, 0);
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.BalanceTooLow.selector, alice, 3, 0, 1));
        token.redeem(900, alice, 3, 1);
        vm.stopPrank();
    }

    function testHolderRedeemsOnlyWhereTheIssuerAllowsIt() public {
        vm.expectRevert(IPlatformSecurityTokenErrors.RedemptionNotAllowed.selector);
        vm.prank(alice);
        token.redeemOwn(REG_D, 10);
        vm.expectEmit(address(token));
        emit IPlatformSecurityToken7518.HolderRedemptionChanged(true);
        vm.prank(issuer);
        token.setHolderRedemption(true);
        assertTrue(token.holderRedemption(), "allowed");
        vm.prank(alice);
        token.redeemOwn(REG_D, 10);
        assertEq(token.balanceOf(alice, REG_D), 90, "burnt");
        assertEq(token.totalSupply(), 90, "supply");
    }

    function testHolderRedeemsByTheRulesOfATransfer() public {
        vm.prank(issuer);
        token.setHolderRedemption(true);
        lock(alice, REG_D, 60, START + 10);
        _refused(41, "locked");
        _refused(101, "insufficient_balance");
        freeze(alice);
        _refused(1, "from_frozen");
        vm.prank(officer);
        token.restrictTransfer(REG_D);
        _refused(1, "restricted");
        vm.prank(officer);
        token.pause();
        _refused(1, "paused");
    }

    function testRedemptionIsReportedToTheModule() public {
        ModuleStub module = new ModuleStub();
        vm.prank(issuer);
        token.addPartition(3, IPlatformSecurityToken7518.PartitionTerms(CAP, false, true));
        vm.prank(officer);
        token.setRule144(address(module));
        mint(alice, 3, 9);
        vm.prank(officer);
        token.redeem(900, alice, 3, 4);
        assertEq(module.last(), abi.encodeCall(IRule144.onRedemption, (alice, 3, 4)), "what it heard");
    }

    function _refused(uint256 units, bytes32 reason) private {
        vm.expectRevert(
            abi.encodeWithSelector(
                IPlatformSecurityTokenErrors.TransferRefused.selector, alice, address(0), REG_D, units, reason
            )
        );
        vm.prank(alice);
        token.redeemOwn(REG_D, units);
    }
}
