// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAgentGated} from "./interfaces/IAgentGated.sol";
import {IAgentRegistry} from "./interfaces/IAgentRegistry.sol";

/// @title AgentGated
/// @notice Restricts functions to agents of the registry.
/// @dev The registry is an immutable: a clone has it in its code, and nobody can replace it.
abstract contract AgentGated is IAgentGated {
    IAgentRegistry private immutable _REGISTRY;

    /// @dev Requires that the caller holds at least one role of `mask`, on the whole platform or for `_scope()`.
    /// @param mask The bits of the roles.
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

    /// @dev The offering whose agents this contract serves beside those of the whole platform; zero for none.
    function _scope() internal view virtual returns (bytes32) {
        return 0;
    }

    /// @dev Asks about the whole platform first, so that an agent of the platform pays for one question only.
    function _requireRole(uint256 mask) private view {
        if (!_REGISTRY.hasRole(msg.sender, mask)) _requireRoleFor(_scope(), mask);
    }

    /// @dev Requires a role of `mask`, on the whole platform or for an offering.
    function _requireRoleFor(bytes32 offeringId, uint256 mask) internal view {
        if (!_REGISTRY.hasRoleFor(offeringId, msg.sender, mask)) revert NotAuthorized(msg.sender, msg.sig, mask);
    }
}
