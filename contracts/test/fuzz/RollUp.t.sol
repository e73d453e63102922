// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {RollUp} from "../../src/RollUp.sol";
import {Test} from "../Test.sol";

/// @dev The rolled hash compared with its definition in the interface.
contract RollUpFuzzTest is Test {
    function _over(bytes32 tail, bytes32[] memory lines) private pure returns (bytes32) {
        for (uint256 i = lines.length; i > 0; --i) {
            tail = RollUp.add(tail, lines[i - 1]);
        }
        return tail;
    }

    function _slice(bytes32[] memory lines, uint256 from, uint256 to) private pure returns (bytes32[] memory part) {
        part = new bytes32[](to - from);
        for (uint256 i = from; i < to; ++i) {
            part[i - from] = lines[i];
        }
    }

    function testFuzzRollUpEqualsItsDefinition(bytes32 tail, bytes32[] memory lines) external pure {
        bytes32 expected = tail;
        for (uint256 i = 0; i < lines.length; ++i) {
            expected = keccak256(abi.encode(expected, lines[lines.length - 1 - i]));
        }
        assertEq(_over(tail, lines), expected, "rolled");
    }

    function testFuzzRollUpIgnoresPageCuts(bytes32[] memory lines, uint256 cut) external pure {
        cut = bound(cut, 0, lines.length);
        bytes32 behind = _over(0, _slice(lines, cut, lines.length));
        bytes32 both = _over(behind, _slice(lines, 0, cut));
        assertEq(both, _over(0, lines), "rolled");
    }

    function testFuzzRollUpDependsOnEachLine(bytes32[] memory lines, uint256 index, bytes32 other) external pure {
        vm.assume(lines.length != 0);
        index = bound(index, 0, lines.length - 1);
        bytes32 before = _over(0, lines);
        vm.assume(lines[index] != other);
        lines[index] = other;
        assertTrue(_over(0, lines) != before, "another line, another hash");
    }

    function testFuzzRollUpDependsOnTheOrder(bytes32[] memory lines, uint256 one, uint256 two) external pure {
        vm.assume(lines.length > 1);
        one = bound(one, 0, lines.length - 1);
        two = bound(two, 0, lines.length - 1);
        bytes32 before = _over(0, lines);
        vm.assume(lines[one] != lines[two]);
        (lines[one], lines[two]) = (lines[two], lines[one]);
        assertTrue(_over(0, lines) != before, "another order, another hash");
    }

    function testRollUpPinned() external pure {
        bytes32[] memory lines = new bytes32[](2);
        lines[0] = bytes32(abi.encodePacked(address(0x1111), uint96(1)));
        lines[1] = bytes32(abi.encodePacked(address(0x2222), uint96(2)));
        assertEq(
            _over(0, lines),
            0xe535450166264a985f86f7fad3111deb324495b48603799f64c6c9621491b34b,
            "pinned for other languages"
        );
    }
}
