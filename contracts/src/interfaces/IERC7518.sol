// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title IERC7518
/// @notice ERC-7518, a partitioned security token on ERC-1155: each id is a partition with its own rules.
/// The interface id of the standard's text is `0x5a264a5d`.
/// @dev Selectors, events and return types equal the standard's, but for one: `canTransfer` returns a pair. A caller that
/// decodes one bool reads the first word and is right.
interface IERC7518 {
    /// @notice Units were locked, in addition to units locked before.
    /// @param account The holder.
    /// @param id The partition.
    /// @param amount The units added to the lock.
    /// @param releaseTime When they become free, in Unix seconds.
    event TokensLocked(address indexed account, uint256 indexed id, uint256 amount, uint256 releaseTime);
    /// @notice Every due lock of a holder in a partition was removed from storage.
    /// @param account The holder.
    /// @param id The partition.
    event TokenUnlocked(address indexed account, uint256 indexed id);
    /// @notice An agent moved units from a frozen address.
    /// @param from The frozen holder.
    /// @param to The receiver.
    /// @param id The partition.
    /// @param amount The units moved.
    event TokensForceTransferred(address indexed from, address indexed to, uint256 indexed id, uint256 amount);
    /// @notice An address is frozen. Emitted even if it was frozen before.
    /// @param account The address.
    /// @param data The agent's reference.
    event AddressFrozen(address indexed account, bytes data);
    /// @notice An address is not frozen. Emitted even if it was not frozen before.
    /// @param account The address.
    /// @param data The agent's reference.
    event AddressUnfrozen(address indexed account, bytes data);
    /// @notice Voluntary transfers of a partition are stopped. Emitted even if they were stopped before.
    /// @param id The partition.
    event TransferRestricted(uint256 indexed id);
    /// @notice Voluntary transfers of a partition are allowed again.
    /// @param id The partition.
    event TransferRestrictionRemoved(uint256 indexed id);
    /// @notice A payee was paid.
    /// @param from The agent that paid.
    /// @param to The payee.
    /// @param amount Units of the asset that was paid.
    event PayoutDelivered(address indexed from, address indexed to, uint256 amount);

    /// @notice Returns the units of a holder that are neither locked nor frozen by `setFrozenTokens` now. A freeze of the
    /// address, a restriction and a pause do not count.
    /// @param account The holder.
    /// @param id The partition.
    /// @return The balance less `lockedBalanceOf`.
    function transferableBalance(address account, uint256 id) external view returns (uint256);

    /// @notice Returns the units of a holder that may not move now: those whose release time is in the future, or those
    /// frozen by `setFrozenTokens`, whichever are more. They overlap. At most the balance.
    /// @param account The holder.
    /// @param id The partition.
    /// @return The units that may not move.
    function lockedBalanceOf(address account, uint256 id) external view returns (uint256);

    /// @notice Stops voluntary transfers of a partition. Idempotent. Role: compliance.
    /// @param id The partition.
    /// @return Always true.
    function restrictTransfer(uint256 id) external returns (bool);

    /// @notice Allows voluntary transfers of a partition again. Reverts if it is not restricted. Role: compliance.
    /// @param id The partition.
    /// @return Always true.
    function removeRestriction(uint256 id) external returns (bool);

    /// @notice Returns whether a transfer would pass every rule now, and if not, why.
    /// @dev `safeTransferFrom` enforces the same predicate. Approval and the receiver hook are not part of it.
    /// @param from The sender, or zero to ask about a `batchMint` to `to`.
    /// @param to The receiver.
    /// @param id The partition.
    /// @param amount The units.
    /// @param data Ignored.
    /// @return allowed True if `reason` is 0.
    /// @return reason `paused, unknown_partition, to_zero, restricted, from_frozen, to_frozen, to_not_whitelisted,
    /// insufficient_balance, locked, zero_amount, cap, total_cap, rule144_unset, rule144_not_served, rule144`, or another
    /// reason of the Rule 144 module.
    function canTransfer(address from, address to, uint256 id, uint256 amount, bytes calldata data)
        external
        view
        returns (bool allowed, bytes32 reason);

    /// @notice Locks more units of a holder. Roles: issuer, compliance.
    /// @dev Reverts if all locks together would exceed the balance. Locks with the same release time merge.
    /// @param account The holder.
    /// @param id The partition.
    /// @param amount The units to lock.
    /// @param releaseTime When they become free, in Unix seconds: in the future, at most 20 years ahead.
    /// @return Always true.
    function lockTokens(address account, uint256 id, uint256 amount, uint256 releaseTime) external returns (bool);

    /// @notice Removes every due lock of a holder from storage. Reverts if none is due. Any agent.
    /// @dev Units whose release time has come move without this call.
    /// @param account The holder.
    /// @param id The partition.
    function unlockToken(address account, uint256 id) external;

    /// @notice Moves units from a frozen address, regardless of whitelist, restriction and locks. Role: custody.
    /// @dev Reverts unless `from` is frozen, and if `to` is frozen. Unlocked units go first, then the latest locks are
    /// cut.
    /// @param from The frozen holder.
    /// @param to The receiver.
    /// @param id The partition.
    /// @param amount The units.
    /// @param data Empty for no operation number, or at least 32 bytes whose first word is the operation number.
    /// Further bytes, for example the hash of a document, count in the payload hash only.
    /// @return Always true.
    function forceTransfer(address from, address to, uint256 id, uint256 amount, bytes calldata data)
        external
        returns (bool);

    /// @notice Freezes an address: it cannot send, receive, be minted to or be paid. Idempotent.
    /// Roles: compliance, custody.
    /// @dev It cannot act as operator for other holders either.
    /// @param account The address.
    /// @param data The agent's reference, for the event.
    /// @return Always true.
    function freezeAddress(address account, bytes calldata data) external returns (bool);

    /// @notice Ends the freeze of an address. Idempotent. Reverts for an address that was recovered. Role: compliance.
    /// @param account The address.
    /// @param data The agent's reference, for the event.
    /// @return Always true.
    function unFreeze(address account, bytes calldata data) external returns (bool);

    /// @notice Pays in the token's payout asset, from the caller. Reverts if the payee is frozen. Role: payout.
    /// @dev The platform calls the overload with an operation number.
    /// @param to The payee.
    /// @param amount Units of the payout asset.
    /// @return Always true.
    function payout(address to, uint256 amount) external returns (bool);

    /// @notice Pays many payees in the token's payout asset, from the caller; all or nothing. Role: payout.
    /// @dev The platform calls the overload with an operation number.
    /// @param to The payees.
    /// @param amount Units of the payout asset for each payee, in the same order.
    /// @return Always true.
    function batchPayout(address[] calldata to, uint256[] calldata amount) external returns (bool);
}
