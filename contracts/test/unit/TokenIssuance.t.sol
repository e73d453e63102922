// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC7518} from "../../src/interfaces/IERC7518.sol";
import {IOperations} from "../../src/interfaces/IOperations.sol";
import {IPlatformSecurityToken7518} from "../../src/interfaces/IPlatformSecurityToken7518.sol";
import {IPlatformSecurityTokenErrors} from "../../src/interfaces/IPlatformSecurityTokenErrors.sol";
import {World} from "../World.sol";
import {IERC1155} from "@openzeppelin/contracts/token/ERC1155/IERC1155.sol";

contract TokenIssuanceTest is World {
    function testMintPageListsMintsAndLocks() public {
        bytes32[] memory lines = new bytes32[](2);
        lines[0] = line(alice, 70);
        lines[1] = line(bob, 30);
        bytes memory call = abi.encodeCall(token.mintPage, (1, REG_D, START + 1 days, lines));
        vm.expectEmit(address(token));
        emit IOperations.OperationExecuted(1, "mint_page", keccak256(call));
        vm.expectEmit(address(token));
        emit IERC1155.TransferSingle(issuer, address(0), alice, REG_D, 70);
        vm.expectEmit(address(token));
        emit IERC7518.TokensLocked(alice, REG_D, 70, START + 1 days);
        vm.prank(issuer);
        token.mintPage(1, REG_D, START + 1 days, lines);
        assertEq(token.balanceOf(alice, REG_D), 70, "alice");
        assertEq(token.balanceOf(bob, REG_D), 30, "bob");
        assertEq(token.lockedBalanceOf(bob, REG_D), 30, "locked");
        assertEq(token.transferableBalance(bob, REG_D), 0, "nothing to move");
        assertTrue(token.isWhitelisted(bob, REG_D), "listed");
        assertFalse(token.isWhitelisted(bob, REG_S), "in this partition only");
        assertEq(token.totalSupply(REG_D), 100, "partition supply");
        assertEq(token.totalSupply(), 100, "total supply");
    }

    function testMintPageWithoutReleaseLocksNothing() public {
        mint(alice, REG_D, 10);
        assertEq(token.transferableBalance(alice, REG_D), 10, "free");
        assertEq(token.tranchesOf(alice, REG_D).length, 0, "no lock");
    }

    function testMintPageTakesAHolderOnSeveralLines() public {
        bytes32[] memory lines = new bytes32[](3);
        lines[0] = line(alice, 1);
        lines[1] = line(bob, 2);
        lines[2] = line(alice, 4);
        vm.prank(issuer);
        token.mintPage(1, REG_D, START + 5, lines);
        assertEq(token.balanceOf(alice, REG_D), 5, "both lines");
        assertEq(token.lockedBalanceOf(alice, REG_D), 5, "one merged lock");
        assertEq(token.tranchesOf(alice, REG_D).length, 1, "merged");
    }

    function testMintPageKeepsTheListingOfAHolderWithADueLock() public {
        vm.prank(issuer);
        token.mintPage(1, REG_D, START + 5, page(alice, 10));
        vm.prank(officer);
        token.batchWhitelist(REG_D, one(alice), false);
        vm.warp(START + 5);
        vm.prank(issuer);
        token.mintPage(2, REG_D, START + 9, page(alice, 3));
        assertTrue(token.isWhitelisted(alice, REG_D), "listed again");
        assertEq(token.balanceOf(alice, REG_D), 13, "balance");
        assertEq(token.lockedBalanceOf(alice, REG_D), 3, "only the new lock");
        assertEq(token.tranchesOf(alice, REG_D).length, 1, "due lock dropped");
    }

    function testMintIntoARestrictedPartitionWorks() public {
        vm.prank(officer);
        token.restrictTransfer(REG_D);
        mint(alice, REG_D, 10);
        assertEq(token.balanceOf(alice, REG_D), 10, "restriction stops transfers only");
    }

    function testBatchMintToUnlistedHolderReverts() public {
        vm.expectRevert(
            abi.encodeWithSelector(IPlatformSecurityTokenErrors.HolderNotWhitelisted.selector, alice, REG_D)
        );
        vm.prank(issuer);
        token.batchMint(1, REG_D, page(alice, 10));
        assertFalse(token.isOperationExecuted("mint", 1), "a revert spends no id");
        whitelist(alice, REG_D);
        bytes memory call = abi.encodeCall(token.batchMint, (1, REG_D, page(alice, 10)));
        vm.expectEmit(address(token));
        emit IOperations.OperationExecuted(1, "mint", keccak256(call));
        vm.prank(issuer);
        token.batchMint(1, REG_D, page(alice, 10));
        assertEq(token.balanceOf(alice, REG_D), 10, "minted");
        assertTrue(token.isOperationExecuted("mint", 1), "spent");
    }

    function testMintOverPartitionCapReverts() public {
        mint(alice, REG_S, CAP / 2);
        _expectMint(
            REG_S,
            page(alice, 1),
            abi.encodeWithSelector(IPlatformSecurityTokenErrors.CapExceeded.selector, REG_S, CAP / 2, CAP / 2 + 1)
        );
    }

    function testMintOverTotalCapReverts() public {
        mint(alice, REG_S, CAP / 2);
        mint(alice, REG_D, CAP - CAP / 2);
        _expectMint(
            REG_D,
            page(alice, 1),
            abi.encodeWithSelector(IPlatformSecurityTokenErrors.CapExceeded.selector, 0, CAP, CAP + 1)
        );
        assertEq(token.totalSupply(), CAP, "exactly full");
    }

    function testMintAbove96BitsReverts() public {
        bytes32[] memory lines = new bytes32[](2);
        lines[0] = line(alice, type(uint96).max);
        lines[1] = line(alice, 1);
        _expectMint(
            REG_D,
            lines,
            abi.encodeWithSelector(IPlatformSecurityTokenErrors.AmountTooLarge.selector, uint256(type(uint96).max) + 1)
        );
    }

    function testMintToZeroAddressReverts() public {
        _expectMint(
            REG_D, page(address(0), 1), abi.encodeWithSelector(IPlatformSecurityTokenErrors.ZeroAddress.selector)
        );
    }

    function testMintOfZeroUnitsReverts() public {
        _expectMint(
            REG_D, page(alice, 0), abi.encodeWithSelector(IPlatformSecurityTokenErrors.ZeroAmount.selector, alice)
        );
    }

    function testMintOfAnEmptyPageReverts() public {
        _expectMint(REG_D, new bytes32[](0), abi.encodeWithSelector(IPlatformSecurityTokenErrors.EmptyPage.selector));
    }

    function testMintToAFrozenHolderReverts() public {
        freeze(alice);
        _expectMint(
            REG_D, page(alice, 1), abi.encodeWithSelector(IPlatformSecurityTokenErrors.AddressIsFrozen.selector, alice)
        );
    }

    function testMintIntoAnUnknownPartitionReverts(uint256 partition) public {
        vm.assume(partition == 0 || partition > 2);
        _expectMint(
            partition,
            page(alice, 1),
            abi.encodeWithSelector(IPlatformSecurityTokenErrors.UnknownPartition.selector, partition)
        );
    }

    function testMintPageWithBadReleaseReverts() public {
        _expectRelease(START);
        _expectRelease(1);
        _expectRelease(START + 7305 days + 1);
        _expectRelease(type(uint256).max);
    }

    function testPageWithOneBadLineReverts() public {
        bytes32[] memory lines = pageOf(0, 5, 10);
        lines[4] = line(address(0), 10);
        _expectMint(REG_D, lines, abi.encodeWithSelector(IPlatformSecurityTokenErrors.ZeroAddress.selector));
        assertEq(token.balanceOf(nth(0), REG_D), 0, "first line undone");
        assertEq(token.totalSupply(), 0, "supply");
    }

    function testBatchWhitelistPutsOnAndTakesOff() public {
        whitelist(alice, REG_S);
        assertTrue(token.isWhitelisted(alice, REG_S), "on");
        vm.expectEmit(address(token));
        emit IPlatformSecurityToken7518.HolderWhitelisted(alice, REG_S, false);
        vm.prank(issuer);
        token.batchWhitelist(REG_S, one(alice), false);
        assertFalse(token.isWhitelisted(alice, REG_S), "off");
    }

    function testBatchWhitelistOfAListedHolderStillEmits() public {
        whitelist(alice, REG_S);
        vm.expectEmit(address(token));
        emit IPlatformSecurityToken7518.HolderWhitelisted(alice, REG_S, true);
        whitelist(alice, REG_S);
    }

    function testBatchWhitelistKeepsBalanceAndLocks() public {
        mint(alice, REG_D, 10);
        lock(alice, REG_D, 4, START + 10);
        vm.prank(officer);
        token.batchWhitelist(REG_D, one(alice), false);
        assertEq(token.balanceOf(alice, REG_D), 10, "balance");
        assertEq(token.lockedBalanceOf(alice, REG_D), 4, "lock");
    }

    function testBatchWhitelistBadInputReverts() public {
        vm.prank(officer);
        vm.expectRevert(IPlatformSecurityTokenErrors.EmptyPage.selector);
        token.batchWhitelist(REG_D, new address[](0), true);
        vm.prank(officer);
        vm.expectRevert(IPlatformSecurityTokenErrors.ZeroAddress.selector);
        token.batchWhitelist(REG_D, one(address(0)), true);
        vm.prank(officer);
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.UnknownPartition.selector, 3));
        token.batchWhitelist(3, one(alice), true);
    }

    function testFuzzMintPageAddsUp(uint96[5] memory units, uint256 seed) public {
        bytes32[] memory lines = new bytes32[](units.length);
        uint256 sum;
        for (uint256 i; i < units.length; ++i) {
            uint256 amount = bound(units[i], 1, CAP / 5);
            lines[i] = line(nth((seed >> i) % 3), amount);
            sum += amount;
        }
        vm.prank(issuer);
        token.mintPage(1, REG_D, 0, lines);
        uint256 held = token.balanceOf(nth(0), REG_D) + token.balanceOf(nth(1), REG_D) + token.balanceOf(nth(2), REG_D);
        assertEq(held, sum, "balances");
        assertEq(token.totalSupply(REG_D), sum, "supply");
    }

    function testCanTransferFromZeroUpToTheCapsIsAllowed() public {
        mint(alice, REG_D, 100);
        whitelist(bob, REG_D);
        whitelist(bob, REG_S);
        (bool allowed, bytes32 reason) = token.canTransfer(address(0), bob, REG_D, CAP - 100, "");
        assertTrue(allowed, "all units left");
        assertEq(reason, bytes32(0), "reason");
        mint(alice, REG_D, CAP - 200);
        (, reason) = token.canTransfer(address(0), bob, REG_S, 100, "");
        assertEq(reason, bytes32(0), "the last hundred");
        (, reason) = token.canTransfer(address(0), bob, REG_S, 101, "");
        assertEq(reason, bytes32("total_cap"), "one more");
    }

    function _expectMint(uint256 partition, bytes32[] memory lines, bytes memory reason) private {
        uint256 supply = token.totalSupply();
        vm.expectRevert(reason);
        vm.prank(issuer);
        token.mintPage(1000, partition, 0, lines);
        assertEq(token.totalSupply(), supply, "supply stays");
        assertFalse(token.isOperationExecuted("mint_page", 1000), "id stays");
    }

    function _expectRelease(uint256 releaseAt) private {
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.ReleaseTimeOutOfRange.selector, releaseAt));
        vm.prank(issuer);
        token.mintPage(1000, REG_D, releaseAt, page(alice, 1));
    }
}
