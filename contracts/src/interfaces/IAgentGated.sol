// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAgentRegistry} from "./IAgentRegistry.sol";

/// @title IAgentGated
/// @notice A contract that checks its callers against the `AgentRegistry`.
interface IAgentGated {
    /// @notice The caller has none of the roles that the function accepts.
    /// @param caller The sender of the call.
    /// @param selector The selector of the function.
    /// @param rolesNeeded The accepted roles as a bit mask; one of them suffices.
    error NotAuthorized(address caller, bytes4 selector, uint256 rolesNeeded);

    /// @notice Returns the registry that callers are checked against. It never changes.
    /// @return The registry.
    function agentRegistry() external view returns (IAgentRegistry);
}
