// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Roles} from "../Roles.sol";
import {IPlatformSecurityToken7518} from "../interfaces/IPlatformSecurityToken7518.sol";
import {IRule144} from "../interfaces/IRule144.sol";
import {PartitionWord} from "./PartitionWord.sol";
import {Reasons} from "./Reasons.sol";
import {TokenDebits} from "./TokenDebits.sol";
import {TokenStorage} from "./TokenStorage.sol";
import {TotalWord} from "./TotalWord.sol";

/// @title TokenRedemption
/// @notice Burns units: by an agent, or by the holder where the issuer allows it.
abstract contract TokenRedemption is TokenDebits {
    /// @inheritdoc IPlatformSecurityToken7518
    function redeem(uint256 opId, address holder, uint256 partition, uint256 amount)
        external
        onlyRole(Roles.COMPLIANCE | Roles.CUSTODY)
    {
        _execute(opId, _REDEEM);
        _burn(holder, partition, amount);
    }

    /// @inheritdoc IPlatformSecurityToken7518
    function redeemOwn(uint256 partition, uint256 amount) external {
        if (!TokenStorage.state().total.allowsRedemption()) revert RedemptionNotAllowed();
        bytes32 reason = _redemptionRefusal(partition, amount);
        if (reason != Reasons.ALLOWED) revert TransferRefused(msg.sender, address(0), partition, amount, reason);
        _burn(msg.sender, partition, amount);
    }

    /// @inheritdoc IPlatformSecurityToken7518
    function setHolderRedemption(bool allowed) external onlyRole(Roles.ISSUER) {
        TokenStorage.state().total = TokenStorage.state().total.withRedemption(allowed);
        emit HolderRedemptionChanged(allowed);
    }

    /// @inheritdoc IPlatformSecurityToken7518
    function holderRedemption() external view returns (bool) {
        return TokenStorage.state().total.allowsRedemption();
    }

    function _burn(address holder, uint256 partition, uint256 amount) private {
        bool followed = _take(holder, partition, amount);
        PartitionWord word = TokenStorage.state().partitions[partition].word;
        TokenStorage.state().partitions[partition].word = word.withSupply(word.supply() - amount);
        TotalWord total = TokenStorage.state().total;
        TokenStorage.state().total = total.withSupply(total.supply() - amount);
        emit TransferSingle(msg.sender, holder, address(0), partition, amount);
        if (followed) _reportRedemption(holder, partition, amount);
    }

    /// @dev Without a module nothing is reported, because a redemption must not depend on one.
    function _reportRedemption(address holder, uint256 partition, uint256 amount) private {
        address module = TokenStorage.state().rule144;
        if (module != address(0)) IRule144(module).onRedemption(holder, partition, amount);
    }

    /// @dev Rule 144 is not asked: units that go back to the issuer are not resold.
    function _redemptionRefusal(uint256 partition, uint256 amount) private view returns (bytes32) {
        PartitionWord word = _partition(partition);
        if (word.isPaused()) return Reasons.PAUSED;
        if (word.isRestricted()) return Reasons.RESTRICTED;
        if (isFrozen(msg.sender)) return Reasons.FROM_FROZEN;
        return _balanceRefusal(_holding(msg.sender, partition), amount);
    }
}
