// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {PlatformYieldDistributor} from "../../src/PlatformYieldDistributor.sol";
import {Roles} from "../../src/Roles.sol";
import {IPlatformYieldDistributor} from "../../src/interfaces/IPlatformYieldDistributor.sol";
import {HostileCoin} from "../hostile/HostileCoin.sol";
import {Campaign} from "./Campaign.sol";
import {DistributorHandler} from "./DistributorHandler.sol";

/// @dev Several distributions in one asset and one real token, with calls in any order.
contract DistributorInvariantTest is Campaign {
    HostileCoin private coin;
    PlatformYieldDistributor private distributor;
    DistributorHandler private handler;

    function setUp() public override {
        super.setUp();
        coin = new HostileCoin();
        distributor = new PlatformYieldDistributor(registry);
        handler = new DistributorHandler(token, distributor, coin);
        vm.prank(owner);
        registry.setRoles(address(handler), Roles.ALL);
    }

    function calls() internal view override returns (address, bytes4[] memory functions) {
        functions = new bytes4[](11);
        functions[0] = handler.create.selector;
        functions[1] = handler.payNextPage.selector;
        functions[2] = handler.payWrongPage.selector;
        functions[3] = handler.claim.selector;
        functions[4] = handler.claimPage.selector;
        functions[5] = handler.cancel.selector;
        functions[6] = handler.setPaused.selector;
        functions[7] = handler.freeze.selector;
        functions[8] = handler.unfreeze.selector;
        functions[9] = handler.recover.selector;
        functions[10] = handler.setMode.selector;
        return (address(handler), functions);
    }

    /// forge-config: default.invariant.runs = 32
    /// forge-config: default.invariant.depth = 256
    function invariantDistributions() public view {
        _assertPaidWithheldAndRemainingArePulled();
        _assertWithheldIsTheSumOfItsHolders();
        _assertTheAcceptedLinesAreTheDeclaredOnes();
        assertFalse(handler.paidAFrozenWallet(), "a frozen wallet was paid");
        assertFalse(handler.acceptedAWrongPage(), "a wrong page was accepted");
        assertFalse(handler.withheldInAnOutage(), "an outage of the asset withheld a payee");
    }

    function testCampaignReachesEveryKindOfCall() external {
        play(400);
        invariantDistributions();
        assertGe(handler.done("create"), 5, "lists declared");
        assertGe(handler.done("page"), 10, "pages paid");
        assertGe(handler.done("complete"), 3, "lists completed");
        assertGe(handler.done("wrong page"), 10, "wrong pages refused");
        assertGe(handler.done("outage"), 3, "pages refused in an outage of the asset");
        assertGe(handler.done("withhold"), 5, "pages with a withheld line");
        assertGe(handler.done("claim"), 3, "claims");
        assertGe(handler.done("claim page"), 3, "pages of claims");
        assertGe(handler.done("recover"), 5, "recoveries");
        assertGe(handler.done("cancel"), 2, "cancellations");
    }

    /// @dev The sum pulled equals paid, withheld, remaining and returned units: in the distributor, in the asset and in
    /// the handler's records.
    function _assertPaidWithheldAndRemainingArePulled() private view {
        uint256 escrow = 0;
        for (uint256 number = 0; number < handler.count(); ++number) {
            IPlatformYieldDistributor.Distribution memory state = distributor.distribution(handler.id(number));
            escrow += state.withheld;
            if (!state.cancelled) escrow += state.total - state.allocated;
            assertLe(state.allocated, state.total, "never more than declared");
            assertLe(state.withheld, state.allocated, "withheld is part of what was accepted");
        }
        assertEq(coin.balanceOf(address(distributor)), escrow, "escrow");
        assertEq(handler.pulled(), _paid() + escrow + handler.returned(), "pulled");
        assertEq(coin.balanceOf(address(handler)), handler.returned(), "returned");
    }

    function _assertWithheldIsTheSumOfItsHolders() private view {
        for (uint256 number = 0; number < handler.count(); ++number) {
            bytes32 id = handler.id(number);
            uint256 sum = 0;
            for (uint256 i = 0; i < handler.walletCount(); ++i) {
                sum += distributor.withheldOf(id, handler.wallets(i));
            }
            assertEq(sum, distributor.distribution(id).withheld, "withheld");
        }
    }

    function _assertTheAcceptedLinesAreTheDeclaredOnes() private view {
        for (uint256 number = 0; number < handler.count(); ++number) {
            IPlatformYieldDistributor.Distribution memory state = distributor.distribution(handler.id(number));
            bytes32[] memory lines = handler.list(number);
            uint256 sum = 0;
            for (uint256 i = 0; i < state.next; ++i) {
                sum += uint96(uint256(lines[i]));
            }
            assertEq(state.tail, handler.tailFrom(number, state.next), "tail");
            assertEq(state.allocated, sum, "allocated");
        }
    }

    function _paid() private view returns (uint256 paid) {
        for (uint256 i = 0; i < handler.walletCount(); ++i) {
            paid += coin.balanceOf(handler.wallets(i));
        }
    }
}
