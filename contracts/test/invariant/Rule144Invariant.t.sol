// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {PlatformSecurityToken7518} from "../../src/PlatformSecurityToken7518.sol";
import {Roles} from "../../src/Roles.sol";
import {Rule144} from "../../src/Rule144.sol";
import {IPlatformSecurityToken7518} from "../../src/interfaces/IPlatformSecurityToken7518.sol";
import {IRule144} from "../../src/interfaces/IRule144.sol";
import {World} from "../World.sol";
import {Rule144Handler} from "./Rule144Handler.sol";

/// @dev The rule with a real token, with calls in any order.
contract Rule144InvariantTest is World {
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

    function targetContracts() public view returns (address[] memory) {
        return one(address(handler));
    }

    /// forge-config: default.invariant.runs = 64
    /// forge-config: default.invariant.depth = 128
    function invariantRule144() external view {
        for (uint256 i = 0; i < handler.walletCount(); ++i) {
            _assertLotsFollow(handler.wallets(i));
        }
        assertFalse(handler.youngUnitsLeft(), "units left within their holding period");
        assertFalse(handler.beyondVolume(), "an affiliate sold beyond its volume");
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
