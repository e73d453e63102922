// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {DistributorFixture} from "../unit/DistributorFixture.sol";

/// @dev Any list, cut into any pages, with any holders frozen.
contract DistributorFuzzTest is DistributorFixture {
    function testFuzzAnyListAnyPages(uint96[] memory amounts, uint256 frozen, uint256 cuts) external {
        vm.assume(amounts.length != 0);
        uint256 count = amounts.length < 20 ? amounts.length : 20;
        bytes32[] memory lines = new bytes32[](count);
        for (uint256 i = 0; i < count; ++i) {
            lines[i] = _line(_holder(i), bound(amounts[i], 1, type(uint96).max));
            token.setFrozen(_holder(i), _isFrozen(frozen, i));
        }
        coin.mint(PAYER, _sum(lines));
        _create(lines);
        _payInPages(lines, cuts);
        _assertEachLine(lines, frozen);
        _claimAll(lines, frozen);
        assertEq(coin.balanceOf(address(distributor)), 0, "nothing is left");
    }

    function testFuzzCancelReturnsTheUnpaidRest(uint256 paidLines, uint256 frozen) external {
        paidLines = bound(paidLines, 0, 9);
        _createOf(10);
        for (uint256 i = 0; i < 10; ++i) {
            token.setFrozen(_holder(i), _isFrozen(frozen, i));
        }
        if (paidLines != 0) _pay(0, _lines(0, paidLines));
        uint256 before = coin.balanceOf(PAYER);
        vm.prank(PAYER);
        distributor.cancelDistribution(ID);
        assertEq(coin.balanceOf(PAYER) - before, (10 - paidLines) * AMOUNT, "returned");
        assertEq(coin.balanceOf(address(distributor)), _state().withheld, "what is withheld stays");
    }

    function _isFrozen(uint256 frozen, uint256 index) private pure returns (bool) {
        return (frozen >> index) & 1 == 1;
    }

    function _payInPages(bytes32[] memory lines, uint256 cuts) private {
        uint256 from = 0;
        while (from < lines.length) {
            uint256 to = from + 1;
            while (to < lines.length && (cuts >> to) & 1 == 0) ++to;
            bytes32[] memory page = new bytes32[](to - from);
            for (uint256 i = from; i < to; ++i) {
                page[i - from] = lines[i];
            }
            _pay(from, page);
            from = to;
        }
    }

    function _assertEachLine(bytes32[] memory lines, uint256 frozen) private view {
        for (uint256 i = 0; i < lines.length; ++i) {
            uint256 amount = uint96(uint256(lines[i]));
            bool held = _isFrozen(frozen, i);
            assertEq(coin.balanceOf(_holder(i)), held ? 0 : amount, "paid");
            assertEq(distributor.withheldOf(ID, _holder(i)), held ? amount : 0, "withheld");
        }
        assertEq(_state().allocated, _state().total, "all accepted");
        assertEq(_state().rolled, _state().commitment, "as declared");
    }

    function _claimAll(bytes32[] memory lines, uint256 frozen) private {
        for (uint256 i = 0; i < lines.length; ++i) {
            if (!_isFrozen(frozen, i)) continue;
            token.setFrozen(_holder(i), false);
            distributor.claimWithheld(ID, _holder(i));
            assertEq(coin.balanceOf(_holder(i)), uint96(uint256(lines[i])), "claimed");
        }
    }
}
