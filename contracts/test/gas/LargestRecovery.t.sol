// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {PlatformSecurityToken7518} from "../../src/PlatformSecurityToken7518.sol";
import {Rule144} from "../../src/Rule144.sol";
import {IPlatformSecurityToken7518} from "../../src/interfaces/IPlatformSecurityToken7518.sol";
import {World} from "../World.sol";

/// @dev A recovery of 32 partitions with 16 locks each, of a frozen wallet. A transaction may use 16,777,216 gas (EIP-7825),
/// before refunds.
contract LargestRecoveryTest is World {
    uint256 private constant TRANSACTION_CAP = 16_777_216;
    uint256 private constant PARTITIONS = 32;

    function testLargestRecoveryFitsATransaction() public {
        _fill(false);
        _recoverAll();
    }

    function testLargestRecoveryWithRule144FitsATransaction() public {
        _fill(true);
        _recoverAll();
    }

    function testLargestRecoveryToAWalletWithLocksFitsATransaction() public {
        _fill(true);
        _lockUnitsOfBob();
        _recoverAll();
    }

    function testLargestRecoveryOfFrozenUnitsFitsATransaction() public {
        _fill(false);
        _lockUnitsOfBob();
        _freezeUnits();
        _recoverAll();
    }

    function testRecoveryAboveATransactionPassesWithoutTheModule() public {
        _fill(true);
        _lockUnitsOfBob();
        _freezeUnits();
        vm.prank(custodian);
        (bool ok,) =
            address(token).call{gas: TRANSACTION_CAP}(abi.encodeCall(token.recoveryAddress, (carol, bob, 9000)));
        assertFalse(ok, "all at once");
        vm.prank(officer);
        token.setRule144(address(0));
        _recoverAll();
    }

    /// @dev Carol has 16 units in each partition, each locked until another time, and is frozen.
    function _fill(bool ruled) private {
        IPlatformSecurityToken7518.PartitionTerms[] memory terms =
            new IPlatformSecurityToken7518.PartitionTerms[](PARTITIONS);
        for (uint256 i; i < PARTITIONS; ++i) {
            terms[i] = IPlatformSecurityToken7518.PartitionTerms(CAP, false, ruled);
        }
        vm.prank(issuer);
        token = PlatformSecurityToken7518(factory.deployToken(keccak256("off_largest"), "OFFL", CAP, terms));
        if (ruled) _serve();
        for (uint256 id = 1; id <= PARTITIONS; ++id) {
            mint(carol, id, 16);
            for (uint256 i = 1; i <= 16; ++i) {
                lock(carol, id, 1, START + i);
            }
        }
        freeze(carol);
    }

    function _serve() private {
        Rule144 rule = new Rule144(registry);
        vm.startPrank(officer);
        token.setRule144(address(rule));
        for (uint256 id = 1; id <= PARTITIONS; ++id) {
            rule.servePartition(address(token), id);
        }
        vm.stopPrank();
    }

    /// @dev The latest time, so that each of Carol's locks is inserted before it.
    function _lockUnitsOfBob() private {
        for (uint256 id = 1; id <= PARTITIONS; ++id) {
            mint(bob, id, 1);
            lock(bob, id, 1, START + 16);
        }
    }

    function _freezeUnits() private {
        vm.startPrank(officer);
        for (uint256 id = 1; id <= PARTITIONS; ++id) {
            token.setFrozenTokens(carol, id, 5);
        }
        vm.stopPrank();
    }

    function _recoverAll() private {
        vm.prank(custodian);
        token.recoveryAddress{gas: TRANSACTION_CAP}(carol, bob, 9000);
        for (uint256 id = 1; id <= PARTITIONS; ++id) {
            assertEq(token.tranchesOf(bob, id).length, 16, "all locks");
            assertGe(token.lockedBalanceOf(bob, id), 16, "of all units");
            assertEq(token.balanceOf(carol, id), 0, "nothing left");
        }
    }
}
