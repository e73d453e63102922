// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IPlatformYieldDistributor} from "../../src/interfaces/IPlatformYieldDistributor.sol";
import {HostileCoin} from "../hostile/HostileCoin.sol";
import {DistributorFixture} from "./DistributorFixture.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

/// @dev Withheld lines, and later claims.
contract DistributorWithheldTest is DistributorFixture {
    address private constant SUCCESSOR = address(0x2000);
    address private constant SECOND_SUCCESSOR = address(0x2001);

    function _payThree() private {
        if (_state().count == 0) _createOf(3);
        _pay(0, _lines(0, 3));
    }

    function _claim(address account) private {
        vm.prank(STRANGER);
        distributor.claimWithheld(ID, account);
    }

    function _expectWithheld(uint256 index, bytes32 reason) private {
        vm.expectEmit();
        emit IPlatformYieldDistributor.Withheld(ID, _holder(index), index, AMOUNT, reason);
    }

    function testPayoutForDistributionFrozenPayee() external {
        token.setFrozen(_holder(1), true);
        _createOf(3);
        _expectWithheld(1, "frozen");
        _payThree();
        assertEq(coin.balanceOf(_holder(1)), 0, "frozen payee");
        assertEq(coin.balanceOf(_holder(2)), AMOUNT, "payee after the frozen one");
        assertEq(distributor.withheldOf(ID, _holder(1)), AMOUNT, "withheld");
        _assertConserved(2 * AMOUNT, AMOUNT);
        assertEq(_state().next, 3, "next");
    }

    function testPayoutForDistributionAllFrozen() external {
        for (uint256 i = 0; i < 3; ++i) {
            token.setFrozen(_holder(i), true);
        }
        _payThree();
        _assertConserved(0, 3 * AMOUNT);
    }

    function testPayoutForDistributionFrozenPayeeOnTwoLines() external {
        bytes32[] memory lines = new bytes32[](2);
        lines[0] = _line(_holder(0), 5);
        lines[1] = _line(_holder(0), 7);
        token.setFrozen(_holder(0), true);
        _create(lines);
        _pay(0, lines);
        assertEq(distributor.withheldOf(ID, _holder(0)), 12, "withheld");
        token.setFrozen(_holder(0), false);
        _claim(_holder(0));
        assertEq(coin.balanceOf(_holder(0)), 12, "claimed");
    }

    /// @dev In each way in which the asset can fail one payee, that line is withheld and all others are paid.
    function testPayoutForDistributionHostilePayee() external {
        HostileCoin.Mode[4] memory modes = [
            HostileCoin.Mode.ReturnsFalse,
            HostileCoin.Mode.Reverts,
            HostileCoin.Mode.RevertsLong,
            HostileCoin.Mode.BurnsGas
        ];
        _createOf(2 * modes.length);
        for (uint256 i = 0; i < modes.length; ++i) {
            address hostile = _holder(2 * i);
            coin.setMode(hostile, modes[i]);
            _expectWithheld(2 * i, "transfer_failed");
            _pay(2 * i, _lines(2 * i, 2));
            assertEq(distributor.withheldOf(ID, hostile), AMOUNT, "withheld");
            assertEq(coin.balanceOf(_holder(2 * i + 1)), AMOUNT, "other payee");
        }
        _assertConserved(modes.length * AMOUNT, modes.length * AMOUNT);
    }

    /// @dev The asset moves the money and returns false. Withholding the line would pay it twice, from the escrow of other
    /// holders. Only the asset itself can cause this, not a payee.
    function testPayoutForDistributionAssetPaysAndReturnsFalse() external {
        _createOf(3);
        HostileCoin.Mode[2] memory modes = [HostileCoin.Mode.ReturnsTwo, HostileCoin.Mode.ReturnsShort];
        for (uint256 i = 0; i < modes.length; ++i) {
            coin.setMode(_holder(1), modes[i]);
            vm.expectRevert(
                abi.encodeWithSelector(IPlatformYieldDistributor.EscrowShort.selector, 2 * AMOUNT, 3 * AMOUNT)
            );
            _pay(0, _lines(0, 3));
        }
    }

    /// @dev The asset stops between two pages: nobody is withheld, and the same page is paid later.
    function testPayoutForDistributionAssetPaused() external {
        _createOf(4);
        _pay(0, _lines(0, 2));
        coin.setPaused(true);
        vm.expectRevert(abi.encodeWithSelector(IPlatformYieldDistributor.AssetUnavailable.selector, ID, 2));
        _pay(2, _lines(2, 2));
        _assertConserved(2 * AMOUNT, 0);
        coin.setPaused(false);
        _pay(2, _lines(2, 2));
        _assertConserved(4 * AMOUNT, 0);
    }

    /// @dev A frozen payee on the page does not make the outage an event of the payees.
    function testPayoutForDistributionAssetPausedAndAPayeeFrozen() external {
        token.setFrozen(_holder(0), true);
        _createOf(3);
        coin.setPaused(true);
        vm.expectRevert(abi.encodeWithSelector(IPlatformYieldDistributor.AssetUnavailable.selector, ID, 0));
        _pay(0, _lines(0, 3));
    }

    function testPayoutForDistributionAssetBlocksTheDistributor() external {
        _createOf(2);
        coin.setMode(address(distributor), HostileCoin.Mode.Reverts);
        coin.setMode(_holder(0), HostileCoin.Mode.Reverts);
        coin.setMode(_holder(1), HostileCoin.Mode.ReturnsFalse);
        vm.expectRevert(abi.encodeWithSelector(IPlatformYieldDistributor.AssetUnavailable.selector, ID, 0));
        _pay(0, _lines(0, 2));
    }

    /// @dev The asset works and refuses only these payees. They do not block the list, also alone on its last page.
    function testPayoutForDistributionEachPayeeRefused() external {
        _createOf(3);
        coin.setMode(_holder(0), HostileCoin.Mode.Reverts);
        coin.setMode(_holder(1), HostileCoin.Mode.ReturnsFalse);
        coin.setMode(_holder(2), HostileCoin.Mode.Reverts);
        _pay(0, _lines(0, 2));
        _pay(2, _lines(2, 1));
        _assertConserved(0, 3 * AMOUNT);
    }

    function testPayoutForDistributionAssetTakesFeeFromReceivers() external {
        _createOf(3);
        for (uint256 i = 0; i < 3; ++i) {
            coin.setMode(_holder(i), HostileCoin.Mode.TakesFee);
        }
        vm.expectRevert(abi.encodeWithSelector(IPlatformYieldDistributor.PayeesReceiveLess.selector, ID));
        _pay(0, _lines(0, 3));
    }

    function testPayoutForDistributionAssetMovesNothing() external {
        _createOf(3);
        for (uint256 i = 0; i < 3; ++i) {
            coin.setMode(_holder(i), HostileCoin.Mode.MovesNothing);
        }
        vm.expectRevert(abi.encodeWithSelector(IPlatformYieldDistributor.PayeesReceiveLess.selector, ID));
        _pay(0, _lines(0, 3));
    }

    /// @dev A payee that passes its money on at once looks like a fee. It cannot block the others.
    function testPayoutForDistributionFirstPayeeKeepsLess() external {
        _createOf(3);
        coin.setMode(_holder(0), HostileCoin.Mode.TakesFee);
        _payThree();
        _assertConserved(3 * AMOUNT, 0);
        assertEq(coin.balanceOf(_holder(0)), AMOUNT - 1, "first payee");
    }

    function testPayoutForDistributionAssetReturnsNothing() external {
        coin.setMode(_holder(1), HostileCoin.Mode.ReturnsNothing);
        _payThree();
        _assertConserved(3 * AMOUNT, 0);
        assertEq(coin.balanceOf(_holder(1)), AMOUNT, "paid");
    }

    function testPayoutForDistributionAssetReturnsLong() external {
        coin.setMode(_holder(1), HostileCoin.Mode.ReturnsLong);
        _payThree();
        _assertConserved(3 * AMOUNT, 0);
    }

    function testPayoutForDistributionPayeeSendsBack() external {
        coin.setMode(_holder(1), HostileCoin.Mode.SendsBack);
        _payThree();
        assertEq(_state().withheld, 0, "withheld");
        assertEq(coin.balanceOf(address(distributor)), 1, "a gift stays");
    }

    function testPayoutForDistributionAssetChargesSender() external {
        _createOf(3);
        coin.setMode(_holder(1), HostileCoin.Mode.ChargesSender);
        vm.expectRevert(
            abi.encodeWithSelector(IPlatformYieldDistributor.EscrowShort.selector, 2 * AMOUNT, 2 * AMOUNT + 1)
        );
        _pay(0, _lines(0, 2));
    }

    function testClaimWithheldAfterUnfreeze() external {
        token.setFrozen(_holder(1), true);
        _payThree();
        token.setFrozen(_holder(1), false);
        vm.expectEmit();
        emit IPlatformYieldDistributor.WithheldClaimed(ID, _holder(1), _holder(1), AMOUNT);
        _claim(_holder(1));
        assertEq(coin.balanceOf(_holder(1)), AMOUNT, "claimed");
        assertEq(distributor.withheldOf(ID, _holder(1)), 0, "withheld");
        _assertConserved(3 * AMOUNT, 0);
    }

    function testClaimWithheldTwice() external {
        token.setFrozen(_holder(1), true);
        _payThree();
        token.setFrozen(_holder(1), false);
        _claim(_holder(1));
        vm.expectRevert(abi.encodeWithSelector(IPlatformYieldDistributor.NothingWithheld.selector, ID, _holder(1)));
        _claim(_holder(1));
    }

    function testClaimWithheldNothing() external {
        _payThree();
        vm.expectRevert(abi.encodeWithSelector(IPlatformYieldDistributor.NothingWithheld.selector, ID, _holder(1)));
        _claim(_holder(1));
    }

    function testClaimWithheldAssetTakesFee() external {
        token.setFrozen(_holder(1), true);
        _payThree();
        token.setFrozen(_holder(1), false);
        coin.setMode(_holder(1), HostileCoin.Mode.TakesFee);
        vm.expectRevert(abi.encodeWithSelector(IPlatformYieldDistributor.ReceivedDiffers.selector, AMOUNT, AMOUNT - 1));
        _claim(_holder(1));
        _assertConserved(2 * AMOUNT, AMOUNT);
    }

    function testClaimWithheldStillFrozen() external {
        token.setFrozen(_holder(1), true);
        _payThree();
        vm.expectRevert(abi.encodeWithSelector(IPlatformYieldDistributor.PayeeFrozen.selector, _holder(1)));
        _claim(_holder(1));
    }

    function testClaimWithheldFrozenAgain() external {
        coin.setMode(_holder(1), HostileCoin.Mode.Reverts);
        _payThree();
        coin.setMode(_holder(1), HostileCoin.Mode.Honest);
        token.setFrozen(_holder(1), true);
        vm.expectRevert(abi.encodeWithSelector(IPlatformYieldDistributor.PayeeFrozen.selector, _holder(1)));
        _claim(_holder(1));
    }

    function testClaimWithheldTransferFails() external {
        coin.setMode(_holder(1), HostileCoin.Mode.Reverts);
        _payThree();
        vm.expectRevert(abi.encodeWithSelector(HostileCoin.Blocked.selector, _holder(1)));
        _claim(_holder(1));
        coin.setMode(_holder(1), HostileCoin.Mode.ReturnsFalse);
        vm.expectRevert(abi.encodeWithSelector(SafeERC20.SafeERC20FailedOperation.selector, address(coin)));
        _claim(_holder(1));
        coin.setMode(_holder(1), HostileCoin.Mode.ChargesSender);
        coin.mint(address(distributor), 1);
        vm.expectRevert(abi.encodeWithSelector(IPlatformYieldDistributor.EscrowShort.selector, AMOUNT, AMOUNT + 1));
        _claim(_holder(1));
        coin.setMode(_holder(1), HostileCoin.Mode.Honest);
        _claim(_holder(1));
        assertEq(coin.balanceOf(_holder(1)), AMOUNT, "claimed");
    }

    function testClaimWithheldBySuccessor() external {
        token.setFrozen(_holder(1), true);
        _payThree();
        token.setSuccessor(_holder(1), SUCCESSOR);
        vm.expectEmit();
        emit IPlatformYieldDistributor.WithheldClaimed(ID, _holder(1), SUCCESSOR, AMOUNT);
        _claim(_holder(1));
        assertEq(coin.balanceOf(SUCCESSOR), AMOUNT, "successor");
        assertEq(coin.balanceOf(_holder(1)), 0, "lost wallet");
    }

    function testClaimWithheldSuccessorFrozen() external {
        token.setFrozen(_holder(1), true);
        _payThree();
        token.setSuccessor(_holder(1), SUCCESSOR);
        token.setFrozen(SUCCESSOR, true);
        vm.expectRevert(abi.encodeWithSelector(IPlatformYieldDistributor.PayeeFrozen.selector, _holder(1)));
        _claim(_holder(1));
    }

    function testPayoutForDistributionRecoveredWallet() external {
        token.setSuccessor(_holder(1), SUCCESSOR);
        _createOf(3);
        vm.expectEmit();
        emit IPlatformYieldDistributor.PaidToSuccessor(ID, _holder(1), SUCCESSOR, 1, AMOUNT);
        _payThree();
        assertEq(coin.balanceOf(SUCCESSOR), AMOUNT, "successor");
        _assertConserved(3 * AMOUNT, 0);
    }

    function testPayoutForDistributionTwiceRecoveredWallet() external {
        token.setSuccessor(_holder(1), SUCCESSOR);
        token.setSuccessor(SUCCESSOR, SECOND_SUCCESSOR);
        _payThree();
        assertEq(coin.balanceOf(SECOND_SUCCESSOR), AMOUNT, "second successor");
    }

    function testPayoutForDistributionFrozenSuccessor() external {
        token.setSuccessor(_holder(1), SUCCESSOR);
        token.setFrozen(SUCCESSOR, true);
        _createOf(3);
        _expectWithheld(1, "frozen");
        _payThree();
        assertEq(distributor.withheldOf(ID, _holder(1)), AMOUNT, "kept under the declared account");
    }

    function testPayoutForDistributionSuccessorCannotBePaid() external {
        token.setSuccessor(_holder(1), SUCCESSOR);
        coin.setMode(SUCCESSOR, HostileCoin.Mode.Reverts);
        _createOf(3);
        _expectWithheld(1, "transfer_failed");
        _payThree();
        assertEq(distributor.withheldOf(ID, _holder(1)), AMOUNT, "kept under the declared account");
    }

    /// @dev The token never makes cycles. A cycle would withhold the line instead of looping.
    function testPayoutForDistributionSuccessorsInACircle() external {
        token.setSuccessor(_holder(1), SUCCESSOR);
        token.setSuccessor(SUCCESSOR, _holder(1));
        _createOf(3);
        _expectWithheld(1, "frozen");
        _payThree();
    }

    function testPayeeOfSixteenSuccessors() external {
        for (uint256 i = 0; i < 16; ++i) {
            token.setSuccessor(_holder(i), _holder(i + 1));
        }
        (address payee, bool frozen) = distributor.payeeOf(address(token), _holder(0));
        assertEq(payee, _holder(16), "last successor");
        assertFalse(frozen, "paid at the sixteenth");
        token.setSuccessor(_holder(16), _holder(17));
        (payee, frozen) = distributor.payeeOf(address(token), _holder(0));
        assertEq(payee, _holder(16), "no further than the sixteenth");
        assertTrue(frozen, "withheld beyond the sixteenth");
    }
}
