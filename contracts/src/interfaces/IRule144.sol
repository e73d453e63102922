// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

/// @title The holding-period hook between a token and its `Rule144` module
/// @notice A token asks and informs the module only for partitions whose Rule 144 flag is set; others pay nothing.
/// @dev The caller of all three functions is the token: one module serves one token. The module is named by the
/// compliance role (`setRule144`), is trusted by the token, and must not call back into a mutating function of it.
/// The token notifies after its own effects, in the same transaction; a notification that reverts reverts the whole.
interface IRule144 {
    /// @notice Why units moved from one holder to another.
    /// @custom:value Transfer a voluntary transfer: the receiver's holding period starts now.
    /// @custom:value Forced a forced transfer: lots move with their dates, and without asking `check`.
    /// @custom:value Recovery a lost wallet's holding moves whole: lots move with their dates (tacking).
    enum Move {
        Transfer,
        Forced,
        Recovery
    }

    /// @notice Whether `from` may move `units` of `partition` to `to` now.
    /// @dev Asked last in the token's predicate, so balance, locks, freeze and whitelist already allow the transfer.
    /// @return allowed true if the holding period and the volume limit allow it.
    /// @return reason 0 when allowed, else a short ASCII word that the token hands on as its own reason.
    function check(address from, address to, uint256 partition, uint256 units)
        external
        view
        returns (bool allowed, bytes32 reason);

    /// @notice `units` of `partition` were minted to `holder` now.
    function onAcquired(address holder, uint256 partition, uint256 units) external;

    /// @notice `units` of `partition` moved from `from` to `to`. Never called with `units` 0 or `from == to`.
    function onMoved(address from, address to, uint256 partition, uint256 units, Move move) external;
}
