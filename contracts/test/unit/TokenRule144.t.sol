// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IPlatformSecurityToken7518} from "../../src/interfaces/IPlatformSecurityToken7518.sol";
import {IPlatformSecurityTokenErrors} from "../../src/interfaces/IPlatformSecurityTokenErrors.sol";
import {IRule144} from "../../src/interfaces/IRule144.sol";
import {World} from "../World.sol";
import {ModuleStub} from "../mocks/ModuleStub.sol";

/// @notice The token's calls to the Rule 144 module. The module has its own tests.
contract TokenRule144Test is World {
    uint256 private constant FLAGGED = 3;

    ModuleStub private module;

    function setUp() public override {
        super.setUp();
        module = new ModuleStub();
        vm.prank(issuer);
        token.addPartition(FLAGGED, IPlatformSecurityToken7518.PartitionTerms(CAP, false, true));
        _set(address(module));
        mint(alice, FLAGGED, 100);
        whitelist(bob, FLAGGED);
    }

    function testSetRule144NamesTheModule() public {
        vm.expectEmit(address(token));
        emit IPlatformSecurityToken7518.Rule144Changed(address(token));
        _set(address(token));
        assertEq(token.rule144(), address(token), "module");
    }

    function testSetRule144RefusesAnAccountWithoutCode() public {
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.NotAContract.selector, alice));
        _set(alice);
    }

    function testMintReportsEachLine() public {
        assertEq(module.heard(), 1, "one line");
        assertEq(module.last(), abi.encodeCall(IRule144.onMint, (alice, FLAGGED, 100)), "what it heard");
        uint256 opId = nextOpId();
        vm.prank(issuer);
        token.mintPage(opId, FLAGGED, 0, pageOf(0, 3, 5));
        assertEq(module.heard(), 4, "three more");
    }

    function testTransferAsksAndReports() public {
        _transfer(30);
        assertEq(module.last(), abi.encodeCall(IRule144.onTransfer, (alice, bob, FLAGGED, 30)), "what it heard");
        _transfer(0);
        assertEq(module.heard(), 2, "nothing moved, nothing told");
    }

    function testTransferRefusedWithTheModulesReason() public {
        module.answer(false, "rule144-holding-period");
        _expectRefused(1, "rule144-holding-period");
        module.answer(false, 0);
        _expectRefused(1, "rule144");
    }

    function testTransferAndMintWithoutModuleRevert() public {
        _set(address(0));
        _expectRefused(1, "rule144_unset");
        (, bytes32 reason) = token.canTransfer(address(0), bob, FLAGGED, 1, "");
        assertEq(reason, "rule144_unset", "mint answer");
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.Rule144Unset.selector, FLAGGED));
        vm.prank(issuer);
        token.mintPage(900, FLAGGED, 0, page(bob, 1));
    }

    function testForcedTransferReportsButDoesNotAsk() public {
        module.answer(false, "rule144-holding-period");
        freeze(alice);
        vm.prank(custodian);
        token.forceTransfer(alice, carol, FLAGGED, 40, "");
        assertEq(module.last(), abi.encodeCall(IRule144.onForcedTransfer, (alice, carol, FLAGGED, 40)), "told");
        freeze(carol);
        vm.prank(custodian);
        token.forceTransfer(carol, bob, FLAGGED, 10, "");
        assertEq(module.last(), abi.encodeCall(IRule144.onForcedTransfer, (carol, bob, FLAGGED, 10)), "follows on");
    }

    function testForcedTransferOfReceivedUnitsIsReported() public {
        _transfer(30);
        freeze(bob);
        vm.prank(custodian);
        token.forceTransfer(bob, carol, FLAGGED, 30, "");
        assertEq(module.last(), abi.encodeCall(IRule144.onForcedTransfer, (bob, carol, FLAGGED, 30)), "told");
    }

    function testForcedTransferAndRecoveryDoNotDependOnAModule() public {
        _set(address(0));
        freeze(alice);
        vm.startPrank(custodian);
        token.forceTransfer(alice, carol, FLAGGED, 40, "");
        token.recoveryAddress(carol, bob, 900);
        vm.stopPrank();
        assertEq(token.balanceOf(bob, FLAGGED), 40, "moved");
        assertEq(module.heard(), 1, "not told");
    }

    function testRecoveryReportsEachFlaggedPartition() public {
        vm.prank(custodian);
        token.recoveryAddress(alice, bob, 900);
        assertEq(module.heard(), 2, "only the flagged one");
        assertEq(module.last(), abi.encodeCall(IRule144.onRecovery, (alice, bob, FLAGGED)), "told");
        vm.prank(custodian);
        token.recoveryAddress(stranger, carol, 901);
        assertEq(module.heard(), 3, "also for an empty wallet, whose mark must follow");
    }

    function testOtherPartitionsNeverCallTheModule() public {
        module.answer(false, "rule144-holding-period");
        mint(alice, REG_D, 10);
        whitelist(bob, REG_D);
        vm.prank(alice);
        token.safeTransferFrom(alice, bob, REG_D, 10, "");
        freeze(bob);
        vm.prank(custodian);
        token.forceTransfer(bob, carol, REG_D, 5, "");
        assertEq(module.heard(), 1, "nothing");
    }

    function testModuleThatAllowsDoesNotOverruleTheToken() public {
        lock(alice, FLAGGED, 60, START + 10 days);
        _expectRefused(101, "insufficient_balance");
        _expectRefused(41, "locked");
        (bool allowed,) = token.canTransfer(alice, bob, FLAGGED, 40, "");
        assertTrue(allowed, "unlocked units");
    }

    function _set(address module_) private {
        vm.prank(officer);
        token.setRule144(module_);
    }

    function _transfer(uint256 units) private {
        vm.prank(alice);
        token.safeTransferFrom(alice, bob, FLAGGED, units, "");
    }

    function _expectRefused(uint256 units, bytes32 reason) private {
        (bool allowed, bytes32 given) = token.canTransfer(alice, bob, FLAGGED, units, "");
        assertFalse(allowed, "refused");
        assertEq(given, reason, "reason");
        vm.expectRevert(
            abi.encodeWithSelector(
                IPlatformSecurityTokenErrors.TransferRefused.selector, alice, bob, FLAGGED, units, reason
            )
        );
        _transfer(units);
    }
}
