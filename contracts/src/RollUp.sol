// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Hashes} from "@openzeppelin/contracts/utils/cryptography/Hashes.sol";

/// @title The rolled hash of a list of page lines
/// @dev Each line is hashed together with the hash of all lines before it, so where the pages are cut does not matter,
/// and no line can be changed, left out, doubled or moved without another result.
library RollUp {
    /// @notice Rolls `rolled` on over `line`: `keccak256(abi.encode(rolled, line))`.
    function add(bytes32 rolled, bytes32 line) internal pure returns (bytes32) {
        return Hashes.efficientKeccak256(rolled, line);
    }
}
