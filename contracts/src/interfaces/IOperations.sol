// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title Operation ids: an effect happens at most once
/// @notice `opId` is dense per contract from 1. The platform gives one to each step (a page, a transfer, a recovery)
/// and keeps it through all attempts; the contract keeps the executed ids in a bitmap and refuses a second execution.
/// @dev THE RULE of `payloadHash`, the same for every kind and every contract of the platform:
/// `payloadHash = keccak256(msg.data)` of the call that the contract received, that is the four bytes of the selector
/// followed by the ABI-encoded arguments. Whoever built the calldata can compute it before sending. When the call comes
/// through another contract (for example the `TransferAgent`), it is the calldata of that inner call.
/// An id costs about 5,000 gas; each first id of 256 consecutive ones costs 22,100.
interface IOperations {
    /// @notice Operation `opId` of `kind` took effect. `kind` is a short ASCII word, left-aligned.
    event OperationExecuted(uint256 indexed opId, bytes32 indexed kind, bytes32 payloadHash);

    /// @notice `opId` was executed before; nothing changes.
    error OperationReplayed(uint256 opId);
    /// @notice Ids start at 1.
    error OperationIdZero();

    /// @notice Whether `opId` took effect on this contract.
    function isOperationExecuted(uint256 opId) external view returns (bool);
}
