// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title Roles
/// @notice The role bits of an agent. Each function accepts one or more roles, and one of them suffices.
library Roles {
    /// @notice Deploys offerings, mints, locks, manages partitions and caps.
    uint256 internal constant ISSUER = 1 << 0;
    /// @notice Moves holdings without the holder: forced transfer and recovery.
    uint256 internal constant CUSTODY = 1 << 1;
    /// @notice Pays holders: payouts and distributions.
    uint256 internal constant PAYOUT = 1 << 2;
    /// @notice Whitelists, freezes, restricts and sets the holding-period module.
    uint256 internal constant COMPLIANCE = 1 << 3;
    /// @notice All roles. `AgentRegistry` refuses any other bit.
    uint256 internal constant ALL = ISSUER | CUSTODY | PAYOUT | COMPLIANCE;
}
