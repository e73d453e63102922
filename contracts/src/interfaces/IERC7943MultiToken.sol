// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC165} from "@openzeppelin/contracts/utils/introspection/IERC165.sol";

/// @title ERC-7943 (uRWA), multi-token flavour; interface id `0x41c4fbad`
/// @notice A common face for real-world-asset tokens, so that generic tools can read and enforce without knowing ours.
interface IERC7943MultiToken is IERC165 {
    /// @notice `amount` of `tokenId` was taken from `from` and given to `to`.
    event ForcedTransfer(address indexed from, address indexed to, uint256 indexed tokenId, uint256 amount);
    /// @notice The frozen units of `account` in `tokenId` are now `amount`.
    event Frozen(address indexed account, uint256 indexed tokenId, uint256 amount);

    /// @notice `account` may not send.
    error ERC7943CannotSend(address account);
    /// @notice `account` may not receive.
    error ERC7943CannotReceive(address account);
    /// @notice The transfer is against the token's rules.
    error ERC7943CannotTransfer(address from, address to, uint256 tokenId, uint256 amount);
    /// @notice More than the unfrozen balance was asked for.
    error ERC7943InsufficientUnfrozenBalance(address account, uint256 tokenId, uint256 amount, uint256 unfrozen);

    /// @notice Takes `amount` of `tokenId` from `from` and gives it to `to`, past locks, whitelist and restriction.
    function forcedTransfer(address from, address to, uint256 tokenId, uint256 amount) external returns (bool result);

    /// @notice Sets (does not add to) the frozen units of `account` in `tokenId`.
    function setFrozenTokens(address account, uint256 tokenId, uint256 amount) external returns (bool result);

    /// @notice Whether `account` may send at all.
    function canSend(address account) external view returns (bool allowed);

    /// @notice Whether `account` may receive at all.
    function canReceive(address account) external view returns (bool allowed);

    /// @notice The frozen units of `account` in `tokenId`.
    function getFrozenTokens(address account, uint256 tokenId) external view returns (uint256 amount);

    /// @notice Whether the transfer would be carried out now.
    function canTransfer(address from, address to, uint256 tokenId, uint256 amount) external view returns (bool allowed);
}
