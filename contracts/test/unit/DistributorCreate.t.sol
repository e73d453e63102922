// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {PlatformYieldDistributor} from "../../src/PlatformYieldDistributor.sol";
import {Roles} from "../../src/Roles.sol";
import {IAgentGated} from "../../src/interfaces/IAgentGated.sol";
import {IAgentRegistry} from "../../src/interfaces/IAgentRegistry.sol";
import {IPlatformYieldDistributor} from "../../src/interfaces/IPlatformYieldDistributor.sol";
import {HostileCoin} from "../hostile/HostileCoin.sol";
import {DistributorFixture} from "./DistributorFixture.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";

contract DistributorCreateTest is DistributorFixture {
    bytes32 private constant COMMITMENT = "commitment";

    function _expectRefused(bytes memory reason) private {
        vm.expectRevert(reason);
        vm.prank(PAYER);
    }

    function _createWith(bytes32 id, address token_, address asset, uint256 total, uint256 count, bytes32 commitment)
        private
    {
        distributor.createDistribution(id, token_, asset, total, count, commitment, bytes32(0));
    }

    function testConstructorRegistryZero() external {
        vm.expectRevert(abi.encodeWithSelector(IPlatformYieldDistributor.ZeroAddress.selector));
        new PlatformYieldDistributor(IAgentRegistry(address(0)));
    }

    function testCreateDistributionPullsAndStores() external {
        bytes memory call = abi.encodeCall(
            distributor.createDistribution, (ID, address(token), address(coin), 5 * AMOUNT, 5, COMMITMENT, AUDIT)
        );
        vm.expectEmit();
        emit IPlatformYieldDistributor.DistributionCreated(
            ID, address(token), address(coin), PAYER, 5 * AMOUNT, 5, COMMITMENT, keccak256(call)
        );
        vm.expectEmit();
        emit IPlatformYieldDistributor.AuditDeclared(ID, address(token), AUDIT, PAYER);
        vm.prank(PAYER);
        distributor.createDistribution(ID, address(token), address(coin), 5 * AMOUNT, 5, COMMITMENT, AUDIT);

        IPlatformYieldDistributor.Distribution memory state = _state();
        assertEq(state.token, address(token), "state token");
        assertEq(state.asset, address(coin), "asset");
        assertEq(state.funder, PAYER, "funder");
        assertEq(state.total, 5 * AMOUNT, "total");
        assertEq(state.count, 5, "count");
        assertEq(state.tail, COMMITMENT, "tail");
        assertEq(state.auditHash, AUDIT, "audit hash");
        assertEq(state.next, 0, "next");
        assertEq(state.allocated, 0, "allocated");
        assertEq(state.withheld, 0, "withheld");
        assertFalse(state.cancelled, "cancelled");
        assertEq(coin.balanceOf(address(distributor)), 5 * AMOUNT, "balance of");
    }

    function testCreateDistributionCallerWithoutRole() external {
        registry.setRoles(STRANGER, Roles.ISSUER | Roles.CUSTODY | Roles.COMPLIANCE);
        bytes4 selector = distributor.createDistribution.selector;
        vm.expectRevert(abi.encodeWithSelector(IAgentGated.NotAuthorized.selector, STRANGER, selector, Roles.PAYOUT));
        vm.prank(STRANGER);
        _createWith(ID, address(token), address(coin), 1, 1, COMMITMENT);
    }

    function testCreateDistributionZeroTerms() external {
        bytes memory zeroAddress = abi.encodeWithSelector(IPlatformYieldDistributor.ZeroAddress.selector);
        bytes memory zeroTerm = abi.encodeWithSelector(IPlatformYieldDistributor.ZeroTerm.selector);
        _expectRefused(zeroAddress);
        _createWith(ID, address(0), address(coin), 1, 1, COMMITMENT);
        _expectRefused(zeroAddress);
        _createWith(ID, address(token), address(0), 1, 1, COMMITMENT);
        _expectRefused(zeroTerm);
        _createWith(0, address(token), address(coin), 1, 1, COMMITMENT);
        _expectRefused(zeroTerm);
        _createWith(ID, address(token), address(coin), 0, 1, COMMITMENT);
        _expectRefused(zeroTerm);
        _createWith(ID, address(token), address(coin), 1, 0, COMMITMENT);
        _expectRefused(zeroTerm);
        _createWith(ID, address(token), address(coin), 1, 1, 0);
    }

    function testCreateDistributionTooLarge() external {
        uint256 total = uint256(type(uint112).max) + 1;
        _expectRefused(abi.encodeWithSelector(IPlatformYieldDistributor.AmountTooLarge.selector, total));
        _createWith(ID, address(token), address(coin), total, 1, COMMITMENT);
        uint256 count = uint256(type(uint32).max) + 1;
        _expectRefused(abi.encodeWithSelector(IPlatformYieldDistributor.CountTooLarge.selector, count));
        _createWith(ID, address(token), address(coin), 1, count, COMMITMENT);
    }

    function testCreateDistributionLargestTerms() external {
        coin.mint(PAYER, type(uint112).max);
        vm.prank(PAYER);
        _createWith(ID, address(token), address(coin), type(uint112).max, type(uint32).max, COMMITMENT);
        assertEq(_state().total, type(uint112).max, "total");
        assertEq(_state().count, type(uint32).max, "count");
    }

    function testCreateDistributionWithoutCode() external {
        _expectRefused(abi.encodeWithSelector(IPlatformYieldDistributor.NotAContract.selector, STRANGER));
        _createWith(ID, STRANGER, address(coin), 1, 1, COMMITMENT);
        _expectRefused(abi.encodeWithSelector(IPlatformYieldDistributor.NotAContract.selector, STRANGER));
        _createWith(ID, address(token), STRANGER, 1, 1, COMMITMENT);
    }

    function testCreateDistributionTwice() external {
        _createOf(3);
        bytes32 commitment = _state().tail;
        bytes memory exists = abi.encodeWithSelector(IPlatformYieldDistributor.DistributionExists.selector, ID);
        _expectRefused(exists);
        _createWith(ID, address(token), address(coin), 3 * AMOUNT, 3, commitment);
        _expectRefused(exists);
        _createWith(ID, address(token), address(coin), 3 * AMOUNT + 1, 4, COMMITMENT);
        _pay(0, _lines(0, 3));
        _expectRefused(exists);
        _createWith(ID, address(token), address(coin), 3 * AMOUNT, 3, commitment);
        assertEq(coin.balanceOf(address(distributor)), 0, "balance of");
    }

    function testCreateDistributionFeeOnTransfer() external {
        coin.setMode(address(distributor), HostileCoin.Mode.TakesFee);
        _expectRefused(abi.encodeWithSelector(IPlatformYieldDistributor.ReceivedDiffers.selector, AMOUNT, AMOUNT - 1));
        _createWith(ID, address(token), address(coin), AMOUNT, 1, COMMITMENT);
    }

    function testCreateDistributionBonusOnTransfer() external {
        coin.setMode(address(distributor), HostileCoin.Mode.SendsBack);
        _expectRefused(abi.encodeWithSelector(IPlatformYieldDistributor.ReceivedDiffers.selector, AMOUNT, AMOUNT + 1));
        _createWith(ID, address(token), address(coin), AMOUNT, 1, COMMITMENT);
    }

    function testCreateDistributionTransferReturnsFalse() external {
        coin.setMode(address(distributor), HostileCoin.Mode.ReturnsFalse);
        _expectRefused(abi.encodeWithSelector(SafeERC20.SafeERC20FailedOperation.selector, address(coin)));
        _createWith(ID, address(token), address(coin), AMOUNT, 1, COMMITMENT);
    }

    function testCreateDistributionTransferReturnsNothing() external {
        coin.setMode(address(distributor), HostileCoin.Mode.ReturnsNothing);
        _createOf(1);
        assertEq(coin.balanceOf(address(distributor)), AMOUNT, "balance of");
    }

    function testCreateDistributionReentered() external {
        coin.setMode(address(distributor), HostileCoin.Mode.Reenters);
        registry.setRoles(address(coin), Roles.PAYOUT);
        coin.setReentry(address(distributor), abi.encodeCall(distributor.cancelDistribution, (ID)));
        _createOf(1);
        assertEq(
            coin.answer(),
            abi.encodeWithSelector(ReentrancyGuardTransient.ReentrancyGuardReentrantCall.selector),
            "answer"
        );
        assertFalse(_state().cancelled, "cancelled");
    }
}
