// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IPlatformYieldDistributor} from "./interfaces/IPlatformYieldDistributor.sol";

/// @title The rolled hash of a list of payout lines.
/// @dev Each line is hashed together with the hash of all lines before it, so where the pages are cut does not matter,
/// and no line can be changed, left out, doubled or moved without another result.
library RollUp {
    /// @notice Rolls `rolled` on over `lines`; the same as `rolled = keccak256(abi.encode(rolled, account, amount))`
    /// for each. The caller has decoded every `account`, so the calldata copied here has no dirty upper bits.
    function over(bytes32 rolled, IPlatformYieldDistributor.PayoutLine[] calldata lines)
        internal
        pure
        returns (bytes32 result)
    {
        // One buffer for the whole page: `abi.encode` would take fresh memory for each line.
        assembly ("memory-safe") {
            let buffer := mload(0x40)
            mstore(buffer, rolled)
            let end := add(lines.offset, shl(6, lines.length))
            for { let line := lines.offset } lt(line, end) { line := add(line, 0x40) } {
                calldatacopy(add(buffer, 0x20), line, 0x40)
                mstore(buffer, keccak256(buffer, 0x60))
            }
            result := mload(buffer)
        }
    }
}
