// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {PlatformYieldDistributor} from "../../src/PlatformYieldDistributor.sol";
import {DemoCoin} from "../../src/demo/DemoCoin.sol";
import {World} from "../World.sol";

/// @notice The figures of the distributor with a real token and an OpenZeppelin ERC-20, as receipts show them.
/// @dev A page in the middle of a list is measured, and the first one. The last one also completes the list.
contract DistributorGasTest is World {
    bytes32 private constant ID = "distribution";
    uint256 private constant PAGE = 100;
    uint256 private constant UNITS = 1000;

    DemoCoin private coin;
    PlatformYieldDistributor private distributor;
    bytes32[] private _lines;

    function setUp() public override {
        super.setUp();
        coin = new DemoCoin("Demo Dollar", "DUSD", 6);
        distributor = PlatformYieldDistributor(deployed("PlatformYieldDistributor", abi.encode(registry)));
        coin.mint(payer, 1e15);
        vm.prank(payer);
        coin.approve(address(distributor), type(uint256).max);
    }

    function testGasPageOfPayeesThatHoldTheAsset() public {
        _givePayeesTheAsset();
        _payFirstPage();
        _payMiddlePage();
        _record("payout_per_payee_with_asset", PAGE, 12_500);
    }

    function testGasFirstPageOfPayeesThatHoldTheAsset() public {
        _givePayeesTheAsset();
        _payFirstPage();
        _record("first_page_per_payee_with_asset", PAGE, 12_500);
    }

    /// @dev A list of 200 from its declaration to its last line, as the review measured it.
    function testGasWholeDistributionOfTwoPages() public {
        _givePayeesTheAsset();
        uint256 gas = _createOf(2 * PAGE);
        _pay(0, pageOf(0, PAGE, UNITS));
        gas += vm.snapshotGasLastCall("distributor_calls", "first_page_of_100_with_asset");
        _pay(PAGE, pageOf(PAGE, PAGE, UNITS));
        gas += vm.snapshotGasLastCall("distributor_calls", "last_page_of_100_with_asset");
        vm.snapshotValue("distributor", "create_and_two_pages_of_100", gas);
    }

    function testGasClaimOfManyPayees() public {
        _givePayeesTheAsset();
        for (uint256 i = 0; i < PAGE; ++i) {
            freeze(nth(i));
        }
        _payFirstPage();
        address[] memory accounts = new address[](PAGE);
        for (uint256 i = 0; i < PAGE; ++i) {
            accounts[i] = nth(i);
            vm.prank(officer);
            token.unFreeze(accounts[i], "");
        }
        distributor.batchClaimWithheld(ID, accounts);
        _record("batch_claim_per_payee", PAGE, 21_000);
    }

    function testGasPageOfPayeesNewToTheAsset() public {
        _payFirstPage();
        _payMiddlePage();
        _record("payout_per_payee_new_to_asset", PAGE, 29_600);
    }

    function testGasPageOfFrozenPayees() public {
        _payFirstPage();
        for (uint256 i = PAGE; i < 2 * PAGE; ++i) {
            freeze(nth(i));
        }
        _payMiddlePage();
        _record("withheld_per_payee", PAGE, 32_450);
    }

    function testGasOtherCalls() public {
        freeze(nth(0));
        uint256 create = _create();
        vm.snapshotValue("distributor", "create_distribution", create);
        assertLe(create, 211_700, "create_distribution");
        _pay(0, pageOf(0, PAGE, UNITS));
        vm.snapshotGasLastCall("distributor_calls", "first_page_of_100_new_to_asset");
        _pay(PAGE, pageOf(PAGE, PAGE, UNITS));
        _pay(2 * PAGE, pageOf(2 * PAGE, 1, UNITS));
        vm.snapshotGasLastCall("distributor_calls", "last_page_of_1");
        vm.prank(officer);
        token.unFreeze(nth(0), "");
        distributor.claimWithheld(ID, nth(0));
        vm.snapshotGasLastCall("distributor_calls", "claim_withheld");
        vm.prank(payer);
        distributor.declareAudit(ID, address(token), "audit");
        vm.snapshotGasLastCall("distributor_calls", "declare_audit");
    }

    function testGasCancel() public {
        _payFirstPage();
        vm.prank(payer);
        distributor.cancelDistribution(ID);
        vm.snapshotGasLastCall("distributor_calls", "cancel_distribution");
    }

    function _givePayeesTheAsset() private {
        for (uint256 i = 0; i < 2 * PAGE; ++i) {
            coin.mint(nth(i), 1);
        }
    }

    function _create() private returns (uint256) {
        return _createOf(2 * PAGE + 1);
    }

    function _createOf(uint256 count) private returns (uint256 gas) {
        bytes32[] memory lines = pageOf(0, count, UNITS);
        _lines = lines;
        vm.prank(payer);
        distributor.createDistribution(ID, address(token), address(coin), UNITS * count, count, _tailFrom(0), "audit");
        return vm.snapshotGasLastCall("distributor_calls", "create_distribution");
    }

    function _tailFrom(uint256 from) private view returns (bytes32 tail) {
        for (uint256 i = _lines.length; i > from; --i) {
            tail = keccak256(abi.encode(tail, _lines[i - 1]));
        }
    }

    function _pay(uint256 from, bytes32[] memory lines) private {
        bytes32 tail = _tailFrom(from + lines.length);
        vm.prank(payer);
        distributor.payoutForDistribution(ID, from, tail, lines);
    }

    function _payFirstPage() private {
        _create();
        _pay(0, pageOf(0, PAGE, UNITS));
    }

    function _payMiddlePage() private {
        _pay(PAGE, pageOf(PAGE, PAGE, UNITS));
    }

    function _record(string memory name, uint256 payees, uint256 goal) private {
        uint256 perPayee = vm.snapshotGasLastCall("distributor_calls", name) / payees;
        vm.snapshotValue("distributor", name, perPayee);
        assertLe(perPayee, goal, name);
    }
}
