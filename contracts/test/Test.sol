// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Vm} from "./Vm.sol";

/// @notice What a test needs and no more. An assertion that fails reverts with both values.
abstract contract Test {
    /// @dev Tells the runner that this contract holds tests.
    bool public constant IS_TEST = true;

    Vm internal constant vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));

    error NotTrue(string what);
    error NotEqual(string what, uint256 left, uint256 right);
    error NotEqualAddress(string what, address left, address right);
    error NotEqualWord(string what, bytes32 left, bytes32 right);
    error NotEqualBytes(string what, bytes left, bytes right);
    error NotAtLeast(string what, uint256 left, uint256 right);
    error NotAtMost(string what, uint256 left, uint256 right);

    function assertTrue(bool condition, string memory what) internal pure {
        if (!condition) revert NotTrue(what);
    }

    function assertFalse(bool condition, string memory what) internal pure {
        if (condition) revert NotTrue(what);
    }

    function assertEq(uint256 left, uint256 right, string memory what) internal pure {
        if (left != right) revert NotEqual(what, left, right);
    }

    function assertEq(address left, address right, string memory what) internal pure {
        if (left != right) revert NotEqualAddress(what, left, right);
    }

    function assertEq(bytes32 left, bytes32 right, string memory what) internal pure {
        if (left != right) revert NotEqualWord(what, left, right);
    }

    function assertEq(bytes memory left, bytes memory right, string memory what) internal pure {
        if (keccak256(left) != keccak256(right)) revert NotEqualBytes(what, left, right);
    }

    function assertLe(uint256 left, uint256 right, string memory what) internal pure {
        if (left > right) revert NotAtMost(what, left, right);
    }

    function assertGe(uint256 left, uint256 right, string memory what) internal pure {
        if (left < right) revert NotAtLeast(what, left, right);
    }

    function bound(uint256 x, uint256 low, uint256 high) internal pure returns (uint256) {
        unchecked {
            uint256 size = high - low + 1;
            return size == 0 ? x : low + x % size;
        }
    }

    function makeAddr(string memory name) internal returns (address account) {
        account = vm.addr(uint256(keccak256(bytes(name))));
        vm.label(account, name);
    }

    /// @dev The n-th of many accounts, far from any precompile.
    function nth(uint256 n) internal pure returns (address) {
        return address(uint160(uint256(keccak256(abi.encode("account", n)))));
    }
}
