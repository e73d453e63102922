// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Roles} from "../../src/Roles.sol";
import {IAgentGated} from "../../src/interfaces/IAgentGated.sol";
import {IPlatformYieldDistributor} from "../../src/interfaces/IPlatformYieldDistributor.sol";
import {DistributorFixture} from "./DistributorFixture.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

contract DistributorPayTest is DistributorFixture {
    function testPayoutForDistributionOnePage() external {
        _createOf(3);
        bytes32[] memory lines = _lines(0, 3);
        bytes memory call = abi.encodeCall(distributor.payoutForDistribution, (ID, 0, lines));
        vm.expectEmit();
        emit IPlatformYieldDistributor.PagePaid(ID, 0, 3, 3 * AMOUNT, _roll(0, lines), keccak256(call));
        vm.expectEmit();
        emit IPlatformYieldDistributor.DistributionCompleted(ID);
        for (uint256 i = 0; i < 3; ++i) {
            vm.expectEmit();
            emit IERC20.Transfer(address(distributor), _holder(i), AMOUNT);
        }
        _pay(0, lines);
        for (uint256 i = 0; i < 3; ++i) {
            assertEq(coin.balanceOf(_holder(i)), AMOUNT, "balance of holder i");
        }
        _assertConserved(3 * AMOUNT, 0);
        assertEq(_state().rolled, _state().commitment, "rolled");
        assertEq(_state().next, 3, "next");
    }

    function testPayoutForDistributionSeveralPages() external {
        _createOf(7);
        _pay(0, _lines(0, 3));
        assertEq(_state().rolled, _roll(0, _lines(0, 3)), "rolled");
        _assertConserved(3 * AMOUNT, 0);
        _pay(3, _lines(3, 1));
        _assertConserved(4 * AMOUNT, 0);
        _pay(4, _lines(4, 3));
        _assertConserved(7 * AMOUNT, 0);
        assertEq(coin.balanceOf(address(distributor)), 0, "balance of");
    }

    function testPayoutForDistributionCallerWithoutRole() external {
        _createOf(1);
        registry.setRoles(STRANGER, Roles.ISSUER | Roles.CUSTODY | Roles.COMPLIANCE);
        bytes4 selector = distributor.payoutForDistribution.selector;
        vm.expectRevert(abi.encodeWithSelector(IAgentGated.NotAuthorized.selector, STRANGER, selector, Roles.PAYOUT));
        vm.prank(STRANGER);
        distributor.payoutForDistribution(ID, 0, _lines(0, 1));
    }

    function testPayoutForDistributionUnknown() external {
        vm.expectRevert(abi.encodeWithSelector(IPlatformYieldDistributor.UnknownDistribution.selector, ID));
        _pay(0, _lines(0, 1));
    }

    function testPayoutForDistributionCancelled() external {
        _createOf(2);
        vm.prank(PAYER);
        distributor.cancelDistribution(ID);
        vm.expectRevert(abi.encodeWithSelector(IPlatformYieldDistributor.DistributionClosed.selector, ID));
        _pay(0, _lines(0, 2));
    }

    function testPayoutForDistributionEmptyPage() external {
        _createOf(1);
        vm.expectRevert(abi.encodeWithSelector(IPlatformYieldDistributor.EmptyPage.selector));
        _pay(0, new bytes32[](0));
    }

    function testPayoutForDistributionSamePageAgain() external {
        _createOf(4);
        _pay(0, _lines(0, 2));
        vm.expectRevert(abi.encodeWithSelector(IPlatformYieldDistributor.PageAlreadyPaid.selector, ID, 0, 2));
        _pay(0, _lines(0, 2));
        vm.expectRevert(abi.encodeWithSelector(IPlatformYieldDistributor.PageAlreadyPaid.selector, ID, 1, 2));
        _pay(1, _lines(1, 2));
        _pay(2, _lines(2, 2));
        vm.expectRevert(abi.encodeWithSelector(IPlatformYieldDistributor.PageAlreadyPaid.selector, ID, 2, 4));
        _pay(2, _lines(2, 2));
        assertEq(coin.balanceOf(_holder(0)), AMOUNT, "balance of holder");
    }

    function testPayoutForDistributionOutOfOrder() external {
        _createOf(4);
        vm.expectRevert(abi.encodeWithSelector(IPlatformYieldDistributor.PageOutOfOrder.selector, ID, 2, 0));
        _pay(2, _lines(2, 2));
        vm.expectRevert(
            abi.encodeWithSelector(IPlatformYieldDistributor.PageOutOfOrder.selector, ID, type(uint256).max, 0)
        );
        _pay(type(uint256).max, _lines(2, 2));
    }

    function testPayoutForDistributionBeyondCount() external {
        _createOf(2);
        vm.expectRevert(abi.encodeWithSelector(IPlatformYieldDistributor.PageBeyondCount.selector, ID, 3, 2));
        _pay(0, _lines(0, 3));
        _pay(0, _lines(0, 2));
        vm.expectRevert(abi.encodeWithSelector(IPlatformYieldDistributor.PageBeyondCount.selector, ID, 3, 2));
        _pay(2, _lines(2, 1));
    }

    function testPayoutForDistributionBeyondTotal() external {
        _createOf(3);
        bytes32[] memory lines = _lines(0, 2);
        lines[1] = _line(_holder(1), 2 * AMOUNT + 1);
        vm.expectRevert(
            abi.encodeWithSelector(IPlatformYieldDistributor.PageBeyondTotal.selector, ID, 3 * AMOUNT + 1, 3 * AMOUNT)
        );
        _pay(0, lines);
    }

    function testPayoutForDistributionZeroAmount() external {
        _createOf(3);
        _pay(0, _lines(0, 1));
        bytes32[] memory lines = _lines(1, 2);
        lines[1] = _line(_holder(2), 0);
        vm.expectRevert(abi.encodeWithSelector(IPlatformYieldDistributor.ZeroAmount.selector, 2));
        _pay(1, lines);
    }

    function testPayoutForDistributionInvalidPayee() external {
        _createOf(3);
        _pay(0, _lines(0, 1));
        bytes32[] memory lines = _lines(1, 2);
        lines[1] = _line(address(0), AMOUNT);
        vm.expectRevert(abi.encodeWithSelector(IPlatformYieldDistributor.InvalidPayee.selector, 2, address(0)));
        _pay(1, lines);
        lines[1] = _line(address(distributor), AMOUNT);
        vm.expectRevert(
            abi.encodeWithSelector(IPlatformYieldDistributor.InvalidPayee.selector, 2, address(distributor))
        );
        _pay(1, lines);
    }

    function testPayoutForDistributionOtherList() external {
        _createOf(2);
        bytes32[] memory lines = _lines(0, 2);
        (lines[0], lines[1]) = (lines[1], lines[0]);
        bytes32 declared = _state().commitment;
        vm.expectRevert(
            abi.encodeWithSelector(IPlatformYieldDistributor.RollUpMismatch.selector, ID, declared, _roll(0, lines))
        );
        _pay(0, lines);
        _assertConserved(0, 0);
    }

    function testPayoutForDistributionOtherTotal() external {
        bytes32[] memory lines = _lines(0, 2);
        bytes32 commitment = _roll(0, lines);
        vm.prank(PAYER);
        distributor.createDistribution(ID, address(token), address(coin), 3 * AMOUNT, 2, commitment, bytes32(0));
        vm.expectRevert(
            abi.encodeWithSelector(IPlatformYieldDistributor.TotalMismatch.selector, ID, 3 * AMOUNT, 2 * AMOUNT)
        );
        _pay(0, lines);
    }

    function testPayoutForDistributionSameHolderTwice() external {
        bytes32[] memory lines = new bytes32[](2);
        lines[0] = _line(_holder(0), 1);
        lines[1] = _line(_holder(0), 2);
        _create(lines);
        _pay(0, lines);
        assertEq(coin.balanceOf(_holder(0)), 3, "balance of holder");
    }

    function testPayoutForDistributionLargestPage() external {
        _createOf(250);
        _pay(0, _lines(0, 250));
        _assertConserved(250 * AMOUNT, 0);
    }

    function testPayoutForDistributionPageTooLong() external {
        _createOf(257);
        vm.expectRevert(abi.encodeWithSelector(IPlatformYieldDistributor.PageTooLong.selector, 257));
        _pay(0, _lines(0, 257));
        _pay(0, _lines(0, 256));
    }

    function testPayoutForDistributionLastOf256Frozen() external {
        token.setFrozen(_holder(255), true);
        _createOf(256);
        _pay(0, _lines(0, 256));
        _assertConserved(255 * AMOUNT, AMOUNT);
        assertEq(distributor.withheldOf(ID, _holder(255)), AMOUNT, "withheld");
    }
}
