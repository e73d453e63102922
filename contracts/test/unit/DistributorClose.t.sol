// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Roles} from "../../src/Roles.sol";
import {IAgentGated} from "../../src/interfaces/IAgentGated.sol";
import {IPlatformYieldDistributor} from "../../src/interfaces/IPlatformYieldDistributor.sol";
import {HostileCoin} from "../hostile/HostileCoin.sol";
import {DistributorFixture} from "./DistributorFixture.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";

/// @dev Cancellation, audit reports, and an asset that calls back.
contract DistributorCloseTest is DistributorFixture {
    bytes32 private constant OTHER_AUDIT = "other";

    function _cancel() private {
        vm.prank(PAYER);
        distributor.cancelDistribution(ID);
    }

    function _declare(bytes32 id, address token_, bytes32 auditHash) private {
        vm.prank(PAYER);
        distributor.declareAudit(id, token_, auditHash);
    }

    function testCancelDistributionUntouched() external {
        uint256 before = coin.balanceOf(PAYER);
        _createOf(3);
        vm.expectEmit();
        emit IPlatformYieldDistributor.DistributionCancelled(ID, PAYER, 3 * AMOUNT);
        _cancel();
        assertEq(coin.balanceOf(PAYER), before, "all came back");
        assertTrue(_state().cancelled, "cancelled");
        _assertConserved(0, 0);
    }

    function testCancelDistributionReturnsTheUnpaidRestOnly() external {
        uint256 before = coin.balanceOf(PAYER);
        token.setFrozen(_holder(1), true);
        _createOf(5);
        _pay(0, _lines(0, 3));
        _cancel();
        assertEq(coin.balanceOf(PAYER), before - 3 * AMOUNT, "the rest came back");
        _assertConserved(2 * AMOUNT, AMOUNT);
        token.setFrozen(_holder(1), false);
        distributor.claimWithheld(ID, _holder(1));
        assertEq(coin.balanceOf(_holder(1)), AMOUNT, "withheld stays claimable");
        _assertConserved(3 * AMOUNT, 0);
    }

    /// @dev The money returns to the funder, also if another agent cancels.
    function testCancelDistributionByAnotherAgent() external {
        registry.setRoles(STRANGER, Roles.PAYOUT);
        uint256 before = coin.balanceOf(PAYER);
        _createOf(3);
        vm.prank(STRANGER);
        distributor.cancelDistribution(ID);
        assertEq(coin.balanceOf(PAYER), before, "funder");
        assertEq(coin.balanceOf(STRANGER), 0, "agent");
    }

    function testCancelDistributionCallerWithoutRole() external {
        _createOf(3);
        registry.setRoles(STRANGER, Roles.ISSUER | Roles.CUSTODY | Roles.COMPLIANCE);
        bytes4 selector = distributor.cancelDistribution.selector;
        vm.expectRevert(abi.encodeWithSelector(IAgentGated.NotAuthorized.selector, STRANGER, selector, Roles.PAYOUT));
        vm.prank(STRANGER);
        distributor.cancelDistribution(ID);
    }

    function testCancelDistributionTwice() external {
        _createOf(3);
        _cancel();
        vm.expectRevert(abi.encodeWithSelector(IPlatformYieldDistributor.DistributionClosed.selector, ID));
        _cancel();
    }

    function testCancelDistributionCompleted() external {
        _createOf(3);
        _pay(0, _lines(0, 3));
        vm.expectRevert(abi.encodeWithSelector(IPlatformYieldDistributor.DistributionClosed.selector, ID));
        _cancel();
    }

    function testCancelDistributionUnknown() external {
        vm.expectRevert(abi.encodeWithSelector(IPlatformYieldDistributor.UnknownDistribution.selector, ID));
        _cancel();
    }

    /// @dev If the list adds up to more than its declared sum, it can never be completed, but it can be cancelled.
    function testCancelDistributionWithoutRest() external {
        _createFor(_lines(0, 2), AMOUNT, 2);
        _pay(0, _lines(0, 1));
        vm.expectEmit();
        emit IPlatformYieldDistributor.DistributionCancelled(ID, PAYER, 0);
        _cancel();
    }

    /// @dev The asset blocks the funder. The funder names another address, and the rest goes there.
    function testCancelDistributionToAnotherFunder() external {
        _createOf(3);
        coin.setMode(PAYER, HostileCoin.Mode.Reverts);
        vm.expectRevert(abi.encodeWithSelector(HostileCoin.Blocked.selector, PAYER));
        _cancel();
        vm.expectEmit();
        emit IPlatformYieldDistributor.FunderChanged(ID, PAYER, STRANGER);
        vm.prank(PAYER);
        distributor.changeFunder(ID, STRANGER);
        assertEq(_state().funder, STRANGER, "funder");
        _cancel();
        assertEq(coin.balanceOf(STRANGER), 3 * AMOUNT, "returned");
        vm.expectRevert(abi.encodeWithSelector(IPlatformYieldDistributor.DistributionClosed.selector, ID));
        vm.prank(PAYER);
        distributor.changeFunder(ID, PAYER);
    }

    function testChangeFunderByOthers() external {
        _createOf(3);
        registry.setRoles(STRANGER, Roles.PAYOUT);
        vm.expectRevert(abi.encodeWithSelector(IPlatformYieldDistributor.NotTheFunder.selector, ID, STRANGER));
        vm.prank(STRANGER);
        distributor.changeFunder(ID, STRANGER);
        vm.expectRevert(abi.encodeWithSelector(IPlatformYieldDistributor.ZeroAddress.selector));
        vm.prank(PAYER);
        distributor.changeFunder(ID, address(0));
        registry.setRoles(PAYER, 0);
        bytes4 selector = distributor.changeFunder.selector;
        vm.expectRevert(abi.encodeWithSelector(IAgentGated.NotAuthorized.selector, PAYER, selector, Roles.PAYOUT));
        vm.prank(PAYER);
        distributor.changeFunder(ID, STRANGER);
    }

    function testDistributionsDoNotShareEscrow() external {
        _createOf(2);
        vm.prank(PAYER);
        distributor.createDistribution("other", address(token), address(coin), 7, 1, "list", bytes32(0));
        _cancel();
        assertEq(coin.balanceOf(address(distributor)), 7, "the other one's money stays");
    }

    function testDeclareAuditOfAnEscrow() external {
        _createOf(1);
        vm.expectEmit();
        emit IPlatformYieldDistributor.AuditDeclared(ID, address(token), AUDIT, PAYER);
        _declare(ID, address(token), AUDIT);
        assertEq(_state().auditHash, AUDIT, "audit");
        assertEq(distributor.auditHashOf(ID, address(token)), AUDIT, "audit of token");
    }

    function testDeclareAuditOfADirectPayout() external {
        _declare(ID, address(token), AUDIT);
        assertEq(distributor.auditHashOf(ID, address(token)), AUDIT, "audit");
    }

    function testDeclareAuditRepeated() external {
        _declare(ID, address(token), AUDIT);
        vm.expectEmit();
        emit IPlatformYieldDistributor.AuditDeclared(ID, address(token), AUDIT, PAYER);
        _declare(ID, address(token), AUDIT);
        vm.expectRevert(abi.encodeWithSelector(IPlatformYieldDistributor.AuditAlreadyDeclared.selector, ID, AUDIT));
        _declare(ID, address(token), OTHER_AUDIT);
    }

    function testDeclareAuditZero() external {
        vm.expectRevert(abi.encodeWithSelector(IPlatformYieldDistributor.ZeroTerm.selector));
        _declare(0, address(token), AUDIT);
        vm.expectRevert(abi.encodeWithSelector(IPlatformYieldDistributor.ZeroTerm.selector));
        _declare(ID, address(token), 0);
        vm.expectRevert(abi.encodeWithSelector(IPlatformYieldDistributor.ZeroAddress.selector));
        _declare(ID, address(0), AUDIT);
    }

    function testDeclareAuditOfAnotherToken() external {
        _createOf(1);
        vm.expectRevert(
            abi.encodeWithSelector(IPlatformYieldDistributor.TokenMismatch.selector, ID, address(token), address(coin))
        );
        _declare(ID, address(coin), AUDIT);
    }

    function testDeclareAuditCallerWithoutRole() external {
        registry.setRoles(STRANGER, Roles.ISSUER | Roles.CUSTODY | Roles.COMPLIANCE);
        bytes4 selector = distributor.declareAudit.selector;
        vm.expectRevert(abi.encodeWithSelector(IAgentGated.NotAuthorized.selector, STRANGER, selector, Roles.PAYOUT));
        vm.prank(STRANGER);
        distributor.declareAudit(ID, address(token), AUDIT);
    }

    function _assertGuarded(bytes memory reentry) private {
        coin.setReentry(address(distributor), reentry);
        uint256 next = _state().next;
        _pay(next, _lines(next, 1));
        assertEq(
            coin.answer(),
            abi.encodeWithSelector(ReentrancyGuardTransient.ReentrancyGuardReentrantCall.selector),
            "guard"
        );
    }

    /// @dev The asset has the payout role and calls back during every payment. Each of these calls is refused.
    function testPayoutForDistributionReentered() external {
        registry.setRoles(address(coin), Roles.PAYOUT);
        token.setFrozen(_holder(0), true);
        _createOf(5);
        _pay(0, _lines(0, 1));
        token.setFrozen(_holder(0), false);
        for (uint256 i = 1; i < 5; ++i) {
            coin.setMode(_holder(i), HostileCoin.Mode.Reenters);
        }
        _assertGuarded(abi.encodeCall(distributor.claimWithheld, (ID, _holder(0))));
        _assertGuarded(abi.encodeCall(distributor.cancelDistribution, (ID)));
        _assertGuarded(abi.encodeCall(distributor.payoutForDistribution, (ID, 4, 0, _lines(4, 1))));
        _assertGuarded(
            abi.encodeCall(
                distributor.createDistribution, ("other", address(token), address(coin), AMOUNT, 1, "list", bytes32(0))
            )
        );
        _assertConserved(4 * AMOUNT, AMOUNT);
    }

    function testClaimWithheldReentered() external {
        token.setFrozen(_holder(0), true);
        _createOf(1);
        _pay(0, _lines(0, 1));
        token.setFrozen(_holder(0), false);
        coin.setMode(_holder(0), HostileCoin.Mode.Reenters);
        coin.setReentry(address(distributor), abi.encodeCall(distributor.claimWithheld, (ID, _holder(0))));
        distributor.claimWithheld(ID, _holder(0));
        assertEq(coin.balanceOf(_holder(0)), AMOUNT, "once");
    }
}
