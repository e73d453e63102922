// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC165} from "@openzeppelin/contracts/utils/introspection/IERC165.sol";

/// @title IERC7943MultiToken
/// @notice ERC-7943 (uRWA) for multi-tokens, which generic tools use to read and enforce on real-world-asset tokens.
/// The interface id is `0x41c4fbad`.
/// @dev README.md lists the deviations of our token. It never throws the four errors below, which belong to the ABI of
/// the standard.
interface IERC7943MultiToken is IERC165 {
    /// @notice An agent moved units from one address to another.
    /// @param from The holder.
    /// @param to The receiver.
    /// @param tokenId The partition.
    /// @param amount The units moved.
    event ForcedTransfer(address indexed from, address indexed to, uint256 indexed tokenId, uint256 amount);
    /// @notice The frozen units of a holder were set.
    /// @param account The holder.
    /// @param tokenId The partition.
    /// @param amount The units that are frozen now.
    event Frozen(address indexed account, uint256 indexed tokenId, uint256 amount);

    /// @notice An address may not send.
    /// @param account The address.
    error ERC7943CannotSend(address account);
    /// @notice An address may not receive.
    /// @param account The address.
    error ERC7943CannotReceive(address account);
    /// @notice A rule of the token refuses the transfer.
    /// @param from The sender.
    /// @param to The receiver.
    /// @param tokenId The partition.
    /// @param amount The units.
    error ERC7943CannotTransfer(address from, address to, uint256 tokenId, uint256 amount);
    /// @notice The amount exceeds the unfrozen balance.
    /// @param account The holder.
    /// @param tokenId The partition.
    /// @param amount The units requested.
    /// @param unfrozen The units that are not frozen.
    error ERC7943InsufficientUnfrozenBalance(address account, uint256 tokenId, uint256 amount, uint256 unfrozen);

    /// @notice Moves units from a frozen address, regardless of locks, whitelist and restriction. Role: custody.
    /// @dev Carries no operation number. The platform calls `forceTransfer`.
    /// @param from The frozen holder.
    /// @param to The receiver.
    /// @param tokenId The partition.
    /// @param amount The units.
    /// @return result Always true.
    function forcedTransfer(address from, address to, uint256 tokenId, uint256 amount) external returns (bool result);

    /// @notice Sets the frozen units of a holder; it does not add to them. Roles: custody, compliance.
    /// @dev Frozen units overlap units that are locked until a time: the greater number counts. They may exceed the
    /// balance; then units that the holder receives later are frozen too. A forced transfer or a redemption that takes
    /// frozen units lowers the number to the balance that is left.
    /// @param account The holder.
    /// @param tokenId The partition.
    /// @param amount The units to be frozen; 0 ends the freeze.
    /// @return result Always true.
    function setFrozenTokens(address account, uint256 tokenId, uint256 amount) external returns (bool result);

    /// @notice Returns whether an address may send: it is not zero and not frozen.
    /// @param account The address.
    /// @return allowed True if it may.
    function canSend(address account) external view returns (bool allowed);

    /// @notice Returns whether an address may receive: it is not zero and not frozen. Whitelists do not count.
    /// @param account The address.
    /// @return allowed True if it may.
    function canReceive(address account) external view returns (bool allowed);

    /// @notice Returns the frozen units of a holder.
    /// @param account The holder.
    /// @param tokenId The partition.
    /// @return amount The units set by `setFrozenTokens`, or less if a forced transfer or a redemption took some.
    function getFrozenTokens(address account, uint256 tokenId) external view returns (uint256 amount);

    /// @notice Returns whether a transfer would pass every rule now. See `IERC7518.canTransfer`.
    /// @param from The sender. For zero, which cannot send, the answer is false.
    /// @param to The receiver.
    /// @param tokenId The partition.
    /// @param amount The units.
    /// @return allowed True if it would.
    function canTransfer(address from, address to, uint256 tokenId, uint256 amount) external view returns (bool allowed);
}
