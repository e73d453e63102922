// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {PlatformSecurityToken7518} from "../../src/PlatformSecurityToken7518.sol";
import {DemoCoin} from "../../src/demo/DemoCoin.sol";
import {IPlatformSecurityToken7518} from "../../src/interfaces/IPlatformSecurityToken7518.sol";
import {World} from "../World.sol";

/// @notice The figures of the token and its factory. Under isolate each call is a transaction of its own, so a
/// snapshot equals a receipt. Pages have 100 holders; `perHolder` divides, base cost of the transaction included.
/// @dev A real contract has executed operations before: id 1 is spent in `setUp`, so that the bitmap word of the numbers 0 to 15
/// exists.
contract TokenGasTest is World {
    uint256 private constant PAGE = 100;
    uint256 private constant UNITS = 1000;

    DemoCoin private coin;

    function setUp() public override {
        super.setUp();
        mint(makeAddr("first holder"), REG_D, 1);
        coin = new DemoCoin("Demo Dollar", "DUSD", 6);
        coin.mint(payer, 1e15);
        vm.prank(payer);
        coin.approve(address(token), type(uint256).max);
    }

    function testGasMintPage() public {
        bytes32[] memory lines = pageOf(0, PAGE, UNITS);
        uint256 opId = nextOpId();
        vm.prank(issuer);
        token.mintPage(opId, REG_D, 0, lines);
        _record("mint_whitelist_per_holder", PAGE, 29_000);
    }

    function testGasMintPageWithLock() public {
        bytes32[] memory lines = pageOf(0, PAGE, UNITS);
        uint256 opId = nextOpId();
        vm.prank(issuer);
        token.mintPage(opId, REG_D, START + 365 days, lines);
        _record("mint_whitelist_lock_per_holder", PAGE, 31_400);
    }

    function testGasBatchMint() public {
        bytes32[] memory lines = pageOf(0, PAGE, UNITS);
        for (uint256 i; i < PAGE; ++i) {
            whitelist(nth(i), REG_D);
        }
        uint256 opId = nextOpId();
        vm.prank(issuer);
        token.batchMint(opId, REG_D, lines);
        _record("mint_listed_per_holder", PAGE, 31_700);
    }

    function testGasTransfer() public {
        mint(alice, REG_D, UNITS);
        whitelist(bob, REG_D);
        vm.prank(alice);
        token.safeTransferFrom(alice, bob, REG_D, UNITS / 2, "");
        _record("transfer", 1, 50_000);
    }

    function testGasFreeze() public {
        vm.prank(officer);
        token.freezeAddress(alice, "");
        _record("freeze", 1, 55_300);
    }

    /// @dev A holder in the home partition has a slot already, where the freeze is stored.
    function testGasFreezeOfAHolder() public {
        mint(alice, REG_D, UNITS);
        vm.prank(officer);
        token.freezeAddress(alice, "");
        _record("freeze_holder", 1, 55_300);
    }

    function testGasForcedTransfer() public {
        mint(alice, REG_D, UNITS);
        whitelist(bob, REG_D);
        freeze(alice);
        bytes memory data = abi.encode(nextOpId());
        vm.prank(custodian);
        token.forceTransfer(alice, bob, REG_D, UNITS / 2, data);
        _record("forced_transfer_with_op_id", 1, 60_000);
    }

    function testGasRecoveryOfAListedWallet() public {
        _onePartitionToken();
        whitelist(bob, REG_D);
        _recover("recovery_replacement_listed", 71_500);
    }

    function testGasRecoveryAfterFreeze() public {
        _onePartitionToken();
        freeze(alice);
        _recover("recovery_lost_frozen_before", 90_000);
    }

    function testGasRecoveryOfAListedWalletAfterFreeze() public {
        _onePartitionToken();
        freeze(alice);
        whitelist(bob, REG_D);
        _recover("recovery_both", 75_500);
    }

    /// @dev The home partition of a token with two: the empty second one is read and written, too.
    function testGasRecoveryInATokenOfTwoPartitions() public {
        mint(alice, REG_D, UNITS);
        freeze(alice);
        _recover("two_partitions_recovery_lost_frozen", 90_000);
    }

    /// @dev Outside the home partition a holder's freeze needs a slot of its own.
    function testGasInTheSecondPartition() public {
        bytes32[] memory lines = pageOf(0, PAGE, UNITS);
        uint256 opId = nextOpId();
        vm.prank(issuer);
        token.mintPage(opId, REG_S, 0, lines);
        _record("second_partition_mint_whitelist_per_holder", PAGE, 29_000);
        mint(alice, REG_S, UNITS);
        whitelist(bob, REG_S);
        vm.prank(alice);
        token.safeTransferFrom(alice, bob, REG_S, UNITS / 2, "");
        _record("second_partition_transfer", 1, 50_600);
    }

    function testGasRecoveryInTheSecondPartition() public {
        mint(alice, REG_S, UNITS);
        freeze(alice);
        _recover("second_partition_recovery_lost_frozen", 94_000);
    }

    function testGasForcedTransferInTheSecondPartition() public {
        mint(alice, REG_S, UNITS);
        whitelist(bob, REG_S);
        freeze(alice);
        bytes memory data = abi.encode(nextOpId());
        vm.prank(custodian);
        token.forceTransfer(alice, bob, REG_S, UNITS / 2, data);
        _record("second_partition_forced_transfer", 1, 60_600);
    }

    function testGasBatchLock() public {
        bytes32[] memory lines = pageOf(0, PAGE, UNITS);
        uint256 opId = nextOpId();
        vm.prank(issuer);
        token.mintPage(opId, REG_D, 0, lines);
        opId = nextOpId();
        vm.prank(issuer);
        token.batchLockTokens(opId, REG_D, START + 365 days, lines);
        _record("lock_per_holder", PAGE, 8671);
    }

    function testGasPayoutToHoldersOfTheAsset() public {
        bytes32[] memory lines = pageOf(0, PAGE, UNITS);
        for (uint256 i; i < PAGE; ++i) {
            coin.mint(nth(i), 1);
        }
        _pay(lines);
        _record("payout_payee_holds_asset", PAGE, 12_500);
    }

    function testGasPayoutToNewHoldersOfTheAsset() public {
        _pay(pageOf(0, PAGE, UNITS));
        _record("payout_payee_new_to_asset", PAGE, 29_650);
    }

    function testGasDeploy() public {
        IPlatformSecurityToken7518.PartitionTerms[] memory terms = _oneTerm();
        vm.prank(issuer);
        factory.deployToken(keccak256("off_2"), "OFF2", CAP, terms);
        _record("deploy_with_caps", 1, 200_000);
        vm.prank(issuer);
        factory.deployToken(keccak256("off_2"), "OFF2", CAP, terms);
        _record("deploy_repeated", 1, 35_000);
    }

    function _oneTerm() private pure returns (IPlatformSecurityToken7518.PartitionTerms[] memory terms) {
        terms = new IPlatformSecurityToken7518.PartitionTerms[](1);
        terms[0] = IPlatformSecurityToken7518.PartitionTerms(CAP, false, false);
    }

    function _onePartitionToken() private {
        vm.prank(issuer);
        token = PlatformSecurityToken7518(factory.deployToken(keccak256("off_recovery"), "OFFR", CAP, _oneTerm()));
        mint(alice, REG_D, UNITS);
    }

    function _recover(string memory name, uint256 goal) private {
        uint256 opId = nextOpId();
        vm.prank(custodian);
        token.recoveryAddress(alice, bob, opId);
        _record(name, 1, goal);
    }

    function _pay(bytes32[] memory lines) private {
        uint256 opId = nextOpId();
        vm.prank(payer);
        token.batchPayout(opId, address(coin), lines);
    }

    /// @dev Records the last call's gas per holder and holds it to its goal.
    function _record(string memory name, uint256 holders, uint256 goal) private {
        uint256 gasUsed = vm.snapshotGasLastCall("token_calls", name);
        vm.snapshotValue("token", name, gasUsed / holders);
        assertLe(gasUsed / holders, goal, name);
    }
}
