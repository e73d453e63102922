// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IRule144} from "../interfaces/IRule144.sol";
import {HolderSlotLibrary} from "./HolderSlot.sol";
import {HolderWord} from "./HolderWord.sol";
import {PartitionWord} from "./PartitionWord.sol";
import {Reasons} from "./Reasons.sol";
import {TokenRules} from "./TokenRules.sol";
import {TokenStorage} from "./TokenStorage.sol";
import {IERC1155Errors} from "@openzeppelin/contracts/interfaces/draft-IERC6093.sol";
import {IERC1155} from "@openzeppelin/contracts/token/ERC1155/IERC1155.sol";
import {ERC1155Utils} from "@openzeppelin/contracts/token/ERC1155/utils/ERC1155Utils.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";

/// @title TokenTransfers
/// @notice ERC-1155: balances, approvals and voluntary transfers. Every transfer must pass the predicate of `TokenRules`.
abstract contract TokenTransfers is TokenRules, ReentrancyGuardTransient, IERC1155Errors {
    /// @inheritdoc IERC1155
    function setApprovalForAll(address operator, bool approved) external {
        if (operator == address(0)) revert ERC1155InvalidOperator(operator);
        TokenStorage.state().approvals[msg.sender][operator] = approved;
        emit ApprovalForAll(msg.sender, operator, approved);
    }

    /// @inheritdoc IERC1155
    function safeTransferFrom(address from, address to, uint256 id, uint256 value, bytes calldata data)
        external
        nonReentrant
    {
        _requireApproved(from);
        _transfer(from, to, id, value);
        emit TransferSingle(msg.sender, from, to, id, value);
        ERC1155Utils.checkOnERC1155Received(msg.sender, from, to, id, value, data);
    }

    /// @inheritdoc IERC1155
    /// @dev Ids may repeat. Each line is checked after the lines before it took effect.
    function safeBatchTransferFrom(
        address from,
        address to,
        uint256[] calldata ids,
        uint256[] calldata values,
        bytes calldata data
    ) external nonReentrant {
        if (ids.length != values.length) revert LengthMismatch(ids.length, values.length);
        if (to == address(0)) revert ERC1155InvalidReceiver(to);
        _requireApproved(from);
        for (uint256 i; i < ids.length; ++i) {
            _transfer(from, to, ids[i], values[i]);
        }
        emit TransferBatch(msg.sender, from, to, ids, values);
        ERC1155Utils.checkOnERC1155BatchReceived(msg.sender, from, to, ids, values, data);
    }

    /// @inheritdoc IERC1155
    function balanceOf(address account, uint256 id) public view returns (uint256) {
        return _shown(_holding(account, id)).balance();
    }

    /// @inheritdoc IERC1155
    function balanceOfBatch(address[] calldata accounts, uint256[] calldata ids)
        external
        view
        returns (uint256[] memory balances)
    {
        if (accounts.length != ids.length) revert LengthMismatch(accounts.length, ids.length);
        balances = new uint256[](ids.length);
        for (uint256 i; i < ids.length; ++i) {
            balances[i] = balanceOf(accounts[i], ids[i]);
        }
    }

    /// @inheritdoc IERC1155
    function isApprovedForAll(address account, address operator) public view returns (bool) {
        return TokenStorage.state().approvals[account][operator];
    }

    function _transfer(address from, address to, uint256 partition, uint256 amount) private {
        PartitionWord partitionWord = TokenStorage.state().partitions[partition].word;
        TokenStorage.Holding storage source = _holding(from, partition);
        TokenStorage.Holding storage target = _holding(to, partition);
        bytes32 reason = _moveRefusal(partitionWord, source, target, Move(from, to, partition, amount));
        if (reason != Reasons.ALLOWED) revert TransferRefused(from, to, partition, amount, reason);
        if (amount == 0 || from == to) return;
        // The predicate has refused frozen wallets, and a retired one is frozen.
        HolderWord word = _settled(source.slot.living(), source, from, partition).debit(amount);
        source.slot = HolderSlotLibrary.stored(word);
        word = target.slot.living().credit(amount);
        if (partitionWord.asksRule144()) {
            target.slot = HolderSlotLibrary.stored(word.followed());
            IRule144(TokenStorage.state().rule144).onTransfer(from, to, partition, amount);
        } else {
            target.slot = HolderSlotLibrary.stored(word);
        }
    }

    /// @dev A frozen or retired operator is refused, so that a stolen key moves nobody's units once it is frozen.
    function _requireApproved(address from) private view {
        if (from == msg.sender) return;
        if (!isApprovedForAll(from, msg.sender)) revert ERC1155MissingApprovalForAll(msg.sender, from);
        _requireNotFrozen(msg.sender);
    }
}
