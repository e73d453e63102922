// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Hashes} from "@openzeppelin/contracts/utils/cryptography/Hashes.sol";

/// @title RollUp
/// @notice The rolled hash of a list of page lines.
/// @dev A list is rolled up from its end: each line is hashed with the hash of all lines behind it, and the hash behind
/// the last line is zero. So the hash of a list and the hash behind its first lines prove these lines, before the
/// others are known. The cuts between pages do not matter, and any line that is changed, left out, doubled or moved
/// changes the result.
library RollUp {
    /// @notice Returns the hash of a list from its first line and the hash of the lines behind it.
    /// @param tail The hash of the lines behind, zero if there are none.
    /// @param line The first line.
    /// @return `keccak256(abi.encode(tail, line))`.
    function add(bytes32 tail, bytes32 line) internal pure returns (bytes32) {
        return Hashes.efficientKeccak256(tail, line);
    }
}
