// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Roles} from "../Roles.sol";
import {IERC7518} from "../interfaces/IERC7518.sol";
import {IERC7943MultiToken} from "../interfaces/IERC7943MultiToken.sol";
import {IPlatformSecurityToken7518} from "../interfaces/IPlatformSecurityToken7518.sol";
import {HolderSlotLibrary} from "./HolderSlot.sol";
import {HolderWord} from "./HolderWord.sol";
import {Locks} from "./Locks.sol";
import {PageLine} from "./PageLine.sol";
import {TokenRules} from "./TokenRules.sol";
import {TokenStorage} from "./TokenStorage.sol";

/// @title TokenLocks
/// @notice Locks until a release time, and the frozen units of ERC-7943, which have no end and overlap the locks.
abstract contract TokenLocks is TokenRules {
    /// @inheritdoc IERC7518
    function lockTokens(address account, uint256 id, uint256 amount, uint256 releaseTime)
        external
        onlyRole(Roles.ISSUER | Roles.COMPLIANCE)
        returns (bool)
    {
        _lock(account, id, amount, releaseTime);
        return true;
    }

    /// @inheritdoc IPlatformSecurityToken7518
    function lockTokens(uint256 opId, address account, uint256 partition, uint256 amount, uint256 releaseAt)
        external
        onlyRole(Roles.ISSUER | Roles.COMPLIANCE)
        returns (bool)
    {
        _execute(opId, _LOCK);
        _lock(account, partition, amount, releaseAt);
        return true;
    }

    /// @inheritdoc IPlatformSecurityToken7518
    function batchLockTokens(uint256 opId, uint256 partition, uint256 releaseAt, bytes32[] calldata lines)
        external
        onlyRole(Roles.ISSUER | Roles.COMPLIANCE)
    {
        _execute(opId, _LOCK_PAGE);
        if (lines.length == 0) revert EmptyPage();
        _partition(partition);
        _requireRelease(releaseAt);
        mapping(address holder => TokenStorage.Holding) storage holdings = TokenStorage.state().holdings[partition];
        for (uint256 i; i < lines.length; ++i) {
            bytes32 line = lines[i];
            address holder = PageLine.account(line);
            _lockLine(holdings[holder], holder, partition, PageLine.units(line), releaseAt);
        }
    }

    /// @inheritdoc IERC7518
    function unlockToken(address account, uint256 id) external onlyRole(Roles.ALL) {
        TokenStorage.Holding storage holding = _holding(account, id);
        HolderWord word = _living(account, holding.slot);
        if (!Locks.isDue(word)) revert NothingToUnlock(account, id);
        holding.slot = HolderSlotLibrary.stored(Locks.dropDue(word, holding));
        emit TokenUnlocked(account, id);
    }

    /// @inheritdoc IPlatformSecurityToken7518
    function releaseLock(
        uint256 opId,
        address account,
        uint256 partition,
        uint256 amount,
        uint256 releaseAt,
        uint256 newReleaseAt
    ) external onlyRole(Roles.COMPLIANCE) {
        _execute(opId, _RELEASE_LOCK);
        if (amount == 0) revert ZeroAmount(account);
        if (newReleaseAt >= releaseAt) revert ReleaseTimeOutOfRange(newReleaseAt);
        TokenStorage.Holding storage holding = _holding(account, partition);
        HolderWord word = _settled(_living(account, holding.slot), holding, account, partition);
        uint256 held;
        (word, held) = Locks.take(word, holding, amount, releaseAt);
        if (held < amount) revert LockTooSmall(account, partition, releaseAt, held);
        if (newReleaseAt > block.timestamp) {
            bool full;
            (word, full) = Locks.add(word, holding, amount, newReleaseAt);
            if (full) revert TooManyLocks(account, partition);
        }
        holding.slot = HolderSlotLibrary.stored(word);
        emit LockReleased(account, partition, amount, releaseAt, newReleaseAt);
    }

    /// @inheritdoc IERC7943MultiToken
    function setFrozenTokens(address account, uint256 tokenId, uint256 amount)
        external
        onlyRole(Roles.CUSTODY | Roles.COMPLIANCE)
        returns (bool)
    {
        _partition(tokenId);
        _requireNotZero(account);
        _requireLiving(account);
        _requireFitting(amount);
        TokenStorage.Holding storage holding = _holding(account, tokenId);
        holding.slot = HolderSlotLibrary.stored(Locks.freeze(holding.slot.living(), holding, amount));
        emit Frozen(account, tokenId, amount);
        return true;
    }

    /// @inheritdoc IERC7943MultiToken
    function getFrozenTokens(address account, uint256 tokenId) external view returns (uint256) {
        TokenStorage.Holding storage holding = _holding(account, tokenId);
        return Locks.frozenUnits(_shown(holding), holding);
    }

    /// @inheritdoc IPlatformSecurityToken7518
    function tranchesOf(address holder, uint256 partition) external view returns (Tranche[] memory tranches) {
        TokenStorage.Holding storage holding = _holding(holder, partition);
        HolderWord word = _shown(holding);
        tranches = new Tranche[](Locks.count(word));
        for (uint256 i; i < tranches.length; ++i) {
            uint256 tranche = Locks.trancheAt(word, holding, i);
            tranches[i] = Tranche(Locks.unitsOf(tranche), Locks.releaseOf(tranche));
        }
    }

    /// @dev Returns the word with `units` more locked and without due tranches. The caller stores it.
    function _withLock(
        HolderWord word,
        TokenStorage.Holding storage holding,
        address holder,
        uint256 partition,
        uint256 units,
        uint256 releaseAt
    ) internal returns (HolderWord) {
        // Most holders have no lock yet. Then the word is enough and `extras` are not read.
        if (word.firstTranche() != 0) {
            word = _withFurtherLock(word, holding, holder, partition, units, releaseAt);
        } else {
            if (units > word.balance()) revert LockExceedsBalance(holder, partition, word.balance(), units);
            word = word.withFirstTranche(Locks.tranche(units, releaseAt));
        }
        emit TokensLocked(holder, partition, units, releaseAt);
        return word;
    }

    function _withFurtherLock(
        HolderWord word,
        TokenStorage.Holding storage holding,
        address holder,
        uint256 partition,
        uint256 units,
        uint256 releaseAt
    ) private returns (HolderWord) {
        word = _settled(word, holding, holder, partition);
        uint256 locked = Locks.lockedUnits(word, holding) + units;
        if (locked > word.balance()) revert LockExceedsBalance(holder, partition, word.balance(), locked);
        bool full;
        (word, full) = Locks.add(word, holding, units, releaseAt);
        if (full) revert TooManyLocks(holder, partition);
        return word;
    }

    function _requireRelease(uint256 releaseAt) internal view {
        if (releaseAt <= block.timestamp || releaseAt > block.timestamp + Locks.SECONDS_MAX) {
            revert ReleaseTimeOutOfRange(releaseAt);
        }
    }

    function _lock(address holder, uint256 partition, uint256 units, uint256 releaseAt) private {
        _partition(partition);
        _requireFitting(units);
        _requireRelease(releaseAt);
        _lockLine(_holding(holder, partition), holder, partition, units, releaseAt);
    }

    function _lockLine(
        TokenStorage.Holding storage holding,
        address holder,
        uint256 partition,
        uint256 units,
        uint256 releaseAt
    ) private {
        // Not `_requireNotZero`, whose call would cost each line of a page 29 gas.
        if (holder == address(0)) revert ZeroAddress();
        if (units == 0) revert ZeroAmount(holder);
        HolderWord word = _living(holder, holding.slot);
        holding.slot = HolderSlotLibrary.stored(_withLock(word, holding, holder, partition, units, releaseAt));
    }
}
