// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IOperations} from "./interfaces/IOperations.sol";

/// @title Operations
/// @notice The executed operation numbers of a contract, one bit for each kind and number. See `IOperations`.
/// @dev The sender's nonce is the first guard against a second execution. This is the second one, which still works after
/// a database was restored or a final block was reorganised.
///
/// A word holds 16 consecutive numbers of all 16 kinds: kind in the high four bits of the index, number in the low four.
/// So kinds that are rare share the word that the others have paid for.
abstract contract Operations is IOperations {
    /// @custom:storage-location erc7201:muniment.storage.Operations
    struct OperationsStorage {
        mapping(uint256 page => uint256 bits) executed;
    }

    bytes32 internal constant _MINT_PAGE = "mint_page";
    bytes32 internal constant _MINT = "mint";
    bytes32 internal constant _LOCK_PAGE = "lock_page";
    bytes32 internal constant _LOCK = "lock";
    bytes32 internal constant _PAYOUT_PAGE = "payout_page";
    bytes32 internal constant _PAYOUT = "payout";
    bytes32 internal constant _FORCE_TRANSFER = "force_transfer";
    bytes32 internal constant _REDEEM = "redeem";
    bytes32 internal constant _RELEASE_LOCK = "release_lock";
    bytes32 internal constant _REINSTATE = "reinstate";
    /// @dev Its bit is never set. The wallet that it retires stores its number.
    bytes32 internal constant _RECOVERY = "recovery";

    /// @dev keccak256(abi.encode(uint256(keccak256("muniment.storage.Operations")) - 1)) & ~bytes32(uint256(0xff))
    bytes32 private constant _OPERATIONS_SLOT = 0x80710232219bbcd9d8e3b3103b0f740788150b08bfcd36f00f6f074f6f6b6700;

    /// @inheritdoc IOperations
    function isOperationExecuted(bytes32 kind, uint256 opId) external view returns (bool) {
        (uint256 page, uint256 bit) = _placeOf(kind, opId);
        return _operations().executed[page] & bit != 0;
    }

    /// @dev Marks `opId` as executed before any of its effects, so that a reentrant second execution reverts.
    function _execute(uint256 opId, bytes32 kind) internal {
        if (opId == 0) revert OperationIdZero();
        (uint256 page, uint256 bit) = _placeOf(kind, opId);
        mapping(uint256 page => uint256 bits) storage executed = _operations().executed;
        uint256 bits = executed[page];
        if (bits & bit != 0) revert OperationReplayed(opId);
        executed[page] = bits | bit;
        _report(opId, kind);
    }

    function _report(uint256 opId, bytes32 kind) internal {
        emit OperationExecuted(opId, kind, keccak256(msg.data));
    }

    function _placeOf(bytes32 kind, uint256 opId) private pure returns (uint256 page, uint256 bit) {
        return (opId >> 4, 1 << ((_indexOf(kind) << 4) | (opId & 0xf)));
    }

    /// @dev The place of a kind in a word: a remainder that differs for all eleven kinds. It never changes.
    function _indexOf(bytes32 kind) private pure returns (uint256) {
        return (uint256(kind) % 149) & 0xf;
    }

    function _operations() private pure returns (OperationsStorage storage $) {
        assembly ("memory-safe") {
            $.slot := _OPERATIONS_SLOT
        }
    }
}
