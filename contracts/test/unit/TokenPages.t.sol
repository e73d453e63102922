// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {DemoCoin} from "../../src/demo/DemoCoin.sol";
import {World} from "../World.sol";

/// @notice The largest pages for one transaction, and pages that run out of gas at any point.
contract TokenPagesTest is World {
    uint256 private constant MOST = 250;
    /// @dev EIP-7825: the gas limit of one transaction on mainnet.
    uint256 private constant TRANSACTION_CAP = 16_777_216;

    DemoCoin private coin;

    function setUp() public override {
        super.setUp();
        coin = new DemoCoin("Demo Dollar", "DUSD", 6);
        coin.mint(payer, 1e12);
        vm.prank(payer);
        coin.approve(address(token), type(uint256).max);
    }

    function testMintPageOf250HoldersFitsATransaction() public {
        bytes32[] memory lines = pageOf(0, MOST, 10);
        vm.prank(issuer);
        token.mintPage{gas: TRANSACTION_CAP}(1, REG_D, START + 1, lines);
        assertEq(token.totalSupply(), MOST * 10, "minted");
        vm.prank(issuer);
        token.batchMint{gas: TRANSACTION_CAP}(2, REG_D, lines);
        vm.prank(issuer);
        token.batchLockTokens{gas: TRANSACTION_CAP}(3, REG_D, START + 2, lines);
        assertEq(token.lockedBalanceOf(nth(MOST - 1), REG_D), 20, "locked");
        vm.prank(payer);
        token.batchPayout{gas: TRANSACTION_CAP}(4, address(coin), lines);
        assertEq(coin.balanceOf(nth(MOST - 1)), 10, "paid");
    }

    function testMintPageWithAnyGasIsAllOrNothing() public {
        bytes memory call = abi.encodeCall(token.mintPage, (1, REG_D, START + 1, pageOf(0, 8, 10)));
        for (uint256 gasGiven = 25_000; gasGiven < 420_000; gasGiven += 1777) {
            uint256 state = vm.snapshotState();
            bool ok = _call(issuer, call, gasGiven);
            assertTrue(token.isOperationExecuted("mint_page", 1) == ok, "id");
            assertEq(token.totalSupply(), ok ? 80 : 0, "supply");
            assertEq(token.lockedBalanceOf(nth(7), REG_D), ok ? 10 : 0, "last line");
            vm.revertToState(state);
        }
        assertTrue(_call(issuer, call, 420_000), "enough");
    }

    function testPayoutPageWithAnyGasIsAllOrNothing() public {
        bytes memory call =
            abi.encodeWithSignature("batchPayout(uint256,address,bytes32[])", 1, address(coin), pageOf(0, 8, 10));
        for (uint256 gasGiven = 25_000; gasGiven < 420_000; gasGiven += 1777) {
            uint256 state = vm.snapshotState();
            bool ok = _call(payer, call, gasGiven);
            assertTrue(token.isOperationExecuted("payout_page", 1) == ok, "id");
            assertEq(coin.balanceOf(payer), ok ? 1e12 - 80 : 1e12, "money");
            assertEq(coin.balanceOf(nth(7)), ok ? 10 : 0, "last line");
            vm.revertToState(state);
        }
        assertTrue(_call(payer, call, 420_000), "enough");
    }

    function testRecoveryWithAnyGasIsAllOrNothing() public {
        for (uint256 i = 1; i <= 16; ++i) {
            mint(alice, REG_D, 1);
            lock(alice, REG_D, 1, START + i);
        }
        bytes memory call = abi.encodeCall(token.recoveryAddress, (alice, bob, 900));
        for (uint256 gasGiven = 25_000; gasGiven < 620_000; gasGiven += 2777) {
            uint256 state = vm.snapshotState();
            bool ok = _call(custodian, call, gasGiven);
            address holder = ok ? bob : alice;
            assertEq(token.balanceOf(holder, REG_D), 16, "balance");
            assertEq(token.lockedBalanceOf(holder, REG_D), 16, "locks");
            assertEq(token.tranchesOf(holder, REG_D).length, 16, "tranches");
            assertTrue(token.isFrozen(alice) == ok, "freeze");
            vm.revertToState(state);
        }
        assertTrue(_call(custodian, call, 620_000), "enough");
    }

    function _call(address caller, bytes memory call, uint256 gasGiven) private returns (bool ok) {
        vm.prank(caller);
        (ok,) = address(token).call{gas: gasGiven}(call);
    }
}
