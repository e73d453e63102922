// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Roles} from "../Roles.sol";
import {IPlatformSecurityToken7518} from "../interfaces/IPlatformSecurityToken7518.sol";
import {IRule144} from "../interfaces/IRule144.sol";
import {HolderSlotLibrary} from "./HolderSlot.sol";
import {HolderWord} from "./HolderWord.sol";
import {PageLine} from "./PageLine.sol";
import {PartitionWord} from "./PartitionWord.sol";
import {TokenLocks} from "./TokenLocks.sol";
import {TokenStorage} from "./TokenStorage.sol";
import {TotalWord} from "./TotalWord.sol";

/// @title TokenIssuance
/// @notice The whitelist, and mints.
abstract contract TokenIssuance is TokenLocks {
    /// @inheritdoc IPlatformSecurityToken7518
    function batchWhitelist(uint256 partition, address[] calldata holders, bool allowed)
        external
        onlyRole(Roles.ISSUER | Roles.COMPLIANCE)
    {
        if (holders.length == 0) revert EmptyPage();
        _partition(partition);
        for (uint256 i; i < holders.length; ++i) {
            _requireNotZero(holders[i]);
            TokenStorage.Holding storage holding = _holding(holders[i], partition);
            _requireLiving(holders[i]);
            HolderWord word = holding.slot.living();
            holding.slot = HolderSlotLibrary.stored(allowed ? word.whitelisted() : word.unlisted());
            emit HolderWhitelisted(holders[i], partition, allowed);
        }
    }

    /// @inheritdoc IPlatformSecurityToken7518
    function mintPage(uint256 opId, uint256 partition, uint256 releaseAt, bytes32[] calldata lines)
        external
        onlyRole(Roles.ISSUER)
    {
        _execute(opId, _MINT_PAGE);
        if (releaseAt != 0) _requireRelease(releaseAt);
        _mint(partition, releaseAt, lines, true);
    }

    /// @inheritdoc IPlatformSecurityToken7518
    function batchMint(uint256 opId, uint256 partition, bytes32[] calldata lines) external onlyRole(Roles.ISSUER) {
        _execute(opId, _MINT);
        _mint(partition, 0, lines, false);
    }

    /// @inheritdoc IPlatformSecurityToken7518
    function isWhitelisted(address holder, uint256 partition) external view returns (bool) {
        return _shown(_holding(holder, partition)).isWhitelisted();
    }

    /// @dev Writes the supplies once for the page. A restriction stops transfers, not mints.
    function _mint(uint256 partition, uint256 releaseAt, bytes32[] calldata lines, bool listing) private {
        if (lines.length == 0) revert EmptyPage();
        PartitionWord word = _partition(partition);
        if (word.isPaused()) revert TokenPaused();
        uint256 sum = 0;
        for (uint256 i; i < lines.length; ++i) {
            sum += _mintLine(partition, releaseAt, lines[i], listing, word.asksRule144());
        }
        _raiseSupply(partition, word, sum);
        if (word.asksRule144()) _reportMint(partition, lines);
    }

    function _mintLine(uint256 partition, uint256 releaseAt, bytes32 line, bool listing, bool followed)
        private
        returns (uint256 units)
    {
        address holder = PageLine.account(line);
        units = PageLine.units(line);
        _requireNotZero(holder);
        if (units == 0) revert ZeroAmount(holder);
        _requireNotFrozen(holder);
        TokenStorage.Holding storage holding = _holding(holder, partition);
        HolderWord word = _living(holder, holding.slot);
        if (!word.isWhitelisted()) {
            if (!listing) revert HolderNotWhitelisted(holder, partition);
            // No event of its own: the mint says it, for 1,756 gas less.
            word = word.whitelisted();
        }
        // The cap is checked after all lines. Until then a balance above 96 bits would overflow into the lock.
        _requireFitting(word.balance() + units);
        emit TransferSingle(msg.sender, address(0), holder, partition, units);
        word = word.credit(units);
        if (followed) word = word.followed();
        if (releaseAt != 0) word = _withLock(word, holding, holder, partition, units, releaseAt);
        holding.slot = HolderSlotLibrary.stored(word);
    }

    function _raiseSupply(uint256 partition, PartitionWord word, uint256 units) private {
        uint256 supply = word.supply() + units;
        if (supply > word.cap()) revert CapExceeded(partition, word.cap(), supply);
        TokenStorage.state().partitions[partition].word = word.withSupply(supply);
        TotalWord total = TokenStorage.state().total;
        supply = total.supply() + units;
        if (supply > total.cap()) revert CapExceeded(0, total.cap(), supply);
        TokenStorage.state().total = total.withSupply(supply);
    }

    /// @dev Runs after all effects, because the module may read supply and balances.
    function _reportMint(uint256 partition, bytes32[] calldata lines) private {
        address module = TokenStorage.state().rule144;
        if (module == address(0)) revert Rule144Unset(partition);
        for (uint256 i; i < lines.length; ++i) {
            IRule144(module).onMint(PageLine.account(lines[i]), partition, PageLine.units(lines[i]));
        }
    }
}
