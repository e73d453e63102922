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
/// Each kind has numbers of its own, so an agent cannot use up the number of a call that its role does not allow. An
/// agent of the same role still can: compare `payloadHash`, not only kind and number.
///
/// The number of a recovery is stored with the lost wallet: `IPlatformSecurityToken7518.lastRecoveryOf` answers for it.
///
/// A number costs about 5,000 gas; the first of each 16 consecutive numbers, of any kind, costs 22,100.
interface IOperations {
    /// @notice An operation took effect.
    /// @param opId The operation number.
    /// @param kind The kind of the operation: a short ASCII string, left-aligned.
    /// @param payloadHash keccak256 of the complete calldata.
    event OperationExecuted(uint256 indexed opId, bytes32 indexed kind, bytes32 payloadHash);

    /// @notice The operation number was executed before by a call of this kind. Nothing changes.
    /// @param opId The operation number.
    error OperationReplayed(uint256 opId);
    /// @notice Operation numbers start at 1.
    error OperationIdZero();

    /// @notice Returns whether an operation number was executed on this contract by a call of a kind.
    /// @dev Never true for `recovery`, whose number is stored with the lost wallet. For a text that is no kind the answer
    /// means nothing.
    /// @param kind The kind, as in `OperationExecuted`.
    /// @param opId The operation number.
    /// @return True if it was executed.
    function isOperationExecuted(bytes32 kind, uint256 opId) external view returns (bool);
}
