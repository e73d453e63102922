// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title Role bits of an agent
/// @notice An agent's roles are one word in the `AgentRegistry`; each function names the bits of which one suffices.
library Roles {
    /// @notice Deploys offerings, mints, locks, manages partitions and caps.
    uint256 internal constant ISSUER = 1 << 0;
    /// @notice Moves holdings without the holder: forced transfer and recovery.
    uint256 internal constant CUSTODY = 1 << 1;
    /// @notice Pays holders: payouts and distributions.
    uint256 internal constant PAYOUT = 1 << 2;
    /// @notice Whitelists, freezes, restricts and sets the holding-period module.
    uint256 internal constant COMPLIANCE = 1 << 3;
    /// @notice Every role there is; a word with any other bit is refused.
    uint256 internal constant ALL = ISSUER | CUSTODY | PAYOUT | COMPLIANCE;
}
