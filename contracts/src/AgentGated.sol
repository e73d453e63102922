// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAgentGated} from "./interfaces/IAgentGated.sol";
import {IAgentRegistry} from "./interfaces/IAgentRegistry.sol";

/// @title AgentGated
/// @notice Restricts functions to agents of the registry.
/// @dev The registry is an immutable: a clone has it in its code, and nobody can replace it.
abstract contract AgentGated is IAgentGated {
    IAgentRegistry private immutable _REGISTRY;

    /// @dev Requires that the caller holds at least one role of `mask`.
    modifier onlyRole(uint256 mask) {
        _requireRole(mask);
        _;
    }

    constructor(IAgentRegistry registry) {
        _REGISTRY = registry;
    }

    /// @inheritdoc IAgentGated
    function agentRegistry() public view returns (IAgentRegistry) {
        return _REGISTRY;
    }

    function _requireRole(uint256 mask) private view {
        if (!_REGISTRY.hasRole(msg.sender, mask)) revert NotAuthorized(msg.sender, msg.sig, mask);
    }
}
