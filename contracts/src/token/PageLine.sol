// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title PageLine
/// @notice One line of a page: address in the high 20 bytes, units in the low 12, as
/// `abi.encodePacked(address, uint96)`.
/// @dev One word of calldata instead of two saves about 160 gas a holder.
library PageLine {
    function account(bytes32 line) internal pure returns (address) {
        return address(bytes20(line));
    }

    function units(bytes32 line) internal pure returns (uint256) {
        return uint96(uint256(line));
    }
}
