// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {AgentRegistry} from "../../src/AgentRegistry.sol";
import {Roles} from "../../src/Roles.sol";
import {Rule144} from "../../src/Rule144.sol";
import {IRule144} from "../../src/interfaces/IRule144.sol";
import {Test} from "../Test.sol";
import {HolderStub} from "../hostile/HolderStub.sol";

/// @dev The rule without a real token: a stub asks and notifies.
abstract contract Rule144Fixture is Test {
    uint256 internal constant PARTITION = 1;
    uint256 internal constant START = 1_800_000_000;
    uint256 internal constant REPORTING = 184 days;
    uint256 internal constant OTHER = 366 days;
    address internal constant OFFICER = address(0xC0);
    address internal constant STRANGER = address(0x57A);
    address internal constant ALICE = address(0xA1);
    address internal constant BOB = address(0xB0);
    address internal constant CAROL = address(0xCA);

    AgentRegistry internal registry;
    HolderStub internal token;
    Rule144 internal rule;

    function setUp() public virtual {
        vm.warp(START);
        registry = new AgentRegistry(address(this), 0);
        registry.setRoles(OFFICER, Roles.COMPLIANCE);
        token = new HolderStub();
        rule = new Rule144(registry);
        vm.prank(OFFICER);
        rule.servePartition(address(token), PARTITION);
        token.setSupply(PARTITION, 1_000_000);
    }

    function _mint(address to, uint256 units) internal {
        vm.prank(address(token));
        rule.onMint(to, PARTITION, units);
    }

    function _transfer(address from, address to, uint256 units) internal {
        vm.prank(address(token));
        rule.onTransfer(from, to, PARTITION, units);
    }

    function _force(address from, address to, uint256 units) internal {
        vm.prank(address(token));
        rule.onForcedTransfer(from, to, PARTITION, units);
    }

    function _recover(address lost, address successor) internal {
        vm.prank(address(token));
        rule.onRecovery(lost, successor, PARTITION);
    }

    function _assertCheck(address from, uint256 units, bytes32 expected) internal {
        vm.prank(address(token));
        (bool allowed, bytes32 reason) = rule.check(from, BOB, PARTITION, units);
        assertEq(reason, expected, "reason");
        assertTrue(allowed == (expected == 0), "allowed");
    }

    function _setReporting(uint256 since) internal {
        vm.prank(OFFICER);
        rule.setIssuerStatus(address(token), IRule144.IssuerStatus(uint40(since), false));
    }

    function _setAffiliate(address holder) internal {
        vm.prank(OFFICER);
        rule.setAffiliate(address(token), holder, true);
    }

    function _earliest(address holder, uint256 units) internal view returns (uint256) {
        return rule.earliestTransferTime(address(token), holder, PARTITION, units);
    }

    function _volumeLeft(address holder) internal view returns (uint256) {
        return rule.volumeLeft(address(token), holder, PARTITION);
    }

    function _assertLots(address holder, uint256 free, uint256 lots, uint256 units) internal view {
        (uint256 freeUnits, IRule144.Lot[] memory list) = rule.lotsOf(address(token), holder, PARTITION);
        assertEq(freeUnits, free, "free");
        assertEq(list.length, lots, "lots");
        uint256 sum = free;
        for (uint256 i = 0; i < lots; ++i) {
            sum += list[i].units;
        }
        assertEq(sum, units, "units");
    }
}
