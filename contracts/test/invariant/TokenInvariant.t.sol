// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Roles} from "../../src/Roles.sol";
import {DemoCoin} from "../../src/demo/DemoCoin.sol";
import {IPlatformSecurityToken7518} from "../../src/interfaces/IPlatformSecurityToken7518.sol";
import {Campaign} from "./Campaign.sol";
import {TokenHandler} from "./TokenHandler.sol";

/// @notice Invariants of the token after any sequence of calls. No partition uses a module here; Rule 144 has its own test.
contract TokenInvariantTest is Campaign {
    /// @dev A run of 500 steps makes about 700 calls of the token, one that forge has cut down few.
    uint256 private constant FULL_RUN = 500;

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

    function calls() internal view override returns (address, bytes4[] memory functions) {
        functions = new bytes4[](24);
        functions[0] = handler.mintPage.selector;
        functions[1] = handler.batchMint.selector;
        functions[2] = handler.lock.selector;
        functions[3] = handler.batchLock.selector;
        functions[4] = handler.unlock.selector;
        functions[5] = handler.setFrozenTokens.selector;
        functions[6] = handler.transfer.selector;
        functions[7] = handler.batchTransfer.selector;
        functions[8] = handler.forceTransfer.selector;
        functions[9] = handler.freeze.selector;
        functions[10] = handler.unFreeze.selector;
        functions[11] = handler.whitelist.selector;
        functions[12] = handler.restrict.selector;
        functions[13] = handler.setCap.selector;
        functions[14] = handler.recover.selector;
        functions[15] = handler.redeem.selector;
        functions[16] = handler.redeemOwn.selector;
        functions[17] = handler.releaseLock.selector;
        functions[18] = handler.pause.selector;
        functions[19] = handler.reinstate.selector;
        functions[20] = handler.tryRetired.selector;
        functions[21] = handler.payout.selector;
        functions[22] = handler.replay.selector;
        functions[23] = handler.pass.selector;
        return (address(handler), functions);
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
        for (uint256 partition = 1; partition <= handler.PARTITIONS(); ++partition) {
            _locksFitTheBalances(partition);
        }
        for (uint256 i; i < handler.spentCount(); ++i) {
            TokenHandler.Spent memory spent = handler.spent(i);
            assertTrue(token.isOperationExecuted(spent.kind, spent.opId), "spent ids stay spent");
        }
        // A failing run is cut down to the calls that fail, which reach little.
        if (handler.calls() < FULL_RUN) return;
        _reached(1);
        uint256 mints = handler.done(token.mintPage.selector) + handler.done(token.batchMint.selector);
        assertGe(mints, 10, "mints in a run");
        assertGe(handler.done(token.safeTransferFrom.selector), 3, "transfers in a run");
        assertGe(handler.done(token.safeBatchTransferFrom.selector), 3, "batches in a run");
    }

    function testCampaignReachesEveryKindOfCall() external {
        play(600);
        invariantToken();
        afterInvariant();
        _reached(4);
        assertGe(handler.calls(), FULL_RUN, "such a run is taken for a full one");
    }

    /// @dev Each function of the token that changes its state took effect at least so often.
    function _reached(uint256 least) private view {
        bytes4[24] memory selectors = [
            token.mintPage.selector,
            token.batchMint.selector,
            token.batchWhitelist.selector,
            // lockTokens, of the standard and with an operation number
            bytes4(0x5783f8e7),
            bytes4(0x3b01bc4d),
            token.batchLockTokens.selector,
            token.unlockToken.selector,
            token.releaseLock.selector,
            token.setFrozenTokens.selector,
            token.safeTransferFrom.selector,
            token.safeBatchTransferFrom.selector,
            token.freezeAddress.selector,
            token.unFreeze.selector,
            token.restrictTransfer.selector,
            token.removeRestriction.selector,
            token.pause.selector,
            token.unpause.selector,
            token.setCap.selector,
            token.recoveryAddress.selector,
            token.reinstateAddress.selector,
            token.redeem.selector,
            token.redeemOwn.selector,
            token.setHolderRedemption.selector,
            // batchPayout with an operation number
            bytes4(0x62b6cf39)
        ];
        for (uint256 i; i < selectors.length; ++i) {
            assertGe(handler.done(selectors[i]), least, vm.toString(uint256(uint32(selectors[i]))));
        }
        uint256 forced = handler.done(token.forceTransfer.selector) + handler.done(token.forcedTransfer.selector);
        assertGe(forced, least, "forced transfers");
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
