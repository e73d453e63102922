// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Roles} from "./Roles.sol";
import {IAgentRegistry} from "./interfaces/IAgentRegistry.sol";
import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Ownable2Step} from "@openzeppelin/contracts/access/Ownable2Step.sol";

/// @title AgentRegistry
/// @notice See `IAgentRegistry`.
contract AgentRegistry is IAgentRegistry, Ownable2Step {
    mapping(address account => uint256 roles) private _roles;

    constructor(address initialOwner) Ownable(initialOwner) {}

    /// @inheritdoc IAgentRegistry
    function setRoles(address account, uint256 roles) external onlyOwner {
        if (account == address(0)) revert AgentZero();
        if (roles & ~Roles.ALL != 0) revert UnknownRoles(roles);
        emit RolesChanged(account, _roles[account], roles);
        _roles[account] = roles;
    }

    /// @inheritdoc IAgentRegistry
    function isAgent(address account) external view returns (bool) {
        return _roles[account] != 0;
    }

    /// @inheritdoc IAgentRegistry
    function hasRole(address account, uint256 mask) external view returns (bool) {
        return _roles[account] & mask != 0;
    }

    /// @inheritdoc IAgentRegistry
    function rolesOf(address account) external view returns (uint256) {
        return _roles[account];
    }

    /// @notice Always reverts, because without an owner a compromised agent could never be removed.
    function renounceOwnership() public view override onlyOwner {
        revert OwnershipIsRequired();
    }
}
