// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC7518} from "../../src/interfaces/IERC7518.sol";
import {IERC7943MultiToken} from "../../src/interfaces/IERC7943MultiToken.sol";
import {IOperations} from "../../src/interfaces/IOperations.sol";
import {IPlatformSecurityToken7518} from "../../src/interfaces/IPlatformSecurityToken7518.sol";
import {IPlatformSecurityTokenErrors} from "../../src/interfaces/IPlatformSecurityTokenErrors.sol";
import {World} from "../World.sol";
import {IERC1155} from "@openzeppelin/contracts/token/ERC1155/IERC1155.sol";

contract TokenCustodyTest is World {
    function setUp() public override {
        super.setUp();
        mint(alice, REG_D, 100);
    }

    function testFreezeAddressIsIdempotentAndEmitsEachTime() public {
        for (uint256 i; i < 2; ++i) {
            vm.expectEmit(address(token));
            emit IERC7518.AddressFrozen(alice, "case 7");
            vm.prank(officer);
            token.freezeAddress(alice, "case 7");
            assertTrue(token.isFrozen(alice), "frozen");
        }
        assertFalse(token.canSend(alice), "send");
        assertFalse(token.canReceive(alice), "receive");
        assertTrue(token.canSend(bob) && token.canReceive(bob), "nobody else");
        assertFalse(token.canSend(address(0)) || token.canReceive(address(0)), "nobody at all");
    }

    function testCustodyMayFreezeButNotUnfreeze() public {
        vm.prank(custodian);
        token.freezeAddress(alice, "");
        assertTrue(token.isFrozen(alice), "frozen");
    }

    function testUnFreezeIsIdempotentAndEmitsEachTime() public {
        freeze(alice);
        for (uint256 i; i < 2; ++i) {
            vm.expectEmit(address(token));
            emit IERC7518.AddressUnfrozen(alice, "case 7");
            vm.prank(officer);
            token.unFreeze(alice, "case 7");
            assertFalse(token.isFrozen(alice), "free");
        }
    }

    function testFreezeOfZeroAddressReverts() public {
        vm.startPrank(officer);
        vm.expectRevert(IPlatformSecurityTokenErrors.ZeroAddress.selector);
        token.freezeAddress(address(0), "");
        vm.expectRevert(IPlatformSecurityTokenErrors.ZeroAddress.selector);
        token.unFreeze(address(0), "");
        vm.stopPrank();
    }

    function testFrozenAmongAnswersBitByBit() public {
        freeze(nth(1));
        freeze(nth(3));
        assertEq(token.frozenAmong(pageOf(0, 5, 1)), 2 + 8, "bits");
        assertEq(token.frozenAmong(new bytes32[](0)), 0, "empty");
        freeze(nth(255));
        assertEq(token.frozenAmong(pageOf(0, 256, 1)) >> 255, 1, "last bit");
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.PageTooLong.selector, 257));
        token.frozenAmong(pageOf(0, 257, 1));
    }

    function testForceTransferMovesPastTheRules() public {
        vm.prank(officer);
        token.restrictTransfer(REG_D);
        freeze(alice);
        vm.expectEmit(address(token));
        emit IERC1155.TransferSingle(custodian, alice, carol, REG_D, 60);
        vm.expectEmit(address(token));
        emit IERC7518.TokensForceTransferred(alice, carol, REG_D, 60);
        assertTrue(_force(carol, 60, ""), "true");
        assertEq(token.balanceOf(carol, REG_D), 60, "not even listed");
        assertEq(token.balanceOf(alice, REG_D), 40, "rest");
        assertEq(token.totalSupply(REG_D), 100, "supply");
    }

    function testForceTransferWithOpIdInData() public {
        freeze(alice);
        bytes memory data = abi.encode(900, keccak256("evidence"));
        bytes memory call = abi.encodeCall(token.forceTransfer, (alice, bob, REG_D, 1, data));
        vm.expectEmit(address(token));
        emit IOperations.OperationExecuted(900, "force_transfer", keccak256(call));
        _force(bob, 1, data);
        assertTrue(token.isOperationExecuted("force_transfer", 900), "spent");
        vm.expectRevert(abi.encodeWithSelector(IOperations.OperationReplayed.selector, 900));
        _force(bob, 1, data);
    }

    function testForceTransferWithMalformedDataReverts() public {
        freeze(alice);
        for (uint256 length = 1; length < 32; length += 10) {
            vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.MalformedData.selector, length));
            _force(bob, 1, new bytes(length));
        }
        vm.expectRevert(IOperations.OperationIdZero.selector);
        _force(bob, 1, new bytes(32));
    }

    function testForceTransferBadInputReverts() public {
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.AddressNotFrozen.selector, alice));
        _force(bob, 1, "");
        freeze(alice);
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.ZeroAmount.selector, alice));
        _force(bob, 0, "");
        vm.expectRevert(IPlatformSecurityTokenErrors.ZeroAddress.selector);
        _force(address(0), 1, "");
        vm.expectRevert(
            abi.encodeWithSelector(IPlatformSecurityTokenErrors.BalanceTooLow.selector, alice, REG_D, 100, 101)
        );
        _force(bob, 101, "");
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.AddressIsFrozen.selector, alice));
        _force(alice, 1, "");
        freeze(bob);
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.AddressIsFrozen.selector, bob));
        _force(bob, 1, "");
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.BalanceTooLow.selector, alice, 3, 0, 1));
        vm.prank(custodian);
        token.forceTransfer(alice, carol, 3, 1, "");
    }

    function testForceTransferTakesUnlockedUnitsFirst() public {
        lock(alice, REG_D, 60, START + 10);
        freeze(alice);
        _force(bob, 40, "");
        assertEq(token.lockedBalanceOf(alice, REG_D), 60, "lock whole");
        assertEq(token.transferableBalance(bob, REG_D), 40, "free at the receiver");
    }

    function testForceTransferThenCutsTheLatestLocks() public {
        lock(alice, REG_D, 10, START + 10);
        lock(alice, REG_D, 20, START + 20);
        lock(alice, REG_D, 30, START + 30);
        freeze(alice);
        vm.expectEmit(address(token));
        emit IPlatformSecurityToken7518.LocksCut(alice, REG_D, 35);
        _force(bob, 75, "");
        IPlatformSecurityToken7518.Tranche[] memory tranches = token.tranchesOf(alice, REG_D);
        assertEq(tranches.length, 2, "the latest is gone");
        assertEq(tranches[1].units, 15, "the one before is cut");
        assertEq(token.lockedBalanceOf(alice, REG_D), 25, "all that is left is locked");
        _force(bob, 25, "");
        assertEq(token.tranchesOf(alice, REG_D).length, 0, "none");
        assertEq(token.transferableBalance(alice, REG_D), 0, "views still answer");
    }

    function testForceTransferRemovesDueLocksBeforeItCuts() public {
        lock(alice, REG_D, 50, START + 10);
        lock(alice, REG_D, 50, START + 20);
        freeze(alice);
        vm.warp(START + 10);
        _force(bob, 60, "");
        IPlatformSecurityToken7518.Tranche[] memory tranches = token.tranchesOf(alice, REG_D);
        assertEq(tranches.length, 1, "due one dropped");
        assertEq(tranches[0].units, 40, "cut");
        assertEq(tranches[0].releaseAt, START + 20, "the later one");
    }

    function testForcedTransferOfErc7943() public {
        vm.startPrank(custodian);
        token.setFrozenTokens(alice, REG_D, 80);
        token.freezeAddress(alice, "");
        vm.expectEmit(address(token));
        emit IERC7943MultiToken.Frozen(alice, REG_D, 50);
        vm.expectEmit(address(token));
        emit IERC7943MultiToken.ForcedTransfer(alice, bob, REG_D, 50);
        assertTrue(token.forcedTransfer(alice, bob, REG_D, 50), "true");
        assertEq(token.getFrozenTokens(alice, REG_D), 50, "frozen units taken too");
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.AddressNotFrozen.selector, bob));
        token.forcedTransfer(bob, carol, REG_D, 1);
        vm.stopPrank();
    }

    function testForceTransferCutsSeveralLocks() public {
        lock(alice, REG_D, 90, START + 10 days);
        lock(alice, REG_D, 3, START + 20 days);
        freeze(alice);
        _force(bob, 17, "");
        IPlatformSecurityToken7518.Tranche[] memory tranches = token.tranchesOf(alice, REG_D);
        assertEq(tranches.length, 1, "the last tranche is removed");
        assertEq(tranches[0].units, 83, "the one before gives the rest");
        assertEq(tranches[0].releaseAt, START + 10 days, "release");
    }

    function _force(address to, uint256 units, bytes memory data) private returns (bool) {
        vm.prank(custodian);
        return token.forceTransfer(alice, to, REG_D, units, data);
    }
}
