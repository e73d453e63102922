// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {DemoCoin} from "../../src/demo/DemoCoin.sol";
import {IOperations} from "../../src/interfaces/IOperations.sol";
import {Vm} from "../Vm.sol";
import {World} from "../World.sol";

/// @notice Operation numbers: a kind executes each one once.
contract OperationsTest is World {
    uint256 private constant USED = 300;

    DemoCoin private coin;

    function setUp() public override {
        super.setUp();
        mint(alice, REG_D, 100);
        coin = new DemoCoin("Demo Dollar", "DUSD", 6);
        coin.mint(payer, 1000);
        vm.prank(payer);
        coin.approve(address(token), 1000);
        vm.prank(issuer);
        token.mintPage(USED, REG_D, 0, page(bob, 1));
    }

    function testReplayRevertsForEachKind() public {
        // `USED` was executed by `mint_page` only. Every other kind may execute it too, once.
        _first(issuer, abi.encodeCall(token.batchMint, (USED, REG_D, page(bob, 9))));
        _first(issuer, abi.encodeCall(token.batchLockTokens, (USED, REG_D, START + 1, page(bob, 1))));
        _first(issuer, _lockCall());
        freeze(alice);
        _first(custodian, abi.encodeCall(token.forceTransfer, (alice, bob, REG_D, 1, abi.encode(USED))));
        _first(custodian, abi.encodeCall(token.redeem, (USED, alice, REG_D, 1)));
        _first(officer, abi.encodeCall(token.releaseLock, (USED, bob, REG_D, 1, START + 1, 0)));
        _first(payer, abi.encodeWithSignature("payout(uint256,address,address,uint256)", USED, address(coin), bob, 1));
        _first(
            payer, abi.encodeWithSignature("batchPayout(uint256,address,bytes32[])", USED, address(coin), page(bob, 1))
        );
        _first(custodian, abi.encodeCall(token.recoveryAddress, (alice, carol, USED)));
        _first(custodian, abi.encodeCall(token.reinstateAddress, (alice, USED)));
        _replayed(issuer, abi.encodeCall(token.mintPage, (USED, REG_D, 0, page(bob, 1))));
        _replayed(issuer, abi.encodeCall(token.batchMint, (USED, REG_D, page(bob, 1))));
        _replayed(issuer, abi.encodeCall(token.batchLockTokens, (USED, REG_D, START + 1, page(bob, 1))));
        _replayed(issuer, _lockCall());
        _replayed(custodian, abi.encodeCall(token.forceTransfer, (alice, bob, REG_D, 1, abi.encode(USED))));
        _replayed(custodian, abi.encodeCall(token.recoveryAddress, (alice, carol, USED)));
        _replayed(custodian, abi.encodeCall(token.redeem, (USED, alice, REG_D, 1)));
        _replayed(officer, abi.encodeCall(token.releaseLock, (USED, bob, REG_D, 1, START + 1, 0)));
        _replayed(custodian, abi.encodeCall(token.reinstateAddress, (alice, USED)));
        _replayed(
            payer, abi.encodeWithSignature("payout(uint256,address,address,uint256)", USED, address(coin), bob, 1)
        );
        _replayed(
            payer, abi.encodeWithSignature("batchPayout(uint256,address,bytes32[])", USED, address(coin), page(bob, 1))
        );
    }

    function testOperationNumbersAreIndependent() public view {
        assertTrue(token.isOperationExecuted("mint_page", USED), "this");
        assertFalse(token.isOperationExecuted("mint_page", USED - 1), "before");
        assertFalse(token.isOperationExecuted("mint_page", USED + 1), "after");
        assertFalse(token.isOperationExecuted("mint_page", USED + 256), "another word");
        assertFalse(token.isOperationExecuted("mint_page", 0), "zero");
    }

    function testOperationNumberZeroReverts() public {
        vm.expectRevert(IOperations.OperationIdZero.selector);
        vm.prank(issuer);
        token.mintPage(0, REG_D, 0, page(bob, 1));
    }

    function testFuzzAnyOperationNumberIsExecutedOnce(uint256 opId) public {
        vm.assume(opId != 0 && opId != USED && opId != 1);
        vm.prank(issuer);
        token.mintPage(opId, REG_D, 0, page(bob, 1));
        assertTrue(token.isOperationExecuted("mint_page", opId), "spent");
        vm.expectRevert(abi.encodeWithSelector(IOperations.OperationReplayed.selector, opId));
        vm.prank(issuer);
        token.mintPage(opId, REG_D, 0, page(bob, 1));
    }

    /// @dev The platform relies on this: the payload hash covers the whole calldata, for every kind.
    function testFuzzPayloadHashIsTheHashOfTheCalldata(uint96 units, uint40 releaseAt) public {
        units = uint96(bound(units, 1, CAP / 2));
        releaseAt = uint40(bound(releaseAt, START + 1, START + 7305 days));
        bytes memory call = abi.encodeCall(token.mintPage, (7, REG_D, releaseAt, page(carol, units)));
        vm.recordLogs();
        vm.prank(issuer);
        (bool ok,) = address(token).call(call);
        assertTrue(ok, "minted");
        Vm.Log memory log = vm.getRecordedLogs()[0];
        assertEq(log.topics[0], IOperations.OperationExecuted.selector, "event");
        assertEq(log.topics[1], bytes32(uint256(7)), "id");
        assertEq(log.topics[2], bytes32("mint_page"), "kind");
        assertEq(log.data, abi.encode(keccak256(call)), "hash");
    }

    /// @dev An agent of another role cannot use up the number of a mint: that was possible with one bitmap for all.
    function testAPayoutCannotUseUpTheNumberOfAMint() public {
        vm.prank(payer);
        token.payout(301, address(coin), bob, 1);
        assertFalse(token.isOperationExecuted("mint_page", 301), "not the mint's");
        assertTrue(token.isOperationExecuted("payout", 301), "its own");
        vm.prank(issuer);
        token.mintPage(301, REG_D, 0, page(bob, 1));
    }

    function testKindsShareNoBit() public view {
        bytes32[10] memory kinds = [
            bytes32("mint_page"),
            "mint",
            "lock_page",
            "lock",
            "payout_page",
            "payout",
            "force_transfer",
            "redeem",
            "release_lock",
            "reinstate"
        ];
        for (uint256 i; i < 10; ++i) {
            assertTrue(token.isOperationExecuted(kinds[i], USED) == (i == 0), "only the kind that was executed");
        }
        assertFalse(token.isOperationExecuted("recovery", USED), "kept elsewhere");
    }

    function _lockCall() private view returns (bytes memory) {
        return
            abi.encodeWithSignature(
                "lockTokens(uint256,address,uint256,uint256,uint256)", USED, bob, REG_D, 1, START + 1
            );
    }

    function _first(address caller, bytes memory call) private {
        vm.prank(caller);
        (bool ok,) = address(token).call(call);
        assertTrue(ok, "first time");
    }

    function _replayed(address caller, bytes memory call) private {
        vm.prank(caller);
        (bool ok, bytes memory answer) = address(token).call(call);
        assertFalse(ok, "replay");
        assertEq(answer, abi.encodeWithSelector(IOperations.OperationReplayed.selector, USED), "why");
    }
}
