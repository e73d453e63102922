// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC7518} from "../../src/interfaces/IERC7518.sol";
import {IERC7943MultiToken} from "../../src/interfaces/IERC7943MultiToken.sol";
import {IOperations} from "../../src/interfaces/IOperations.sol";
import {IPlatformSecurityToken7518} from "../../src/interfaces/IPlatformSecurityToken7518.sol";
import {IPlatformSecurityTokenErrors} from "../../src/interfaces/IPlatformSecurityTokenErrors.sol";
import {Vm} from "../Vm.sol";
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
        assertEq(token.lastRecoveryOf(alice), 900, "number");
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
        vm.recordLogs();
        _recover(alice, bob, 900);
        Vm.Log[] memory logs = vm.getRecordedLogs();
        for (uint256 i; i < logs.length; ++i) {
            assertTrue(logs[i].topics[0] != IERC7518.AddressFrozen.selector, "no news of the freeze");
        }
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
        bytes memory retired = abi.encodeWithSelector(IPlatformSecurityTokenErrors.AddressRetired.selector, alice, bob);
        vm.expectRevert(retired);
        vm.prank(officer);
        token.unFreeze(alice, "");
        vm.expectRevert(retired);
        _recover(alice, carol, 901);
        vm.expectRevert(retired);
        _recover(bob, alice, 901);
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.AddressIsFrozen.selector, alice));
        vm.prank(issuer);
        token.mintPage(902, REG_D, 0, page(alice, 1));
        freeze(alice);
        assertEq(token.successorOf(alice), bob, "a freeze keeps the successor");
    }

    function testRecoveryAddsToAWalletThatHoldsUnits() public {
        mint(bob, REG_D, 3);
        lock(alice, REG_D, 60, START + 10);
        _recover(alice, bob, 900);
        assertEq(token.balanceOf(bob, REG_D), 103, "both");
        assertEq(token.lockedBalanceOf(bob, REG_D), 60, "lock");
        assertEq(token.balanceOf(bob, REG_S), 7, "the other partition");
        assertTrue(token.isWhitelisted(bob, REG_D) && token.isWhitelisted(bob, REG_S), "listed");
    }

    /// @dev Dust that anybody can send to a listed wallet must not block its recovery.
    function testRecoveryIsNotBlockedByDust() public {
        whitelist(bob, REG_S);
        vm.prank(alice);
        token.safeTransferFrom(alice, bob, REG_S, 1, "");
        _recover(alice, bob, 900);
        assertEq(token.balanceOf(bob, REG_S), 7, "all");
    }

    function testTwoLostWalletsMergeIntoOne() public {
        mint(carol, REG_D, 50);
        lock(alice, REG_D, 20, START + 10);
        lock(alice, REG_D, 30, START + 20);
        lock(carol, REG_D, 5, START + 5);
        lock(carol, REG_D, 10, START + 20);
        lock(carol, REG_D, 15, START + 30);
        _recover(alice, bob, 900);
        vm.warp(START + 5);
        _recover(carol, bob, 901);
        IPlatformSecurityToken7518.Tranche[] memory tranches = token.tranchesOf(bob, REG_D);
        assertEq(tranches.length, 3, "times");
        assertEq(tranches[0].units, 20, "alice's");
        assertEq(tranches[1].units, 40, "of both");
        assertEq(tranches[2].units, 15, "carol's");
        assertEq(token.balanceOf(bob, REG_D), 150, "balance");
        assertEq(token.tranchesOf(carol, REG_D).length, 0, "nothing left");
        vm.warp(START + 30);
        assertEq(token.transferableBalance(bob, REG_D), 150, "and all of it ends");
    }

    function testMergeAboveSixteenReleaseTimesWaitsForARelease() public {
        mint(bob, REG_D, 1);
        lock(bob, REG_D, 1, START + 100);
        for (uint256 i = 1; i <= 16; ++i) {
            lock(alice, REG_D, 1, START + i);
        }
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.TooManyLocks.selector, bob, REG_D));
        _recover(alice, bob, 900);
        vm.prank(officer);
        token.releaseLock(901, alice, REG_D, 1, START + 16, START + 15);
        _recover(alice, bob, 902);
        assertEq(token.tranchesOf(bob, REG_D).length, 16, "full");
        assertEq(token.lockedBalanceOf(bob, REG_D), 17, "locked");
    }

    function testRecoveryMovesFrozenUnits() public {
        vm.startPrank(officer);
        token.setFrozenTokens(alice, REG_D, 80);
        token.setFrozenTokens(bob, REG_D, 5);
        vm.stopPrank();
        vm.expectEmit(address(token));
        emit IERC7943MultiToken.Frozen(alice, REG_D, 0);
        vm.expectEmit(address(token));
        emit IERC7943MultiToken.Frozen(bob, REG_D, 85);
        _recover(alice, bob, 900);
        assertEq(token.getFrozenTokens(alice, REG_D), 0, "none left");
        assertEq(token.getFrozenTokens(bob, REG_D), 85, "both orders");
        assertEq(token.transferableBalance(bob, REG_D), 15, "rest");
        _recover(bob, carol, 901);
        assertEq(token.getFrozenTokens(carol, REG_D), 85, "to an empty wallet");
        assertEq(token.transferableBalance(carol, REG_D), 15, "rest again");
    }

    function testFrozenUnitsOfTwoWalletsAddUpToAtMost96Bits() public {
        vm.startPrank(officer);
        token.setFrozenTokens(alice, REG_D, type(uint96).max);
        token.setFrozenTokens(bob, REG_D, 1);
        vm.stopPrank();
        _recover(alice, bob, 900);
        assertEq(token.getFrozenTokens(bob, REG_D), type(uint96).max, "the limit");
        assertEq(token.transferableBalance(bob, REG_D), 0, "all of it is held back");
    }

    function testReplayedRecoveryReverts() public {
        _recover(alice, bob, 900);
        vm.expectRevert(abi.encodeWithSelector(IOperations.OperationReplayed.selector, 900));
        _recover(alice, bob, 900);
        assertFalse(token.isOperationExecuted("recovery", 900), "stored with the wallet");
    }

    function testReinstateTakesAMistypedWalletBack() public {
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.AddressNotRetired.selector, stranger));
        _reinstate(stranger, 901);
        _recover(stranger, bob, 900);
        vm.expectEmit(address(token));
        emit IPlatformSecurityToken7518.AddressReinstated(stranger, bob);
        _reinstate(stranger, 901);
        assertTrue(token.isOperationExecuted("reinstate", 901), "number");
        assertEq(token.successorOf(stranger), address(0), "no successor");
        assertTrue(token.isFrozen(stranger), "frozen until compliance frees it");
        vm.prank(officer);
        token.unFreeze(stranger, "");
        mint(stranger, REG_D, 1);
        assertEq(token.balanceOf(stranger, REG_D), 1, "usable");
    }

    /// @dev The number stays in the account, so the old recovery cannot be sent a second time.
    function testReinstatedWalletRefusesItsOldRecoveries() public {
        _recover(alice, bob, 900);
        _reinstate(alice, 901);
        vm.expectRevert(abi.encodeWithSelector(IOperations.OperationReplayed.selector, 900));
        _recover(alice, bob, 900);
        vm.expectRevert(
            abi.encodeWithSelector(IPlatformSecurityTokenErrors.RecoveryOutOfOrder.selector, alice, 900, 899)
        );
        _recover(alice, carol, 899);
        _recover(bob, alice, 902);
        assertEq(token.balanceOf(alice, REG_D), 100, "back");
        assertTrue(token.isFrozen(alice), "still frozen");
    }

    /// @dev The slot of a reinstated wallet has no room for the number, so it moves aside and back.
    function testWalletCanBeRetiredReinstatedAndRetiredAgain() public {
        _recover(alice, bob, 900);
        _reinstate(alice, 901);
        assertEq(token.lastRecoveryOf(alice), 900, "kept aside");
        _recover(alice, carol, 950);
        assertEq(token.lastRecoveryOf(alice), 950, "the newer one");
        assertEq(token.successorOf(alice), carol, "the newer wallet");
        _reinstate(alice, 951);
        vm.expectRevert(abi.encodeWithSelector(IOperations.OperationReplayed.selector, 950));
        _recover(alice, carol, 950);
        vm.expectRevert(
            abi.encodeWithSelector(IPlatformSecurityTokenErrors.RecoveryOutOfOrder.selector, alice, 950, 900)
        );
        _recover(alice, bob, 900);
    }

    /// @dev The mark of a reinstated wallet stays with it and is not taken for one of the replacement.
    function testReinstatedWalletPassesNoNumberOn() public {
        _recover(alice, bob, 900);
        _reinstate(alice, 901);
        _recover(bob, alice, 902);
        vm.prank(officer);
        token.unFreeze(alice, "");
        _recover(alice, carol, 903);
        assertEq(token.lastRecoveryOf(carol), 0, "never recovered");
        assertEq(token.balanceOf(carol, REG_D), 100, "arrived");
        assertFalse(token.isFrozen(carol), "free, as alice was");
        mint(stranger, REG_D, 1);
        _recover(stranger, carol, 10);
        _recover(carol, nth(1), 11);
        assertEq(token.balanceOf(nth(1), REG_D), 101, "its own numbers begin anew");
    }

    /// @dev A reinstated replacement keeps the number of its own recovery.
    function testReplacementKeepsItsOwnNumber() public {
        _recover(stranger, carol, 900);
        _reinstate(stranger, 901);
        lock(alice, REG_D, 5, START + 10);
        _recover(alice, stranger, 902);
        assertEq(token.lastRecoveryOf(stranger), 900, "kept");
        assertTrue(token.isFrozen(stranger), "and its freeze");
        assertEq(token.lockedBalanceOf(stranger, REG_D), 5, "with what came");
    }

    function testLivingWalletHasNoSuccessor() public view {
        assertEq(token.successorOf(alice), address(0), "a holder");
        assertEq(token.lastRecoveryOf(alice), 0, "of no number");
        assertEq(token.successorOf(bob), address(0), "nobody");
    }

    function testReinstateNeedsCustody() public {
        _recover(alice, bob, 900);
        vm.expectRevert();
        vm.prank(officer);
        token.reinstateAddress(alice, 901);
    }

    function testRecoveryBadInputReverts() public {
        vm.expectRevert(IPlatformSecurityTokenErrors.ZeroAddress.selector);
        _recover(address(0), bob, 900);
        vm.expectRevert(IPlatformSecurityTokenErrors.ZeroAddress.selector);
        _recover(alice, address(0), 900);
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.RecoveryToItself.selector, alice));
        _recover(alice, alice, 900);
        vm.expectRevert(IOperations.OperationIdZero.selector);
        _recover(alice, bob, 0);
        vm.expectRevert(
            abi.encodeWithSelector(IPlatformSecurityTokenErrors.RecoveryOutOfOrder.selector, alice, 0, uint256(1) << 80)
        );
        _recover(alice, bob, 1 << 80);
        assertEq(token.lastRecoveryOf(alice), 0, "no number is kept");
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

    function _reinstate(address account, uint256 opId) private {
        vm.prank(custodian);
        token.reinstateAddress(account, opId);
    }

    function _recover(address lost, address replacement, uint256 opId) private {
        vm.prank(custodian);
        token.recoveryAddress(lost, replacement, opId);
    }
}
