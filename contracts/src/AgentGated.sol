// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAgentGated} from "./interfaces/IAgentGated.sol";
import {IAgentRegistry} from "./interfaces/IAgentRegistry.sol";

/// @title AgentGated
/// @notice The gate that every mutating function of the platform stands behind. The registry is an immutable, so a
/// clone inherits it with the code and nobody can exchange it.
abstract contract AgentGated is IAgentGated {
    IAgentRegistry private immutable _REGISTRY;

    /// @dev Lets through a caller that holds at least one role of `mask`.
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
