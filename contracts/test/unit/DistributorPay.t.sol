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
        bytes memory call = abi.encodeCall(distributor.payoutForDistribution, (ID, 0, 0, lines));
        vm.expectEmit();
        emit IPlatformYieldDistributor.PagePaid(ID, 0, 3, 3 * AMOUNT, 0, keccak256(call));
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
        assertEq(_state().tail, bytes32(0), "tail");
        assertEq(_state().next, 3, "next");
    }

    function testPayoutForDistributionSeveralPages() external {
        _createOf(7);
        assertEq(_state().tail, _roll(0, _lines(0, 7)), "the declared hash");
        _pay(0, _lines(0, 3));
        assertEq(_state().tail, _roll(0, _lines(3, 4)), "the lines behind the page");
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
        distributor.payoutForDistribution(ID, 0, 0, _lines(0, 1));
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
        _createFor(_lines(0, 3), 2 * AMOUNT - 1, 3);
        vm.expectRevert(
            abi.encodeWithSelector(IPlatformYieldDistributor.PageBeyondTotal.selector, ID, 2 * AMOUNT, 2 * AMOUNT - 1)
        );
        _pay(0, _lines(0, 2));
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

    /// @dev A wrong page is refused before it pays, on the first page as on the last, and with any tail that was ever right.
    function _expectNotDeclared(uint256 from, bytes32 tail, bytes32[] memory lines) private {
        vm.expectRevert(
            abi.encodeWithSelector(
                IPlatformYieldDistributor.PageNotDeclared.selector, ID, from, _tailFrom(from), _roll(tail, lines)
            )
        );
        _payWith(from, tail, lines);
    }

    function testPayoutForDistributionSwappedLines() external {
        _createOf(4);
        bytes32[] memory lines = _lines(0, 2);
        (lines[0], lines[1]) = (lines[1], lines[0]);
        _expectNotDeclared(0, _tailFrom(2), lines);
        _pay(0, _lines(0, 2));
        lines = _lines(2, 2);
        (lines[0], lines[1]) = (lines[1], lines[0]);
        _expectNotDeclared(2, 0, lines);
        _assertConserved(2 * AMOUNT, 0);
    }

    function testPayoutForDistributionTamperedLine() external {
        _createOf(4);
        bytes32[] memory lines = _lines(0, 2);
        lines[1] = _line(_holder(1), AMOUNT + 1);
        _expectNotDeclared(0, _tailFrom(2), lines);
        lines[1] = _line(STRANGER, AMOUNT);
        _expectNotDeclared(0, _tailFrom(2), lines);
        _assertConserved(0, 0);
    }

    /// @dev One line that takes the whole escrow: what a stolen payout key would send.
    function testPayoutForDistributionWholeEscrowToOne() external {
        _createOf(4);
        bytes32[] memory lines = new bytes32[](1);
        lines[0] = _line(STRANGER, 4 * AMOUNT);
        for (uint256 behind = 0; behind <= 4; ++behind) {
            _expectNotDeclared(0, _tailFrom(behind), lines);
        }
        _assertConserved(0, 0);
        assertEq(coin.balanceOf(STRANGER), 0, "thief");
    }

    function testPayoutForDistributionOmittedOrRepeatedLine() external {
        _createOf(4);
        bytes32[] memory lines = new bytes32[](2);
        (lines[0], lines[1]) = (_lines(0, 1)[0], _lines(2, 1)[0]);
        _expectNotDeclared(0, _tailFrom(2), lines);
        _expectNotDeclared(0, _tailFrom(3), lines);
        (lines[0], lines[1]) = (_lines(0, 1)[0], _lines(0, 1)[0]);
        _expectNotDeclared(0, _tailFrom(1), lines);
    }

    function testPayoutForDistributionWrongTail() external {
        _createOf(4);
        _expectNotDeclared(0, _tailFrom(1), _lines(0, 2));
        _expectNotDeclared(0, 0, _lines(0, 2));
        _expectNotDeclared(0, _tailFrom(0), _lines(0, 2));
    }

    /// @dev The declared number of lines is smaller than that of the list: its last page has a tail.
    function testPayoutForDistributionListLongerThanItsCount() external {
        _createFor(_lines(0, 3), 3 * AMOUNT, 2);
        vm.expectRevert(abi.encodeWithSelector(IPlatformYieldDistributor.CountMismatch.selector, ID, 2, 2));
        _pay(0, _lines(0, 2));
        _assertConserved(0, 0);
    }

    function testPayoutForDistributionListShorterThanItsCount() external {
        _createFor(_lines(0, 2), 3 * AMOUNT, 3);
        _pay(0, _lines(0, 1));
        vm.expectRevert(abi.encodeWithSelector(IPlatformYieldDistributor.CountMismatch.selector, ID, 3, 2));
        _pay(1, _lines(1, 1));
        _assertConserved(AMOUNT, 0);
    }

    function testPayoutForDistributionOtherTotal() external {
        _createFor(_lines(0, 2), 3 * AMOUNT, 2);
        vm.expectRevert(
            abi.encodeWithSelector(IPlatformYieldDistributor.TotalMismatch.selector, ID, 3 * AMOUNT, 2 * AMOUNT)
        );
        _pay(0, _lines(0, 2));
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
