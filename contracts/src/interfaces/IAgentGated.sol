// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAgentRegistry} from "./IAgentRegistry.sol";

/// @title A contract whose mutating functions ask the `AgentRegistry`
interface IAgentGated {
    /// @notice `caller` has none of the roles in `rolesNeeded` that the function with `selector` asks for.
    error NotAuthorized(address caller, bytes4 selector, uint256 rolesNeeded);

    /// @notice The registry that is asked; fixed for ever at construction.
    function agentRegistry() external view returns (IAgentRegistry);
}
