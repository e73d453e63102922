// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IOperations} from "./interfaces/IOperations.sol";

/// @title Operations
/// @notice The executed operation numbers of a contract, one bit each. See `IOperations`.
/// @dev The sender's nonce is the first guard against a second execution. This is the second one, which still works after
/// a database was restored or a final block was reorganised.
abstract contract Operations is IOperations {
    /// @custom:storage-location erc7201:muniment.storage.Operations
    struct OperationsStorage {
        mapping(uint256 page => OperationBits) executed;
    }

    /// @notice 256 consecutive operation numbers, the lowest in the lowest bit.
    struct OperationBits {
        uint256 bits;
    }

    /// @dev keccak256(abi.encode(uint256(keccak256("muniment.storage.Operations")) - 1)) & ~bytes32(uint256(0xff))
    bytes32 private constant _OPERATIONS_SLOT = 0x80710232219bbcd9d8e3b3103b0f740788150b08bfcd36f00f6f074f6f6b6700;

    /// @inheritdoc IOperations
    function isOperationExecuted(uint256 opId) external view returns (bool) {
        return _operations().executed[opId >> 8].bits & (1 << (opId & 0xff)) != 0;
    }

    /// @dev Marks `opId` as executed before any of its effects, so that a reentrant second execution reverts.
    function _execute(uint256 opId, bytes32 kind) internal {
        if (opId == 0) revert OperationIdZero();
        OperationBits storage page = _operations().executed[opId >> 8];
        uint256 bits = page.bits;
        uint256 bit = 1 << (opId & 0xff);
        if (bits & bit != 0) revert OperationReplayed(opId);
        page.bits = bits | bit;
        emit OperationExecuted(opId, kind, keccak256(msg.data));
    }

    function _operations() private pure returns (OperationsStorage storage $) {
        assembly ("memory-safe") {
            $.slot := _OPERATIONS_SLOT
        }
    }
}
