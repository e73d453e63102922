// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Roles} from "../Roles.sol";
import {IERC7518} from "../interfaces/IERC7518.sol";
import {IPlatformSecurityToken7518} from "../interfaces/IPlatformSecurityToken7518.sol";
import {PageLine} from "./PageLine.sol";
import {TokenRules} from "./TokenRules.sol";
import {TokenStorage} from "./TokenStorage.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";

/// @title TokenPayouts
/// @notice Payments to holders. The asset moves from the caller directly to each payee.
abstract contract TokenPayouts is TokenRules, ReentrancyGuardTransient {
    using SafeERC20 for IERC20;

    /// @inheritdoc IERC7518
    function payout(address to, uint256 amount) external onlyRole(Roles.PAYOUT) nonReentrant returns (bool) {
        _pay(_standardAsset(), to, amount);
        return true;
    }

    /// @inheritdoc IERC7518
    function batchPayout(address[] calldata to, uint256[] calldata amount)
        external
        onlyRole(Roles.PAYOUT)
        nonReentrant
        returns (bool)
    {
        if (to.length == 0) revert EmptyPage();
        if (to.length != amount.length) revert LengthMismatch(to.length, amount.length);
        IERC20 asset = _standardAsset();
        for (uint256 i; i < to.length; ++i) {
            _pay(asset, to[i], amount[i]);
        }
        return true;
    }

    /// @inheritdoc IPlatformSecurityToken7518
    function payout(uint256 opId, address asset, address to, uint256 amount)
        external
        onlyRole(Roles.PAYOUT)
        nonReentrant
        returns (bool)
    {
        _execute(opId, _PAYOUT);
        _pay(_requireContract(asset), to, amount);
        return true;
    }

    /// @inheritdoc IPlatformSecurityToken7518
    function batchPayout(uint256 opId, address asset, bytes32[] calldata lines)
        external
        onlyRole(Roles.PAYOUT)
        nonReentrant
        returns (bool)
    {
        _execute(opId, _PAYOUT_PAGE);
        if (lines.length == 0) revert EmptyPage();
        IERC20 coin = _requireContract(asset);
        _sendWhole(coin, PageLine.account(lines[0]), PageLine.units(lines[0]));
        for (uint256 i = 1; i < lines.length; ++i) {
            bytes32 line = lines[i];
            _send(coin, PageLine.account(line), PageLine.units(line));
        }
        return true;
    }

    /// @inheritdoc IPlatformSecurityToken7518
    function setPayoutAsset(address asset) external onlyRole(Roles.ISSUER) {
        TokenStorage.state().payoutAsset = asset;
        emit PayoutAssetChanged(asset);
    }

    /// @inheritdoc IPlatformSecurityToken7518
    function payoutAsset() public view returns (address) {
        return TokenStorage.state().payoutAsset;
    }

    function _standardAsset() private view returns (IERC20) {
        address asset = payoutAsset();
        if (asset == address(0)) revert PayoutAssetUnset();
        return _requireContract(asset);
    }

    function _requireContract(address asset) private view returns (IERC20) {
        if (asset.code.length == 0) revert NotAContract(asset);
        return IERC20(asset);
    }

    function _pay(IERC20 asset, address to, uint256 amount) private {
        emit PayoutDelivered(msg.sender, to, amount);
        _sendWhole(asset, to, amount);
    }

    /// @dev Like `_send`, but requires that the whole amount arrived. Not checked if the caller pays itself, because its
    /// balance then does not grow.
    function _sendWhole(IERC20 asset, address to, uint256 amount) private {
        uint256 held = asset.balanceOf(to);
        _send(asset, to, amount);
        uint256 holds = asset.balanceOf(to);
        if (to != msg.sender && holds != held + amount) {
            revert ReceivedDiffers(to, amount, holds > held ? holds - held : 0);
        }
    }

    function _send(IERC20 asset, address to, uint256 amount) private {
        _requireNotZero(to);
        if (to == address(this)) revert PayeeIsToken();
        if (amount == 0) revert ZeroAmount(to);
        _requireNotFrozen(to);
        asset.safeTransferFrom(msg.sender, to, amount);
    }
}
