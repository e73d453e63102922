// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title Reasons
/// @notice The reasons for which the token refuses a transfer, as short ASCII strings. 0 means allowed.
library Reasons {
    bytes32 internal constant ALLOWED = 0;
    bytes32 internal constant PAUSED = "paused";
    bytes32 internal constant UNKNOWN_PARTITION = "unknown_partition";
    bytes32 internal constant TO_ZERO = "to_zero";
    bytes32 internal constant RESTRICTED = "restricted";
    bytes32 internal constant FROM_FROZEN = "from_frozen";
    bytes32 internal constant TO_FROZEN = "to_frozen";
    bytes32 internal constant TO_NOT_WHITELISTED = "to_not_whitelisted";
    bytes32 internal constant INSUFFICIENT_BALANCE = "insufficient_balance";
    bytes32 internal constant LOCKED = "locked";
    bytes32 internal constant ZERO_AMOUNT = "zero_amount";
    bytes32 internal constant CAP = "cap";
    bytes32 internal constant TOTAL_CAP = "total_cap";
    bytes32 internal constant RULE144_UNSET = "rule144_unset";
    bytes32 internal constant RULE144_NOT_SERVED = "rule144_not_served";
    bytes32 internal constant RULE144 = "rule144";
}
