// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title ERC-7518 as this platform speaks it; interface id of the printed text `0x5a264a5d`
/// @notice Partitioned security token on ERC-1155: each id is a partition with rules of its own.
/// @dev Selectors equal the standard's. One difference: `canTransfer` returns a pair (allowed, reason); a caller that
/// decodes a single bool reads the first word and is right.
interface IERC7518 {
    /// @notice `amount` of `id` of `account` is locked until `releaseTime`, in addition to what was locked before.
    event TokensLocked(address indexed account, uint256 indexed id, uint256 amount, uint256 releaseTime);
    /// @notice Every lock of `account` in `id` that was due was taken off the books.
    event TokenUnlocked(address indexed account, uint256 indexed id);
    /// @notice An agent moved `amount` of `id` from a frozen address.
    event TokensForceTransferred(address indexed from, address indexed to, uint256 indexed id, uint256 amount);
    /// @notice `account` is frozen; `data` is the agent's reference. Emitted for a no-op too.
    event AddressFrozen(address indexed account, bytes data);
    /// @notice `account` is not frozen; `data` is the agent's reference. Emitted for a no-op too.
    event AddressUnfrozen(address indexed account, bytes data);
    /// @notice Partition `id` is restricted: no voluntary transfer. Emitted for a no-op too.
    event TransferRestricted(uint256 indexed id);
    /// @notice Partition `id` is not restricted any more.
    event TransferRestrictionRemoved(uint256 indexed id);
    /// @notice `to` was paid `amount` of the payout asset by `from`.
    event PayoutDelivered(address indexed from, address indexed to, uint256 amount);

    /// @notice Balance of `account` in `id` that is not locked now. Freeze and restriction are not part of it.
    function transferableBalance(address account, uint256 id) external view returns (uint256);

    /// @notice Units of `account` in `id` whose release time is still to come.
    function lockedBalanceOf(address account, uint256 id) external view returns (uint256);

    /// @notice Stops voluntary transfers of partition `id`. Idempotent. Role: compliance.
    function restrictTransfer(uint256 id) external returns (bool);

    /// @notice Allows voluntary transfers of `id` again; reverts if it is not restricted. Role: compliance.
    function removeRestriction(uint256 id) external returns (bool);

    /// @notice Whether a transfer would pass every rule now, and if not, why.
    /// @dev The very predicate that `safeTransferFrom` enforces; approval and the receiver hook are not part of it.
    /// With `from` zero it answers for a `batchMint` of `amount` to `to`.
    /// @return allowed true when `reason` is 0.
    /// @return reason `unknown_partition, to_zero, restricted, from_frozen, to_frozen, to_not_whitelisted,
    /// insufficient_balance, locked, cap, total_cap, rule144_unset`, or the word of the Rule 144 module.
    function canTransfer(address from, address to, uint256 id, uint256 amount, bytes calldata data)
        external
        view
        returns (bool allowed, bytes32 reason);

    /// @notice Locks `amount` more of `id` of `account` until `releaseTime`. Roles: issuer, compliance.
    /// @dev Reverts if all locks together would exceed the balance. Equal release times merge.
    function lockTokens(address account, uint256 id, uint256 amount, uint256 releaseTime) external returns (bool);

    /// @notice Takes every due lock of `account` in `id` off the books; reverts if none is due. Any agent.
    /// @dev A lock ends by time alone; this call is never needed for the units to move.
    function unlockToken(address account, uint256 id) external;

    /// @notice Moves `amount` of `id` from a frozen address, past whitelist, restriction and locks. Role: custody.
    /// @dev Reverts unless `from` is frozen, and if `to` is. Unlocked units go first, then the latest locks are cut.
    /// @param data empty (the plain ERC form, no operation id), or at least 32 bytes whose first word is the `opId`;
    /// what follows (an evidence hash, say) is only part of the payload hash.
    function forceTransfer(address from, address to, uint256 id, uint256 amount, bytes calldata data)
        external
        returns (bool);

    /// @notice Freezes `account`: it can neither send, receive, be minted to nor be paid. Idempotent.
    /// Roles: compliance, custody.
    function freezeAddress(address account, bytes calldata data) external;

    /// @notice Ends the freeze of `account`. Idempotent; reverts for an address that was recovered. Role: compliance.
    function unFreeze(address account, bytes calldata data) external;

    /// @notice Pays `amount` of the token's payout asset from the caller to `to`; reverts if `to` is frozen.
    /// Role: payout. The platform calls the overload with an `opId`.
    function payout(address to, uint256 amount) external returns (bool);

    /// @notice `payout` for many; all or nothing. Role: payout. The platform calls the overload with an `opId`.
    function batchPayout(address[] calldata to, uint256[] calldata amount) external returns (bool);
}
