// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title IAgentRegistry
/// @notice The roles of the platform's agents: one word of role bits per address.
/// Bits: issuer 1, custody 2, payout 4, compliance 8. A role holds for every token of the registry.
/// @dev Only the owner writes. Ownership moves in two steps and cannot be renounced. The owner should be a multisig;
/// daily work does not need it.
interface IAgentRegistry {
    /// @notice The roles of an address were set. Emitted even if nothing changed.
    /// @param account The address.
    /// @param previous Its role bits before.
    /// @param current Its role bits now.
    event RolesChanged(address indexed account, uint256 previous, uint256 current);

    /// @notice The zero address cannot hold a role.
    error AgentZero();
    /// @notice A bit is not a role.
    /// @param roles The role bits that were given.
    error UnknownRoles(uint256 roles);
    /// @notice Ownership can be transferred but not renounced, because a registry without an owner could never remove
    /// an agent.
    error OwnershipIsRequired();

    /// @notice Replaces the roles of an address. Owner only. Idempotent.
    /// @param account The address; not zero.
    /// @param roles Its new role bits; 0 removes the agent.
    function setRoles(address account, uint256 roles) external;

    /// @notice Returns whether an address holds any role.
    /// @param account The address.
    /// @return True if it holds at least one role.
    function isAgent(address account) external view returns (bool);

    /// @notice Returns whether an address holds at least one role of a mask.
    /// @param account The address.
    /// @param mask The accepted roles, as bits.
    /// @return True if one of them is held.
    function hasRole(address account, uint256 mask) external view returns (bool);

    /// @notice Returns the role bits of an address.
    /// @param account The address.
    /// @return Its role bits, 0 if it is not an agent.
    function rolesOf(address account) external view returns (uint256);
}
