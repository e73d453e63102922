// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Roles} from "./Roles.sol";
import {IAgentRegistry} from "./interfaces/IAgentRegistry.sol";
import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Ownable2Step} from "@openzeppelin/contracts/access/Ownable2Step.sol";

/// @title AgentRegistry
/// @notice See `IAgentRegistry`.
contract AgentRegistry is IAgentRegistry, Ownable2Step {
    /// @notice The longest delay of a grant, in seconds. A longer one would make a lost key hard to replace.
    uint256 public constant GRANT_DELAY_MAX = 30 days;

    uint256 private constant _ANNOUNCED_SHIFT = 8;
    uint256 private constant _EFFECTIVE_SHIFT = 16;

    /// @inheritdoc IAgentRegistry
    uint256 public immutable grantDelay;

    /// @dev Roles 8 bits | roles that are added at the time above 8 | that time 40. Nobody has to send a transaction then.
    /// Offering id zero has the roles on the whole platform.
    mapping(bytes32 offeringId => mapping(address account => uint256 word)) private _grants;

    constructor(address initialOwner, uint256 grantDelay_) Ownable(initialOwner) {
        if (grantDelay_ > GRANT_DELAY_MAX) revert GrantDelayTooLong(grantDelay_);
        grantDelay = grantDelay_;
    }

    /// @inheritdoc IAgentRegistry
    function setRoles(address account, uint256 roles) external onlyOwner {
        _set(0, account, roles);
    }

    /// @inheritdoc IAgentRegistry
    function setRolesFor(bytes32 offeringId, address account, uint256 roles) external onlyOwner {
        if (offeringId == 0) revert OfferingIdZero();
        _set(offeringId, account, roles);
    }

    /// @inheritdoc IAgentRegistry
    function isAgent(address account) external view returns (bool) {
        return _held(0, account) != 0;
    }

    /// @inheritdoc IAgentRegistry
    function hasRole(address account, uint256 mask) external view returns (bool) {
        return _held(0, account) & mask != 0;
    }

    /// @inheritdoc IAgentRegistry
    function hasRoleFor(bytes32 offeringId, address account, uint256 mask) external view returns (bool) {
        return (_held(0, account) | _held(offeringId, account)) & mask != 0;
    }

    /// @inheritdoc IAgentRegistry
    function rolesOf(address account) external view returns (uint256) {
        return _held(0, account);
    }

    /// @inheritdoc IAgentRegistry
    function rolesFor(bytes32 offeringId, address account) external view returns (uint256) {
        return _held(offeringId, account);
    }

    /// @inheritdoc IAgentRegistry
    function announcedRoles(bytes32 offeringId, address account)
        public
        view
        returns (uint256 roles, uint256 effectiveAt)
    {
        uint256 word = _grants[offeringId][account];
        effectiveAt = word >> _EFFECTIVE_SHIFT;
        if (effectiveAt <= block.timestamp) return (0, 0);
        roles = uint8(word >> _ANNOUNCED_SHIFT);
    }

    /// @notice Always reverts, because without an owner a compromised agent could never be removed.
    function renounceOwnership() public view override onlyOwner {
        revert OwnershipIsRequired();
    }

    /// @dev Roles end at once and begin after the delay. Repeating an announcement does not delay it again.
    function _set(bytes32 offeringId, address account, uint256 roles) private {
        if (account == address(0)) revert AgentZero();
        if (roles & ~Roles.ALL != 0) revert UnknownRoles(roles);
        uint256 held = _held(offeringId, account);
        uint256 added = roles & ~held;
        uint256 effectiveAt = 0;
        if (added != 0) {
            (uint256 announced, uint256 start) = announcedRoles(offeringId, account);
            effectiveAt = added & ~announced == 0 ? start : block.timestamp + grantDelay;
        }
        _grants[offeringId][account] = (effectiveAt << _EFFECTIVE_SHIFT) | (added << _ANNOUNCED_SHIFT) | (roles & held);
        emit RolesChanged(account, offeringId, roles & held, added, effectiveAt);
    }

    /// @dev The roles that count now.
    function _held(bytes32 offeringId, address account) private view returns (uint256) {
        uint256 word = _grants[offeringId][account];
        uint256 announced = word >> _EFFECTIVE_SHIFT <= block.timestamp ? word >> _ANNOUNCED_SHIFT : 0;
        return (word | announced) & Roles.ALL;
    }
}
