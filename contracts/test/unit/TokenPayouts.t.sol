// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Roles} from "../../src/Roles.sol";
import {IERC7518} from "../../src/interfaces/IERC7518.sol";
import {IOperations} from "../../src/interfaces/IOperations.sol";
import {IPlatformSecurityToken7518} from "../../src/interfaces/IPlatformSecurityToken7518.sol";
import {IPlatformSecurityTokenErrors} from "../../src/interfaces/IPlatformSecurityTokenErrors.sol";
import {World} from "../World.sol";
import {HostileCoin} from "../hostile/HostileCoin.sol";
import {IERC20Errors} from "@openzeppelin/contracts/interfaces/draft-IERC6093.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";

contract TokenPayoutsTest is World {
    HostileCoin private coin;

    function setUp() public override {
        super.setUp();
        coin = new HostileCoin();
        coin.mint(payer, 1_000_000);
        vm.prank(payer);
        coin.approve(address(token), type(uint256).max);
        vm.prank(issuer);
        token.setPayoutAsset(address(coin));
    }

    function testPayoutOfTheStandard() public {
        vm.expectEmit(address(token));
        emit IERC7518.PayoutDelivered(payer, alice, 500);
        vm.expectEmit(address(coin));
        emit IERC20.Transfer(payer, alice, 500);
        vm.prank(payer);
        assertTrue(token.payout(alice, 500), "true");
        assertEq(coin.balanceOf(alice), 500, "paid");
        assertEq(coin.balanceOf(address(token)), 0, "the token holds nothing");
    }

    function testBatchPayoutOfTheStandard() public {
        (address[] memory to, uint256[] memory amounts) = _two(alice, 5, bob, 7);
        vm.prank(payer);
        assertTrue(token.batchPayout(to, amounts), "true");
        assertEq(coin.balanceOf(alice), 5, "alice");
        assertEq(coin.balanceOf(bob), 7, "bob");
    }

    function testPayoutWithOpId() public {
        bytes memory call =
            abi.encodeWithSignature("payout(uint256,address,address,uint256)", 1, address(coin), alice, 500);
        vm.expectEmit(address(token));
        emit IOperations.OperationExecuted(1, "payout", keccak256(call));
        vm.expectEmit(address(token));
        emit IERC7518.PayoutDelivered(payer, alice, 500);
        vm.prank(payer);
        assertTrue(token.payout(1, address(coin), alice, 500), "true");
        assertEq(coin.balanceOf(alice), 500, "paid");
    }

    function testBatchPayoutWithOpId() public {
        bytes32[] memory lines = pageOf(0, 3, 40);
        bytes memory call = abi.encodeWithSignature("batchPayout(uint256,address,bytes32[])", 1, address(coin), lines);
        vm.expectEmit(address(token));
        emit IOperations.OperationExecuted(1, "payout_page", keccak256(call));
        for (uint256 i; i < 3; ++i) {
            vm.expectEmit(address(coin));
            emit IERC20.Transfer(payer, nth(i), 40);
        }
        assertTrue(_page(1, lines), "true");
        assertEq(coin.balanceOf(payer), 1_000_000 - 120, "pulled from the caller");
    }

    function testBatchPayoutWithOneBadLineReverts() public {
        freeze(nth(2));
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.AddressIsFrozen.selector, nth(2)));
        _page(1, pageOf(0, 3, 40));
        assertEq(coin.balanceOf(nth(0)), 0, "nobody is paid");
        assertFalse(token.isOperationExecuted("payout_page", 1), "id stays");
    }

    function testPayoutToFrozenReverts() public {
        freeze(alice);
        bytes memory frozen = abi.encodeWithSelector(IPlatformSecurityTokenErrors.AddressIsFrozen.selector, alice);
        vm.startPrank(payer);
        vm.expectRevert(frozen);
        token.payout(alice, 1);
        vm.expectRevert(frozen);
        token.payout(1, address(coin), alice, 1);
        (address[] memory to, uint256[] memory amounts) = _two(bob, 5, alice, 7);
        vm.expectRevert(frozen);
        token.batchPayout(to, amounts);
        vm.stopPrank();
    }

    function testPayoutBadInputReverts() public {
        vm.startPrank(payer);
        vm.expectRevert(IPlatformSecurityTokenErrors.ZeroAddress.selector);
        token.payout(address(0), 1);
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.ZeroAmount.selector, alice));
        token.payout(alice, 0);
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.NotAContract.selector, address(0)));
        token.payout(1, address(0), alice, 1);
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.NotAContract.selector, stranger));
        token.batchPayout(1, stranger, page(alice, 1));
        vm.expectRevert(IPlatformSecurityTokenErrors.EmptyPage.selector);
        token.batchPayout(1, address(coin), new bytes32[](0));
        vm.expectRevert(IPlatformSecurityTokenErrors.EmptyPage.selector);
        token.batchPayout(new address[](0), new uint256[](0));
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.LengthMismatch.selector, 1, 2));
        token.batchPayout(one(alice), new uint256[](2));
        vm.stopPrank();
    }

    function testPayoutWithoutAnAssetReverts() public {
        vm.expectEmit(address(token));
        emit IPlatformSecurityToken7518.PayoutAssetChanged(address(0));
        vm.prank(issuer);
        token.setPayoutAsset(address(0));
        assertEq(token.payoutAsset(), address(0), "unset");
        (address[] memory to, uint256[] memory amounts) = _two(alice, 5, bob, 7);
        vm.startPrank(payer);
        vm.expectRevert(IPlatformSecurityTokenErrors.PayoutAssetUnset.selector);
        token.payout(alice, 1);
        vm.expectRevert(IPlatformSecurityTokenErrors.PayoutAssetUnset.selector);
        token.batchPayout(to, amounts);
        vm.stopPrank();
    }

    function testPayoutAboveTheCallersMoneyReverts() public {
        vm.expectRevert(
            abi.encodeWithSelector(IERC20Errors.ERC20InsufficientBalance.selector, payer, 1_000_000, 1_000_001)
        );
        _page(1, page(alice, 1_000_001));
    }

    function testPayoutOfAnAssetThatReturnsFalseReverts() public {
        coin.setMode(alice, HostileCoin.Mode.ReturnsFalse);
        vm.expectRevert(abi.encodeWithSelector(SafeERC20.SafeERC20FailedOperation.selector, address(coin)));
        _page(1, page(alice, 1));
    }

    function testPayoutOfAnAssetThatReturnsNothingWorks() public {
        coin.setMode(alice, HostileCoin.Mode.ReturnsNothing);
        _page(1, page(alice, 9));
        assertEq(coin.balanceOf(alice), 9, "paid");
    }

    function testPayoutOfAnAssetThatTakesAFeeReverts() public {
        coin.setMode(alice, HostileCoin.Mode.TakesFee);
        bytes memory short =
            abi.encodeWithSelector(IPlatformSecurityTokenErrors.ReceivedDiffers.selector, alice, 500, 499);
        vm.expectRevert(short);
        _page(1, page(alice, 500));
        vm.startPrank(payer);
        vm.expectRevert(short);
        token.payout(alice, 500);
        coin.setMode(alice, HostileCoin.Mode.SendsBack);
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.ReceivedDiffers.selector, alice, 500, 501));
        token.payout(1, address(coin), alice, 500);
        vm.stopPrank();
    }

    function testPayoutThatLeavesThePayeeWithLessReverts() public {
        coin.mint(alice, 10);
        coin.setMode(alice, HostileCoin.Mode.TakesFee);
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.ReceivedDiffers.selector, alice, 1, 0));
        _page(1, page(alice, 1));
    }

    function testPayoutToThePayer() public {
        _page(1, page(payer, 5));
        assertEq(coin.balanceOf(payer), 1_000_000, "as before");
    }

    function testAssetCannotReenter() public {
        vm.prank(owner);
        registry.setRoles(address(coin), Roles.PAYOUT);
        coin.setMode(alice, HostileCoin.Mode.Reenters);
        coin.setReentry(address(token), abi.encodeWithSignature("payout(address,uint256)", bob, 1));
        _page(1, page(alice, 5));
        assertEq(
            coin.answer(),
            abi.encodeWithSelector(ReentrancyGuardTransient.ReentrancyGuardReentrantCall.selector),
            "refused inside"
        );
        assertEq(coin.balanceOf(bob), 0, "nothing extra");
    }

    function _page(uint256 opId, bytes32[] memory lines) private returns (bool) {
        vm.prank(payer);
        return token.batchPayout(opId, address(coin), lines);
    }

    function _two(address a, uint256 x, address b, uint256 y)
        private
        pure
        returns (address[] memory to, uint256[] memory amounts)
    {
        (to, amounts) = (new address[](2), new uint256[](2));
        (to[0], to[1], amounts[0], amounts[1]) = (a, b, x, y);
    }
}
