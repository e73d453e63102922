// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title IAgentRegistry
/// @notice The roles of agents. Bits: issuer 1, custody 2, payout 4, compliance 8.
/// A role is given for one offering, and then counts in its token only, or for the whole platform, and then counts
/// in every token of the registry.
/// @dev Only the owner writes. Ownership moves in two steps and cannot be renounced. The owner should be a multisig;
/// daily work does not need it.
///
/// A role ends in the transaction that removes it. A new role is announced by `RolesChanged` and counts after
/// `grantDelay`, so that everybody can see it before it can be used. No second transaction is needed.
interface IAgentRegistry {
    /// @notice The roles of an address were set. Emitted even if nothing changed.
    /// @param account The address.
    /// @param offeringId The offering; zero for the whole platform.
    /// @param roles The role bits that count now, if `effectiveAt` is later than the block.
    /// @param announced The role bits that are added at `effectiveAt`.
    /// @param effectiveAt When they count, in Unix seconds; 0 if none are added.
    event RolesChanged(
        address indexed account, bytes32 indexed offeringId, uint256 roles, uint256 announced, uint256 effectiveAt
    );

    /// @notice The zero address cannot hold a role.
    error AgentZero();
    /// @notice The id of an offering cannot be zero.
    error OfferingIdZero();
    /// @notice A bit is not a role.
    /// @param roles The role bits that were given.
    error UnknownRoles(uint256 roles);
    /// @notice The delay of a new registry is above the limit.
    /// @param delay The delay given, in seconds.
    error GrantDelayTooLong(uint256 delay);
    /// @notice Ownership can be transferred but not renounced, because a registry without an owner could never remove
    /// an agent.
    error OwnershipIsRequired();

    /// @notice Replaces the roles of an address on the whole platform. Owner only. Idempotent: a role that is announced
    /// already keeps its time.
    /// @param account The address; not zero.
    /// @param roles Its new role bits; 0 removes the agent at once. Roles that it does not have yet count after
    /// `grantDelay`.
    function setRoles(address account, uint256 roles) external;

    /// @notice Replaces the roles of an address for one offering. Owner only. Like `setRoles`.
    /// @param offeringId The offering; not zero. Its token need not exist yet.
    /// @param account The address; not zero.
    /// @param roles Its new role bits for this offering.
    function setRolesFor(bytes32 offeringId, address account, uint256 roles) external;

    /// @notice Returns how long a new role is announced before it counts. It never changes.
    /// @return The delay in seconds. 0, for development, makes every role count at once.
    function grantDelay() external view returns (uint256);

    /// @notice Returns whether an address holds any role on the whole platform.
    /// @param account The address.
    /// @return True if it holds at least one role. False for an agent of single offerings.
    function isAgent(address account) external view returns (bool);

    /// @notice Returns whether an address holds at least one role of a mask on the whole platform.
    /// @param account The address.
    /// @param mask The accepted roles, as bits.
    /// @return True if one of them is held.
    function hasRole(address account, uint256 mask) external view returns (bool);

    /// @notice Returns whether an address holds at least one role of a mask for an offering, or on the whole platform.
    /// @param offeringId The offering.
    /// @param account The address.
    /// @param mask The accepted roles, as bits.
    /// @return True if one of them is held.
    function hasRoleFor(bytes32 offeringId, address account, uint256 mask) external view returns (bool);

    /// @notice Returns the role bits of an address on the whole platform.
    /// @param account The address.
    /// @return Its role bits, 0 if it is not an agent.
    function rolesOf(address account) external view returns (uint256);

    /// @notice Returns the role bits that an address was given for one offering.
    /// @param offeringId The offering.
    /// @param account The address.
    /// @return Its role bits, without those on the whole platform.
    function rolesFor(bytes32 offeringId, address account) external view returns (uint256);

    /// @notice Returns roles that are announced and do not count yet.
    /// @param offeringId The offering; zero for the whole platform.
    /// @param account The address.
    /// @return roles The role bits, 0 if none are announced.
    /// @return effectiveAt When they count, in Unix seconds; 0 if none are announced.
    function announcedRoles(bytes32 offeringId, address account)
        external
        view
        returns (uint256 roles, uint256 effectiveAt);
}
