// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title Who may act for the platform
/// @notice One word of role bits per address. Bits: issuer 1, custody 2, payout 4, compliance 8.
/// @dev The owner (two-step transfer, cannot be renounced) is the only one who writes. Owner actions are meant for a
/// multisig; no contract of the platform needs the owner in its daily work.
interface IAgentRegistry {
    /// @notice The role word of `account` changed from `previous` to `current`. Emitted for a no-op too.
    event RolesChanged(address indexed account, uint256 previous, uint256 current);

    /// @notice The zero address cannot hold a role.
    error AgentZero();
    /// @notice `roles` holds a bit that is no role.
    error UnknownRoles(uint256 roles);
    /// @notice A registry without an owner could never remove an agent again, so ownership is only handed over.
    error OwnershipIsRequired();

    /// @notice Replaces the role word of `account`; 0 removes the agent. Owner only, idempotent.
    function setRoles(address account, uint256 roles) external;

    /// @notice Whether `account` holds any role.
    function isAgent(address account) external view returns (bool);

    /// @notice Whether `account` holds at least one of the roles in `mask`.
    function hasRole(address account, uint256 mask) external view returns (bool);

    /// @notice The role word of `account`.
    function rolesOf(address account) external view returns (uint256);
}
