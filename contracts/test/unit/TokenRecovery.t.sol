// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC7518} from "../../src/interfaces/IERC7518.sol";
import {IOperations} from "../../src/interfaces/IOperations.sol";
import {IPlatformSecurityToken7518} from "../../src/interfaces/IPlatformSecurityToken7518.sol";
import {World} from "../World.sol";
import {IERC1155} from "@openzeppelin/contracts/token/ERC1155/IERC1155.sol";

contract TokenRecoveryTest is World {
    function setUp() public override {
        super.setUp();
        mint(alice, REG_D, 100);
        mint(alice, REG_S, 7);
    }

    function testRecoveryMovesEverything() public {
        for (uint256 i = 1; i <= 16; ++i) {
            lock(alice, REG_D, i / 2 + 1, START + i);
        }
        vm.warp(START + 3);
        bytes memory call = abi.encodeCall(token.recoveryAddress, (alice, bob, 900));
        vm.expectEmit(address(token));
        emit IOperations.OperationExecuted(900, "recovery", keccak256(call));
        vm.expectEmit(address(token));
        emit IERC1155.TransferSingle(custodian, alice, bob, REG_D, 100);
        vm.expectEmit(address(token));
        emit IERC1155.TransferSingle(custodian, alice, bob, REG_S, 7);
        vm.expectEmit(address(token));
        emit IPlatformSecurityToken7518.AddressRecovered(alice, bob);
        uint256 locked = token.lockedBalanceOf(alice, REG_D);
        _recover(alice, bob, 900);

        assertEq(token.balanceOf(bob, REG_D), 100, "balance");
        assertEq(token.balanceOf(bob, REG_S), 7, "every partition");
        assertEq(token.lockedBalanceOf(bob, REG_D), locked, "locks");
        assertEq(token.tranchesOf(bob, REG_D).length, 16, "all tranches");
        assertEq(token.tranchesOf(bob, REG_D)[15].releaseAt, START + 16, "with their times");
        assertTrue(token.isWhitelisted(bob, REG_D), "listing");
        assertFalse(token.isFrozen(bob), "free, as alice was");

        assertEq(token.balanceOf(alice, REG_D) + token.balanceOf(alice, REG_S), 0, "nothing left");
        assertEq(token.tranchesOf(alice, REG_D).length, 0, "no locks left");
        assertFalse(token.isWhitelisted(alice, REG_D), "not listed");
        assertTrue(token.isFrozen(alice), "frozen");
        assertEq(token.successorOf(alice), bob, "successor");
        assertEq(token.totalSupply(), 107, "supply");
    }

    function testRecoveredLocksStillEndInTime() public {
        lock(alice, REG_D, 60, START + 10);
        lock(alice, REG_D, 40, START + 20);
        _recover(alice, bob, 900);
        vm.warp(START + 10);
        assertEq(token.transferableBalance(bob, REG_D), 60, "first");
        vm.warp(START + 20);
        assertEq(token.transferableBalance(bob, REG_D), 100, "second");
    }

    function testRecoveryCarriesAFreeze() public {
        freeze(alice);
        vm.expectEmit(address(token));
        emit IERC7518.AddressFrozen(bob, "");
        _recover(alice, bob, 900);
        assertTrue(token.isFrozen(bob), "the freeze follows the person");
        vm.prank(officer);
        token.unFreeze(bob, "");
        assertFalse(token.isFrozen(bob), "and can be lifted there");
    }

    function testRecoveryToAFrozenWalletStaysFrozen() public {
        freeze(bob);
        _recover(alice, bob, 900);
        assertTrue(token.isFrozen(bob), "still");
    }

    function testRecoveryOfAFrozenToAFrozenWallet() public {
        freeze(alice);
        freeze(bob);
        _recover(alice, bob, 900);
        assertTrue(token.isFrozen(bob), "still");
        assertEq(token.balanceOf(bob, REG_D), 100, "moved");
    }

    function testRecoveryKeepsTheNewWalletsOwnListing() public {
        vm.prank(officer);
        token.batchWhitelist(REG_S, one(alice), false);
        whitelist(bob, REG_S);
        _recover(alice, bob, 900);
        assertTrue(token.isWhitelisted(bob, REG_S), "its own");
        assertTrue(token.isWhitelisted(bob, REG_D), "the lost one's");
    }

    function testRecoveryOfAnEmptyWalletRecordsTheSuccessor() public {
        _recover(stranger, bob, 900);
        assertEq(token.successorOf(stranger), bob, "for claims elsewhere");
        assertTrue(token.isFrozen(stranger), "frozen");
    }

    function testRecoveryTwiceInAChain() public {
        _recover(alice, bob, 900);
        _recover(bob, carol, 901);
        assertEq(token.balanceOf(carol, REG_D), 100, "arrived");
        assertEq(token.successorOf(alice), bob, "first step");
        assertEq(token.successorOf(bob), carol, "second step");
    }

    function testRetiredWalletCannotBeUsedAgain() public {
        _recover(alice, bob, 900);
        bytes memory retired = abi.encodeWithSelector(IPlatformSecurityToken7518.AddressRetired.selector, alice, bob);
        vm.expectRevert(retired);
        vm.prank(officer);
        token.unFreeze(alice, "");
        vm.expectRevert(retired);
        _recover(alice, carol, 901);
        vm.expectRevert(retired);
        _recover(bob, alice, 901);
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityToken7518.AddressIsFrozen.selector, alice));
        vm.prank(issuer);
        token.mintPage(902, REG_D, 0, page(alice, 1));
        freeze(alice);
        assertEq(token.successorOf(alice), bob, "a freeze keeps the successor");
    }

    function testRecoveryToANonEmptyWalletReverts() public {
        mint(bob, REG_S, 3);
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityToken7518.WalletNotEmpty.selector, bob, REG_S, 3));
        _recover(alice, bob, 900);
        assertEq(token.balanceOf(alice, REG_D), 100, "nothing moved");
        assertFalse(token.isFrozen(alice), "nor frozen");
    }

    function testRecoveryBadInputReverts() public {
        vm.expectRevert(IPlatformSecurityToken7518.ZeroAddress.selector);
        _recover(address(0), bob, 900);
        vm.expectRevert(IPlatformSecurityToken7518.ZeroAddress.selector);
        _recover(alice, address(0), 900);
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityToken7518.RecoveryToItself.selector, alice));
        _recover(alice, alice, 900);
        vm.expectRevert(IOperations.OperationIdZero.selector);
        _recover(alice, bob, 0);
        assertFalse(token.isOperationExecuted(900), "id stays");
    }

    function testRecoveryOver32Partitions() public {
        for (uint256 id = 3; id <= 32; ++id) {
            vm.prank(issuer);
            token.addPartition(id, IPlatformSecurityToken7518.PartitionTerms(CAP, false, false));
            mint(alice, id, id);
        }
        _recover(alice, bob, 900);
        assertEq(token.balanceOf(bob, 32), 32, "last");
        assertEq(token.balanceOf(alice, 17), 0, "any");
    }

    function _recover(address lost, address replacement, uint256 opId) private {
        vm.prank(custodian);
        token.recoveryAddress(lost, replacement, opId);
    }
}
