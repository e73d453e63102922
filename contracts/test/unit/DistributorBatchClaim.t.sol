// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IPlatformYieldDistributor} from "../../src/interfaces/IPlatformYieldDistributor.sol";
import {HostileCoin} from "../hostile/HostileCoin.sol";
import {DistributorFixture} from "./DistributorFixture.sol";

/// @dev Claims for many accounts, and claims behind many recoveries.
contract DistributorBatchClaimTest is DistributorFixture {
    address private constant SUCCESSOR = address(0x2000);

    function _withhold(uint256 count) private returns (address[] memory accounts) {
        accounts = new address[](count);
        for (uint256 i = 0; i < count; ++i) {
            accounts[i] = _holder(i);
            token.setFrozen(accounts[i], true);
        }
        _createOf(count);
        _pay(0, _lines(0, count));
        for (uint256 i = 0; i < count; ++i) {
            token.setFrozen(accounts[i], false);
        }
    }

    function testBatchClaimWithheldPaysAll() external {
        address[] memory accounts = _withhold(3);
        for (uint256 i = 0; i < 3; ++i) {
            vm.expectEmit();
            emit IPlatformYieldDistributor.WithheldClaimed(ID, accounts[i], accounts[i], AMOUNT);
        }
        vm.prank(STRANGER);
        assertEq(distributor.batchClaimWithheld(ID, accounts), 3 * AMOUNT, "claimed");
        _assertConserved(3 * AMOUNT, 0);
        vm.expectRevert(abi.encodeWithSelector(IPlatformYieldDistributor.NothingClaimed.selector, ID));
        distributor.batchClaimWithheld(ID, accounts);
    }

    /// @dev An account that cannot be paid stays as it is and stops nobody; an account named twice is paid once.
    function testBatchClaimWithheldSkipsWhoCannotBePaid() external {
        address[] memory accounts = _withhold(5);
        token.setFrozen(accounts[0], true);
        coin.setMode(accounts[1], HostileCoin.Mode.Reverts);
        token.setSuccessor(accounts[2], SUCCESSOR);
        accounts[4] = accounts[3];
        assertEq(distributor.batchClaimWithheld(ID, accounts), 2 * AMOUNT, "claimed");
        assertEq(coin.balanceOf(SUCCESSOR), AMOUNT, "successor");
        assertEq(coin.balanceOf(accounts[3]), AMOUNT, "once");
        assertEq(distributor.withheldOf(ID, accounts[0]), AMOUNT, "frozen");
        assertEq(distributor.withheldOf(ID, accounts[1]), AMOUNT, "refused");
        assertEq(distributor.withheldOf(ID, _holder(4)), AMOUNT, "not named");
        _assertConserved(2 * AMOUNT, 3 * AMOUNT);
    }

    function testBatchClaimWithheldNobodyPaid() external {
        address[] memory accounts = _withhold(2);
        coin.setPaused(true);
        vm.expectRevert(abi.encodeWithSelector(IPlatformYieldDistributor.NothingClaimed.selector, ID));
        distributor.batchClaimWithheld(ID, accounts);
        coin.setPaused(false);
        coin.setMode(accounts[0], HostileCoin.Mode.MovesNothing);
        coin.setMode(accounts[1], HostileCoin.Mode.TakesFee);
        vm.expectRevert(abi.encodeWithSelector(IPlatformYieldDistributor.PayeesReceiveLess.selector, ID));
        distributor.batchClaimWithheld(ID, accounts);
        coin.setMode(accounts[0], HostileCoin.Mode.ChargesSender);
        coin.setMode(accounts[1], HostileCoin.Mode.Honest);
        coin.mint(address(distributor), 1);
        vm.expectRevert(
            abi.encodeWithSelector(IPlatformYieldDistributor.EscrowShort.selector, 2 * AMOUNT, 2 * AMOUNT + 1)
        );
        distributor.batchClaimWithheld(ID, accounts);
        vm.expectRevert(abi.encodeWithSelector(IPlatformYieldDistributor.UnknownDistribution.selector, AUDIT));
        distributor.batchClaimWithheld(AUDIT, accounts);
    }

    function testBatchClaimWithheldReentered() external {
        address[] memory accounts = _withhold(2);
        coin.setMode(accounts[0], HostileCoin.Mode.Reenters);
        coin.setReentry(address(distributor), abi.encodeCall(distributor.batchClaimWithheld, (ID, accounts)));
        distributor.batchClaimWithheld(ID, accounts);
        assertEq(coin.balanceOf(accounts[0]), AMOUNT, "once");
        assertEq(coin.balanceOf(accounts[1]), AMOUNT, "once");
    }

    /// @dev A page follows 16 successors, a claim follows all.
    function testClaimWithheldBehindManyRecoveries() external {
        token.setFrozen(_holder(0), true);
        _createOf(1);
        _pay(0, _lines(0, 1));
        for (uint256 i = 0; i < 40; ++i) {
            token.setSuccessor(_holder(i), _holder(i + 1));
        }
        address[] memory accounts = new address[](1);
        accounts[0] = _holder(0);
        vm.expectRevert(abi.encodeWithSelector(IPlatformYieldDistributor.NothingClaimed.selector, ID));
        distributor.batchClaimWithheld(ID, accounts);
        distributor.claimWithheld(ID, _holder(0));
        assertEq(coin.balanceOf(_holder(40)), AMOUNT, "last successor");
        _assertConserved(AMOUNT, 0);
    }
}
