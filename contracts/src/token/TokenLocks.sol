// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Roles} from "../Roles.sol";
import {IERC7518} from "../interfaces/IERC7518.sol";
import {IERC7943MultiToken} from "../interfaces/IERC7943MultiToken.sol";
import {IPlatformSecurityToken7518} from "../interfaces/IPlatformSecurityToken7518.sol";
import {HolderWord} from "./HolderWord.sol";
import {Locks} from "./Locks.sol";
import {PageLine} from "./PageLine.sol";
import {TokenRules} from "./TokenRules.sol";
import {TokenStorage} from "./TokenStorage.sol";

/// @title TokenLocks
/// @notice Locks with a release time, and ERC-7943's frozen units, which are a lock without one.
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
        _execute(opId, "lock");
        _lock(account, partition, amount, releaseAt);
        return true;
    }

    /// @inheritdoc IPlatformSecurityToken7518
    function batchLockTokens(uint256 opId, uint256 partition, uint256 releaseAt, bytes32[] calldata lines)
        external
        onlyRole(Roles.ISSUER | Roles.COMPLIANCE)
    {
        _execute(opId, "lock_page");
        if (lines.length == 0) revert EmptyPage();
        _partition(partition);
        _requireRelease(releaseAt);
        for (uint256 i; i < lines.length; ++i) {
            _lockLine(PageLine.account(lines[i]), partition, PageLine.units(lines[i]), releaseAt);
        }
    }

    /// @inheritdoc IERC7518
    function unlockToken(address account, uint256 id) external onlyRole(Roles.ALL) {
        mapping(address holder => HolderWord) storage holders = TokenStorage.state().holders[id];
        (HolderWord word, bool dropped) = Locks.settle(holders[account], TokenStorage.state().extras[id][account]);
        if (!dropped) revert NothingToUnlock(account, id);
        holders[account] = word;
        emit TokenUnlocked(account, id);
    }

    /// @inheritdoc IERC7943MultiToken
    /// @dev At most the balance, which is stricter than the standard: a freeze of units that are not there would catch
    /// units of somebody else's later transfer, and freezing the address says the same more plainly.
    function setFrozenTokens(address account, uint256 tokenId, uint256 amount)
        external
        onlyRole(Roles.CUSTODY | Roles.COMPLIANCE)
        returns (bool)
    {
        _partition(tokenId);
        _requireNotZero(account);
        uint256[15] storage extras = TokenStorage.state().extras[tokenId][account];
        HolderWord word = _settled(account, tokenId);
        word = Locks.cut(word, extras, Locks.frozenUnits(word, extras));
        _requireFitting(amount);
        if (amount > 0) word = _withLock(word, account, tokenId, amount, Locks.NEVER);
        TokenStorage.state().holders[tokenId][account] = word;
        emit Frozen(account, tokenId, amount);
        return true;
    }

    /// @inheritdoc IERC7943MultiToken
    function getFrozenTokens(address account, uint256 tokenId) external view returns (uint256) {
        return Locks.frozenUnits(_holder(account, tokenId), TokenStorage.state().extras[tokenId][account]);
    }

    /// @inheritdoc IPlatformSecurityToken7518
    function tranchesOf(address holder, uint256 partition) external view returns (Tranche[] memory tranches) {
        HolderWord word = _holder(holder, partition);
        tranches = new Tranche[](Locks.count(word));
        for (uint256 i; i < tranches.length; ++i) {
            uint256 tranche = Locks.trancheAt(word, TokenStorage.state().extras[partition][holder], i);
            tranches[i] = Tranche(Locks.unitsOf(tranche), Locks.releaseOf(tranche));
        }
    }

    /// @dev The word, settled and with `units` more locked; reverts above the balance. The caller stores it.
    function _withLock(HolderWord word, address holder, uint256 partition, uint256 units, uint256 releaseAt)
        internal
        returns (HolderWord)
    {
        uint256[15] storage extras = TokenStorage.state().extras[partition][holder];
        bool flag;
        (word, flag) = Locks.settle(word, extras);
        if (flag) emit TokenUnlocked(holder, partition);
        uint256 locked = Locks.lockedUnits(word, extras) + units;
        if (locked > word.balance()) revert LockExceedsBalance(holder, partition, word.balance(), locked);
        (word, flag) = Locks.add(word, extras, units, releaseAt);
        if (flag) revert TooManyLocks(holder, partition);
        emit TokensLocked(holder, partition, units, releaseAt);
        return word;
    }

    /// @dev The last time is taken by units that are frozen without end.
    function _requireRelease(uint256 releaseAt) internal view {
        if (releaseAt <= block.timestamp || releaseAt >= Locks.NEVER) revert ReleaseTimeOutOfRange(releaseAt);
    }

    function _lock(address holder, uint256 partition, uint256 units, uint256 releaseAt) private {
        _partition(partition);
        _requireFitting(units);
        _requireRelease(releaseAt);
        _lockLine(holder, partition, units, releaseAt);
    }

    function _lockLine(address holder, uint256 partition, uint256 units, uint256 releaseAt) private {
        _requireNotZero(holder);
        if (units == 0) revert ZeroAmount(holder);
        mapping(address holder => HolderWord) storage holders = TokenStorage.state().holders[partition];
        holders[holder] = _withLock(holders[holder], holder, partition, units, releaseAt);
    }
}
