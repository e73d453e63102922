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

    /// @dev Of a list of 8, any page that is not exactly the next lines with the tail behind them is refused, whatever was
    /// paid before.
    function testFuzzAnyTamperedPageIsRefused(uint256 paid, uint256 length, uint256 what, uint256 place, bytes32 any)
        external
    {
        paid = bound(paid, 0, 7);
        length = bound(length, 1, 8 - paid);
        _createOf(8);
        if (paid != 0) _pay(0, _lines(0, paid));
        bytes32[] memory lines = _lines(paid, length);
        bytes32 tail = _tailFrom(paid + length);
        bytes32 right = keccak256(abi.encode(tail, lines));
        place = bound(place, 0, length - 1);
        what %= 5;
        if (what == 0) lines[place] = any;
        else if (what == 1) lines[place] ^= bytes32(uint256(1) << (uint256(any) % 256));
        else if (what == 2) (lines[0], lines[place]) = (lines[place], lines[0]);
        else if (what == 3) tail = any;
        else tail = _tailFrom(uint256(any) % 9);
        vm.assume(keccak256(abi.encode(tail, lines)) != right);
        vm.expectRevert();
        _payWith(paid, tail, lines);
        _assertConserved(paid * AMOUNT, 0);
        _pay(paid, _lines(paid, length));
        _assertConserved((paid + length) * AMOUNT, 0);
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
        assertEq(_state().tail, bytes32(0), "nothing is behind");
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
