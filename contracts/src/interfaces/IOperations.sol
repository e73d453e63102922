// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title IOperations
/// @notice Operation numbers: each effect happens at most once.
/// The platform gives one number to each step (a page, a transfer, a recovery), counting from 1 for each contract, and
/// keeps it through all attempts. The contract keeps a bitmap of executed numbers and refuses a second execution.
/// @dev The payload hash is `keccak256(msg.data)` of the call that the contract received: selector and ABI-encoded
/// arguments. This is the same for every kind and every contract, so the sender can compute it beforehand. If the call
/// comes through another contract, such as the `TransferAgent`, it is the calldata of that inner call.
///
/// All kinds and all roles share one sequence of numbers. Compare `payloadHash`, not only the number: an agent of any
/// role can use a number up with a call of its own.
///
/// A number costs about 5,000 gas; the first of each 256 consecutive numbers costs 22,100.
interface IOperations {
    /// @notice An operation took effect.
    /// @param opId The operation number.
    /// @param kind The kind of the operation: a short ASCII string, left-aligned.
    /// @param payloadHash keccak256 of the complete calldata.
    event OperationExecuted(uint256 indexed opId, bytes32 indexed kind, bytes32 payloadHash);

    /// @notice The operation number was executed before. Nothing changes.
    /// @param opId The operation number.
    error OperationReplayed(uint256 opId);
    /// @notice Operation numbers start at 1.
    error OperationIdZero();

    /// @notice Returns whether an operation number was executed on this contract, by any kind of call.
    /// @param opId The operation number.
    /// @return True if it was executed.
    function isOperationExecuted(uint256 opId) external view returns (bool);
}
