// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Roles} from "../Roles.sol";
import {IERC7518} from "../interfaces/IERC7518.sol";
import {IERC7943MultiToken} from "../interfaces/IERC7943MultiToken.sol";
import {IPlatformSecurityToken7518} from "../interfaces/IPlatformSecurityToken7518.sol";
import {IRule144} from "../interfaces/IRule144.sol";
import {HolderSlotLibrary} from "./HolderSlot.sol";
import {HolderWord} from "./HolderWord.sol";
import {PageLine} from "./PageLine.sol";
import {TokenDebits} from "./TokenDebits.sol";
import {TokenStorage} from "./TokenStorage.sol";

/// @title TokenCustody
/// @notice What agents do without the holder: freeze and forced transfer.
/// @dev Nothing here calls a receiver hook, so a receiver cannot block it.
abstract contract TokenCustody is TokenDebits {
    /// @inheritdoc IERC7518
    function freezeAddress(address account, bytes calldata data)
        external
        onlyRole(Roles.COMPLIANCE | Roles.CUSTODY)
        returns (bool)
    {
        _requireNotZero(account);
        TokenStorage.Holding storage home = _home(account);
        home.slot = home.slot.frozen();
        emit AddressFrozen(account, data);
        return true;
    }

    /// @inheritdoc IERC7518
    function unFreeze(address account, bytes calldata data) external onlyRole(Roles.COMPLIANCE) returns (bool) {
        _requireNotZero(account);
        TokenStorage.Holding storage home = _home(account);
        home.slot = HolderSlotLibrary.stored(_living(account, home.slot).unfrozen());
        emit AddressUnfrozen(account, data);
        return true;
    }

    /// @inheritdoc IERC7518
    function forceTransfer(address from, address to, uint256 id, uint256 amount, bytes calldata data)
        external
        onlyRole(Roles.CUSTODY)
        returns (bool)
    {
        if (data.length != 0) {
            if (data.length < 32) revert MalformedData(data.length);
            _execute(uint256(bytes32(data)), _FORCE_TRANSFER);
        }
        _force(from, to, id, amount);
        return true;
    }

    /// @inheritdoc IERC7943MultiToken
    function forcedTransfer(address from, address to, uint256 tokenId, uint256 amount)
        external
        onlyRole(Roles.CUSTODY)
        returns (bool)
    {
        _force(from, to, tokenId, amount);
        emit ForcedTransfer(from, to, tokenId, amount);
        return true;
    }

    /// @inheritdoc IPlatformSecurityToken7518
    function frozenAmong(bytes32[] calldata lines) external view returns (uint256 bits) {
        if (lines.length > 256) revert PageTooLong(lines.length);
        for (uint256 i; i < lines.length; ++i) {
            if (isFrozen(PageLine.account(lines[i]))) bits |= 1 << i;
        }
    }

    /// @inheritdoc IERC7943MultiToken
    function canSend(address account) external view returns (bool) {
        return account != address(0) && !isFrozen(account);
    }

    /// @inheritdoc IERC7943MultiToken
    function canReceive(address account) external view returns (bool) {
        return account != address(0) && !isFrozen(account);
    }

    function _force(address from, address to, uint256 partition, uint256 amount) private {
        _requireNotZero(to);
        if (!isFrozen(from)) revert AddressNotFrozen(from);
        _requireNotFrozen(to);
        bool followed = _take(from, partition, amount);
        TokenStorage.Holding storage target = _holding(to, partition);
        HolderWord word = _living(to, target.slot).credit(amount);
        target.slot = HolderSlotLibrary.stored(followed ? word.followed() : word);
        emit TransferSingle(msg.sender, from, to, partition, amount);
        emit TokensForceTransferred(from, to, partition, amount);
        if (followed) _reportForced(from, to, partition, amount);
    }

    /// @dev Without a module nothing is reported, because a forced transfer must not depend on one.
    function _reportForced(address from, address to, uint256 partition, uint256 amount) private {
        address module = TokenStorage.state().rule144;
        if (module != address(0)) IRule144(module).onForcedTransfer(from, to, partition, amount);
    }
}
