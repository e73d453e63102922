// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IPlatformSecurityTokenErrors} from "../../src/interfaces/IPlatformSecurityTokenErrors.sol";
import {World} from "../World.sol";
import {
    BurningReceiver,
    GoodReceiver,
    ReenteringReceiver,
    RevertingReceiver,
    WrongReceiver
} from "../mocks/Receivers.sol";
import {IERC1155Errors} from "@openzeppelin/contracts/interfaces/draft-IERC6093.sol";
import {IERC1155} from "@openzeppelin/contracts/token/ERC1155/IERC1155.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";

contract TokenTransfersTest is World {
    function setUp() public override {
        super.setUp();
        mint(alice, REG_D, 100);
        mint(alice, REG_S, 50);
        whitelist(bob, REG_D);
        whitelist(bob, REG_S);
    }

    function testSafeTransferFromMovesUnits() public {
        vm.expectEmit(address(token));
        emit IERC1155.TransferSingle(alice, alice, bob, REG_D, 30);
        _transfer(alice, bob, 30);
        assertEq(token.balanceOf(alice, REG_D), 70, "from");
        assertEq(token.balanceOf(bob, REG_D), 30, "to");
        assertEq(token.totalSupply(REG_D), 100, "supply");
    }

    function testSafeTransferFromOfZeroUnitsAndToSelf() public {
        _transfer(alice, bob, 0);
        whitelist(alice, REG_D);
        _transfer(alice, alice, 100);
        assertEq(token.balanceOf(alice, REG_D), 100, "unchanged");
        _expectRefused(alice, alice, 101, "insufficient_balance");
    }

    function testSafeTransferFromByAnApprovedOperator() public {
        vm.expectEmit(address(token));
        emit IERC1155.ApprovalForAll(alice, carol, true);
        vm.prank(alice);
        token.setApprovalForAll(carol, true);
        assertTrue(token.isApprovedForAll(alice, carol), "approved");
        vm.prank(carol);
        token.safeTransferFrom(alice, bob, REG_D, 5, "");
        assertEq(token.balanceOf(bob, REG_D), 5, "moved");
        vm.prank(alice);
        token.setApprovalForAll(carol, false);
        _expectUnapproved();
        token.safeTransferFrom(alice, bob, REG_D, 5, "");
    }

    function testSafeTransferFromByOthersReverts() public {
        _expectUnapproved();
        token.safeTransferFrom(alice, bob, REG_D, 5, "");
        uint256[] memory none = new uint256[](0);
        _expectUnapproved();
        token.safeBatchTransferFrom(alice, bob, none, none, "");
        vm.expectRevert(abi.encodeWithSelector(IERC1155Errors.ERC1155MissingApprovalForAll.selector, carol, address(0)));
        vm.prank(carol);
        token.safeTransferFrom(address(0), bob, REG_D, 5, "");
    }

    function testApprovalOfZeroAddressReverts() public {
        vm.expectRevert(abi.encodeWithSelector(IERC1155Errors.ERC1155InvalidOperator.selector, address(0)));
        vm.prank(alice);
        token.setApprovalForAll(address(0), true);
    }

    function testAgentsCannotTransferForHolders() public {
        vm.expectRevert(abi.encodeWithSelector(IERC1155Errors.ERC1155MissingApprovalForAll.selector, custodian, alice));
        vm.prank(custodian);
        token.safeTransferFrom(alice, bob, REG_D, 5, "");
    }

    function testCanTransferReturnsEachReason() public {
        _expectRefused(alice, carol, 1, "to_not_whitelisted");
        _expectRefused(alice, address(0), 1, "to_zero");
        _expectRefused(alice, bob, 101, "insufficient_balance");
        lock(alice, REG_D, 60, START + 10);
        _expectRefused(alice, bob, 41, "locked");
        vm.prank(officer);
        token.restrictTransfer(REG_D);
        _expectRefused(alice, bob, 1, "restricted");
        vm.prank(officer);
        token.removeRestriction(REG_D);
        freeze(bob);
        _expectRefused(alice, bob, 1, "to_frozen");
        freeze(alice);
        _expectRefused(alice, bob, 1, "from_frozen");
    }

    function testUnknownPartitionIsRefused() public {
        (bool allowed, bytes32 reason) = token.canTransfer(alice, bob, 3, 1, "");
        assertFalse(allowed, "no");
        assertEq(reason, "unknown_partition", "reason");
        vm.expectRevert(
            abi.encodeWithSelector(
                IPlatformSecurityTokenErrors.TransferRefused.selector, alice, bob, 3, 0, bytes32("unknown_partition")
            )
        );
        vm.prank(alice);
        token.safeTransferFrom(alice, bob, 3, 0, "");
    }

    function testCanTransferFromZeroAnswersForAMint() public {
        _expectMintAnswer(bob, REG_D, 1, 0);
        _expectMintAnswer(carol, REG_D, 1, "to_not_whitelisted");
        _expectMintAnswer(bob, REG_S, CAP / 2 - 49, "cap");
        _expectMintAnswer(bob, REG_D, CAP - 149, "total_cap");
        _expectMintAnswer(bob, REG_D, type(uint256).max, "cap");
        _expectMintAnswer(address(0), REG_D, 1, "to_zero");
        _expectMintAnswer(bob, REG_D, 0, "zero_amount");
        _expectMintAnswer(bob, 3, 1, "unknown_partition");
        vm.prank(officer);
        token.restrictTransfer(REG_D);
        _expectMintAnswer(bob, REG_D, 1, 0);
        freeze(bob);
        _expectMintAnswer(bob, REG_D, 1, "to_frozen");
    }

    function testTransferRemovesADueLock() public {
        lock(alice, REG_D, 100, START + 10);
        _expectRefused(alice, bob, 1, "locked");
        vm.warp(START + 10);
        _transfer(alice, bob, 100);
        assertEq(token.tranchesOf(alice, REG_D).length, 0, "dropped");
        assertEq(token.balanceOf(bob, REG_D), 100, "moved");
    }

    function testUnlockedUnitsMoveDespiteALock() public {
        lock(alice, REG_D, 60, START + 10);
        _transfer(alice, bob, 40);
        assertEq(token.transferableBalance(alice, REG_D), 0, "rest is locked");
        assertEq(token.lockedBalanceOf(alice, REG_D), 60, "lock stays");
        assertEq(token.lockedBalanceOf(bob, REG_D), 0, "locks do not travel");
    }

    function testSafeBatchTransferFromChecksRepeatedIdsInSequence() public {
        uint256[] memory ids = _three(REG_D, REG_S, REG_D);
        vm.prank(alice);
        token.safeBatchTransferFrom(alice, bob, ids, _three(60, 50, 40), "");
        assertEq(token.balanceOf(bob, REG_D), 100, "both lines");
        assertEq(token.balanceOf(bob, REG_S), 50, "other partition");
    }

    function testSafeBatchTransferFromWithRepeatedIdsAboveTheBalanceReverts() public {
        vm.expectRevert(
            abi.encodeWithSelector(
                IPlatformSecurityTokenErrors.TransferRefused.selector,
                alice,
                bob,
                REG_D,
                41,
                bytes32("insufficient_balance")
            )
        );
        vm.prank(alice);
        token.safeBatchTransferFrom(alice, bob, _three(REG_D, REG_S, REG_D), _three(60, 50, 41), "");
        assertEq(token.balanceOf(alice, REG_D), 100, "undone");
    }

    function testSafeBatchTransferFromOfUnequalArraysReverts() public {
        vm.startPrank(alice);
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.LengthMismatch.selector, 3, 1));
        token.safeBatchTransferFrom(alice, bob, _three(1, 1, 1), new uint256[](1), "");
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.LengthMismatch.selector, 1, 3));
        token.safeBatchTransferFrom(alice, bob, new uint256[](1), _three(1, 1, 1), "");
        vm.stopPrank();
    }

    /// @dev An empty batch moves nothing, so it is not refused, also not for a frozen wallet.
    function testSafeBatchTransferFromOfNothing() public {
        freeze(alice);
        vm.prank(alice);
        token.safeBatchTransferFrom(alice, bob, new uint256[](0), new uint256[](0), "");
        assertEq(token.balanceOf(alice, REG_D), 100, "nothing moved");
    }

    function testSafeBatchTransferFromEmitsTheBatch() public {
        uint256[] memory ids = _three(REG_D, REG_S, REG_D);
        uint256[] memory amounts = _three(30, 20, 40);
        vm.expectEmit(address(token));
        emit IERC1155.TransferBatch(alice, alice, bob, ids, amounts);
        vm.prank(alice);
        token.safeBatchTransferFrom(alice, bob, ids, amounts, "");
    }

    function testSafeBatchTransferFromToAnUnwillingReceiverReverts() public {
        address wallet = address(new RevertingReceiver());
        whitelist(wallet, REG_D);
        vm.expectRevert(RevertingReceiver.Unwilling.selector);
        vm.prank(alice);
        token.safeBatchTransferFrom(alice, wallet, _three(REG_D, REG_D, REG_D), _three(1, 1, 1), "");
    }

    function testSafeBatchTransferFromToZeroAddressReverts() public {
        vm.expectRevert(abi.encodeWithSelector(IERC1155Errors.ERC1155InvalidReceiver.selector, address(0)));
        vm.prank(alice);
        token.safeBatchTransferFrom(alice, address(0), new uint256[](0), new uint256[](0), "");
    }

    function testBalanceOfBatch() public {
        address[] memory accounts = new address[](3);
        (accounts[0], accounts[1], accounts[2]) = (alice, bob, alice);
        uint256[] memory balances = token.balanceOfBatch(accounts, _three(REG_D, REG_D, REG_S));
        assertEq(balances[0], 100, "alice d");
        assertEq(balances[1], 0, "bob d");
        assertEq(balances[2], 50, "alice s");
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.LengthMismatch.selector, 3, 0));
        token.balanceOfBatch(accounts, new uint256[](0));
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.LengthMismatch.selector, 1, 3));
        token.balanceOfBatch(one(alice), _three(REG_D, REG_D, REG_S));
    }

    function testTransferCallsTheReceiverHook() public {
        GoodReceiver wallet = new GoodReceiver();
        whitelist(address(wallet), REG_D);
        whitelist(address(wallet), REG_S);
        _transfer(alice, address(wallet), 1);
        assertEq(wallet.calls(), 1, "asked");
        vm.prank(alice);
        token.safeBatchTransferFrom(alice, address(wallet), _three(REG_D, REG_S, REG_D), _three(1, 1, 1), "");
        assertEq(token.balanceOf(address(wallet), REG_D), 3, "both forms");
    }

    function testTransferToAnUnwillingReceiverReverts() public {
        address wallet = address(new RevertingReceiver());
        whitelist(wallet, REG_D);
        vm.expectRevert(RevertingReceiver.Unwilling.selector);
        _transfer(alice, wallet, 1);
        wallet = address(new WrongReceiver());
        whitelist(wallet, REG_D);
        vm.expectRevert(abi.encodeWithSelector(IERC1155Errors.ERC1155InvalidReceiver.selector, wallet));
        _transfer(alice, wallet, 1);
        wallet = address(new BurningReceiver());
        whitelist(wallet, REG_D);
        vm.expectRevert();
        vm.prank(alice);
        token.safeTransferFrom{gas: 1_000_000}(alice, wallet, REG_D, 1, "");
    }

    function testReceiverCannotReenter() public {
        address wallet = address(new ReenteringReceiver(token, bob));
        whitelist(wallet, REG_D);
        vm.expectRevert(ReentrancyGuardTransient.ReentrancyGuardReentrantCall.selector);
        _transfer(alice, wallet, 1);
    }

    function testReceiverCannotBlockAPageOrAForcedTransfer() public {
        address[3] memory wallets =
            [address(new RevertingReceiver()), address(new BurningReceiver()), address(new WrongReceiver())];
        bytes32[] memory lines = new bytes32[](3);
        for (uint256 i; i < 3; ++i) {
            lines[i] = line(wallets[i], 10);
        }
        vm.prank(issuer);
        token.mintPage(900, REG_D, START + 1, lines);
        freeze(wallets[0]);
        vm.startPrank(custodian);
        token.forceTransfer(wallets[0], wallets[1], REG_D, 10, abi.encode(901));
        token.recoveryAddress(wallets[1], address(new RevertingReceiver()), 902);
        vm.stopPrank();
        assertEq(token.balanceOf(wallets[2], REG_D), 10, "page went through");
    }

    function _transfer(address from, address to, uint256 units) private {
        vm.prank(from);
        token.safeTransferFrom(from, to, REG_D, units, "");
    }

    function _three(uint256 a, uint256 b, uint256 c) private pure returns (uint256[] memory list) {
        list = new uint256[](3);
        (list[0], list[1], list[2]) = (a, b, c);
    }

    function _expectUnapproved() private {
        vm.expectRevert(abi.encodeWithSelector(IERC1155Errors.ERC1155MissingApprovalForAll.selector, carol, alice));
        vm.prank(carol);
    }

    function _expectRefused(address from, address to, uint256 units, bytes32 reason) private {
        (bool allowed, bytes32 given) = token.canTransfer(from, to, REG_D, units, "");
        assertFalse(allowed, "predicate");
        assertEq(given, reason, "reason");
        assertFalse(token.canTransfer(from, to, REG_D, units), "ERC-7943 agrees");
        vm.expectRevert(
            abi.encodeWithSelector(
                IPlatformSecurityTokenErrors.TransferRefused.selector, from, to, REG_D, units, reason
            )
        );
        _transfer(from, to, units);
    }

    function _expectMintAnswer(address to, uint256 partition, uint256 units, bytes32 reason) private view {
        (bool allowed, bytes32 given) = token.canTransfer(address(0), to, partition, units, "");
        assertTrue(allowed == (reason == 0), "allowed");
        assertEq(given, reason, "mint reason");
    }
}
