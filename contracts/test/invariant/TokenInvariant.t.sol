// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Roles} from "../../src/Roles.sol";
import {DemoCoin} from "../../src/demo/DemoCoin.sol";
import {IPlatformSecurityToken7518} from "../../src/interfaces/IPlatformSecurityToken7518.sol";
import {World} from "../World.sol";
import {TokenHandler} from "./TokenHandler.sol";

/// @notice Invariants of the token after any sequence of calls. No partition uses a module here; Rule 144 has its own test.
contract TokenInvariantTest is World {
    TokenHandler private handler;
    DemoCoin private coin;

    function setUp() public override {
        super.setUp();
        vm.prank(issuer);
        token.addPartition(3, IPlatformSecurityToken7518.PartitionTerms(100_000, false, false));
        coin = new DemoCoin("Demo Dollar", "DUSD", 6);
        handler = new TokenHandler(token, coin);
        vm.prank(owner);
        registry.setRoles(address(handler), Roles.ALL);
    }

    function targetContracts() public view returns (address[] memory targets) {
        targets = one(address(handler));
    }

    /// @dev One test for all invariants, because separate tests would repeat the same calls.
    function invariantToken() public view {
        _unitsAddUpUnderTheCaps();
        _everyCallKeptItsPromise();
        _payeesHaveWhatTheyWerePaid();
        // A broken lock stays broken, so checking one partition after each call finds it.
        _locksFitTheBalances(1 + handler.calls() % handler.PARTITIONS());
    }

    function afterInvariant() public view {
        _everyKindOfCallSucceeded();
        for (uint256 partition = 1; partition <= handler.PARTITIONS(); ++partition) {
            _locksFitTheBalances(partition);
        }
        for (uint256 i; i < handler.spentCount(); ++i) {
            TokenHandler.Spent memory spent = handler.spent(i);
            assertTrue(token.isOperationExecuted(spent.kind, spent.opId), "spent ids stay spent");
        }
    }

    /// @dev A run that reaches nothing proves nothing, so each kind of call must have succeeded in it.
    function _everyKindOfCallSucceeded() private view {
        bytes4[15] memory selectors = [
            token.mintPage.selector,
            token.batchMint.selector,
            bytes4(0x3b01bc4d),
            token.batchLockTokens.selector,
            token.setFrozenTokens.selector,
            token.safeTransferFrom.selector,
            token.safeBatchTransferFrom.selector,
            token.freezeAddress.selector,
            token.setCap.selector,
            token.recoveryAddress.selector,
            bytes4(0x62b6cf39),
            token.redeem.selector,
            token.redeemOwn.selector,
            token.releaseLock.selector,
            token.unpause.selector
        ];
        for (uint256 i; i < selectors.length; ++i) {
            assertGe(handler.done(selectors[i]), 1, vm.toString(uint256(uint32(selectors[i]))));
        }
        uint256 forced = handler.done(token.forceTransfer.selector) + handler.done(token.forcedTransfer.selector);
        assertGe(forced, 2, "forced transfers");
    }

    function _unitsAddUpUnderTheCaps() private view {
        uint256 total;
        for (uint256 partition = 1; partition <= handler.PARTITIONS(); ++partition) {
            uint256 held;
            for (uint256 a; a < handler.ACTORS(); ++a) {
                held += token.balanceOf(handler.actor(a), partition);
            }
            IPlatformSecurityToken7518.Partition memory state = token.partitionOf(partition);
            assertEq(held, state.supply, "balances and supply");
            assertEq(held, handler.minted(partition), "supply and what was minted");
            assertLe(state.supply, state.cap, "partition cap");
            total += held;
        }
        assertEq(total, token.totalSupply(), "total");
        assertLe(total, token.totalCap(), "total cap");
    }

    function _everyCallKeptItsPromise() private view {
        assertEq(bytes(handler.broken()), "", "broken");
    }

    function _payeesHaveWhatTheyWerePaid() private view {
        for (uint256 a; a < handler.ACTORS(); ++a) {
            assertEq(coin.balanceOf(handler.actor(a)), handler.paid(handler.actor(a)), "paid");
        }
        assertEq(coin.balanceOf(address(token)), 0, "the token holds no money");
    }

    function _locksFitTheBalances(uint256 partition) private view {
        for (uint256 a; a < handler.ACTORS(); ++a) {
            _checkLocks(handler.actor(a), partition);
        }
    }

    function _checkLocks(address holder, uint256 partition) private view {
        uint256 balance = token.balanceOf(holder, partition);
        uint256 locked = token.lockedBalanceOf(holder, partition);
        assertLe(locked, balance, "locked");
        assertEq(token.transferableBalance(holder, partition), balance - locked, "transferable");
        IPlatformSecurityToken7518.Tranche[] memory tranches = token.tranchesOf(holder, partition);
        assertLe(tranches.length, 16, "tranches");
        uint256 sum;
        uint256 last;
        for (uint256 i; i < tranches.length; ++i) {
            assertTrue(tranches[i].units != 0 && tranches[i].releaseAt > last, "sorted, none empty");
            last = tranches[i].releaseAt;
            sum += tranches[i].units;
        }
        assertLe(sum, balance, "all tranches on the books");
    }
}
