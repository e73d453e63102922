// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Roles} from "../Roles.sol";
import {IERC7518} from "../interfaces/IERC7518.sol";
import {IPlatformSecurityToken7518} from "../interfaces/IPlatformSecurityToken7518.sol";
import {PartitionWord, PartitionWordLibrary} from "./PartitionWord.sol";
import {TokenRules} from "./TokenRules.sol";
import {TokenStorage} from "./TokenStorage.sol";
import {TotalWord} from "./TotalWord.sol";

/// @title TokenPartitions
/// @notice Partitions, caps, restrictions, and the Rule 144 module.
abstract contract TokenPartitions is TokenRules {
    /// @dev Limit of partitions. `recoveryAddress` visits all of them in one transaction.
    uint256 internal constant _PARTITIONS_MAX = 32;

    /// @inheritdoc IPlatformSecurityToken7518
    function addPartition(uint256 partition, PartitionTerms calldata terms) external onlyRole(Roles.ISSUER) {
        uint256 expected = partitionCount() + 1;
        if (expected > _PARTITIONS_MAX) revert PartitionCountOutOfRange(expected);
        if (partition != expected) revert PartitionOutOfOrder(expected, partition);
        TokenStorage.state().total = _create(TokenStorage.state().total, partition, terms);
    }

    /// @inheritdoc IPlatformSecurityToken7518
    function setCap(uint256 partition, uint256 cap) external onlyRole(Roles.ISSUER) {
        _requireFitting(cap);
        if (partition == 0) {
            TotalWord total = TokenStorage.state().total;
            if (cap < total.supply()) revert CapBelowSupply(0, cap, total.supply());
            TokenStorage.state().total = total.withCap(cap);
        } else {
            PartitionWord word = _partition(partition);
            if (cap < word.supply()) revert CapBelowSupply(partition, cap, word.supply());
            TokenStorage.state().partitions[partition].word = word.withCap(cap);
        }
        emit CapChanged(partition, cap);
    }

    /// @inheritdoc IPlatformSecurityToken7518
    function pause() external onlyRole(Roles.COMPLIANCE | Roles.CUSTODY) {
        _setPaused(true);
        emit Paused(msg.sender);
    }

    /// @inheritdoc IPlatformSecurityToken7518
    function unpause() external onlyRole(Roles.COMPLIANCE) {
        _setPaused(false);
        emit Unpaused(msg.sender);
    }

    /// @inheritdoc IPlatformSecurityToken7518
    function paused() external view returns (bool) {
        return TokenStorage.state().total.isPaused();
    }

    /// @inheritdoc IERC7518
    function restrictTransfer(uint256 id) external onlyRole(Roles.COMPLIANCE) returns (bool) {
        TokenStorage.state().partitions[id].word = _partition(id).withRestricted(true);
        emit TransferRestricted(id);
        return true;
    }

    /// @inheritdoc IERC7518
    function removeRestriction(uint256 id) external onlyRole(Roles.COMPLIANCE) returns (bool) {
        PartitionWord word = _partition(id);
        if (!word.isRestricted()) revert NotRestricted(id);
        TokenStorage.state().partitions[id].word = word.withRestricted(false);
        emit TransferRestrictionRemoved(id);
        return true;
    }

    /// @inheritdoc IPlatformSecurityToken7518
    function setRule144(address module) external onlyRole(Roles.COMPLIANCE) {
        if (module != address(0) && module.code.length == 0) revert NotAContract(module);
        TokenStorage.state().rule144 = module;
        emit Rule144Changed(module);
    }

    /// @inheritdoc IPlatformSecurityToken7518
    function rule144() external view returns (address) {
        return TokenStorage.state().rule144;
    }

    /// @inheritdoc IPlatformSecurityToken7518
    function totalSupply() external view returns (uint256) {
        return TokenStorage.state().total.supply();
    }

    /// @inheritdoc IPlatformSecurityToken7518
    function totalSupply(uint256 partition) external view returns (uint256) {
        return TokenStorage.state().partitions[partition].word.supply();
    }

    /// @inheritdoc IPlatformSecurityToken7518
    function totalCap() external view returns (uint256) {
        return TokenStorage.state().total.cap();
    }

    /// @inheritdoc IPlatformSecurityToken7518
    function partitionCount() public view returns (uint256) {
        return TokenStorage.state().total.count();
    }

    /// @inheritdoc IPlatformSecurityToken7518
    function partitionOf(uint256 partition) external view returns (Partition memory) {
        PartitionWord word = _partition(partition);
        return Partition(word.supply(), word.cap(), word.isRestricted(), word.asksRule144());
    }

    /// @inheritdoc IPlatformSecurityToken7518
    function isRestricted(uint256 partition) external view returns (bool) {
        return TokenStorage.state().partitions[partition].word.isRestricted();
    }

    /// @dev Writes every partition, so that a transfer and a mint need not read one slot more.
    function _setPaused(bool paused_) private {
        TokenStorage.Layout storage $ = TokenStorage.state();
        TotalWord total = $.total;
        uint256 count = total.count();
        $.total = total.withPaused(paused_);
        for (uint256 partition = 1; partition <= count; ++partition) {
            $.partitions[partition].word = $.partitions[partition].word.withPaused(paused_);
        }
    }

    /// @dev Stores the partition and returns the total word that counts it. The caller stores the total word.
    function _create(TotalWord total, uint256 partition, PartitionTerms calldata terms) internal returns (TotalWord) {
        _requireFitting(terms.cap);
        TokenStorage.state().partitions[partition].word =
            PartitionWordLibrary.create(terms.cap, terms.restricted, terms.rule144).withPaused(total.isPaused());
        emit PartitionAdded(partition, terms.cap, terms.restricted, terms.rule144);
        return total.withPartition(terms.rule144);
    }
}
