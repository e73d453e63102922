// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Hashes} from "@openzeppelin/contracts/utils/cryptography/Hashes.sol";

/// @title RollUp
/// @notice The rolled hash of a list of page lines.
/// @dev Each line is hashed with the hash of all lines before it. The cuts between pages do not matter, and any line that
/// is changed, left out, doubled or moved changes the result. The result is known only after the last line.
library RollUp {
    /// @notice Returns the rolled hash with one more line: `keccak256(abi.encode(rolled, line))`.
    function add(bytes32 rolled, bytes32 line) internal pure returns (bytes32) {
        return Hashes.efficientKeccak256(rolled, line);
    }
}
