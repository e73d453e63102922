// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {PlatformSecurityToken7518} from "../../src/PlatformSecurityToken7518.sol";
import {Roles} from "../../src/Roles.sol";
import {Rule144} from "../../src/Rule144.sol";
import {IPlatformSecurityToken7518} from "../../src/interfaces/IPlatformSecurityToken7518.sol";
import {IRule144} from "../../src/interfaces/IRule144.sol";
import {Campaign} from "./Campaign.sol";
import {Rule144Handler} from "./Rule144Handler.sol";

/// @dev The rule with a real token, with calls in any order.
contract Rule144InvariantTest is Campaign {
    Rule144 private rule;
    Rule144Handler private handler;

    function setUp() public override {
        super.setUp();
        rule = new Rule144(registry);
        IPlatformSecurityToken7518.PartitionTerms[] memory terms = twoPartitions();
        terms[0].rule144 = true;
        vm.prank(issuer);
        token = PlatformSecurityToken7518(factory.deployToken(keccak256("off_144"), "OFF144", CAP, terms));
        handler = new Rule144Handler(token, rule);
        vm.prank(owner);
        registry.setRoles(address(handler), Roles.ALL);
        vm.startPrank(officer);
        token.setRule144(address(rule));
        rule.servePartition(address(token), handler.PARTITION());
        vm.stopPrank();
    }

    function calls() internal view override returns (address, bytes4[] memory functions) {
        functions = new bytes4[](8);
        functions[0] = handler.mint.selector;
        functions[1] = handler.transfer.selector;
        functions[2] = handler.force.selector;
        functions[3] = handler.redeem.selector;
        functions[4] = handler.recover.selector;
        functions[5] = handler.setAffiliate.selector;
        functions[6] = handler.setReporting.selector;
        functions[7] = handler.removeLegend.selector;
        return (address(handler), functions);
    }

    /// forge-config: default.invariant.runs = 64
    /// forge-config: default.invariant.depth = 128
    function invariantRule144() public view {
        for (uint256 i = 0; i < handler.walletCount(); ++i) {
            _assertLotsFollow(handler.wallets(i));
        }
        assertFalse(handler.youngUnitsLeft(), "units left within their holding period");
        assertFalse(handler.beyondVolume(), "an affiliate sold beyond its volume");
    }

    function testCampaignReachesEveryKindOfCall() external {
        play(300);
        invariantRule144();
        assertGe(handler.done("mint"), 20, "mints");
        assertGe(handler.done("transfer"), 15, "transfers");
        assertGe(handler.done("affiliate transfer"), 5, "transfers of affiliates");
        assertGe(handler.done("force"), 10, "forced transfers");
        assertGe(handler.done("redeem"), 15, "redemptions");
        assertGe(handler.done("recover"), 10, "recoveries");
        assertGe(handler.done("remove legend"), 5, "legends removed");
    }

    function _assertLotsFollow(address holder) private view {
        (uint256 free, IRule144.Lot[] memory lots) = rule.lotsOf(address(token), holder, handler.PARTITION());
        uint256 units = free;
        for (uint256 i = 0; i < lots.length; ++i) {
            units += lots[i].units;
        }
        assertEq(units, token.balanceOf(holder, handler.PARTITION()), "lots follow the balance");
    }
}
