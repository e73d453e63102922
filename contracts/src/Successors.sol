// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IPlatformSecurityToken7518} from "./interfaces/IPlatformSecurityToken7518.sol";

/// @title Successors
/// @notice Follows recoveries to the wallet that stands in for an account today.
library Successors {
    /// @notice Returns the wallet to pay for an account.
    /// @dev Only a frozen wallet can have a successor, because a recovered wallet stays frozen. Others cost one call.
    /// The token makes no cycles, and a caller without a limit would pay for one with its own gas.
    /// @param token The security token.
    /// @param account The account.
    /// @param hopsMax Limit of successors to follow.
    /// @return payee The account, or the wallet that replaced it.
    /// @return frozen Whether that wallet is frozen.
    function payeeOf(IPlatformSecurityToken7518 token, address account, uint256 hopsMax)
        internal
        view
        returns (address payee, bool frozen)
    {
        payee = account;
        frozen = token.isFrozen(account);
        for (uint256 hops = 0; frozen && hops < hopsMax; ++hops) {
            address successor = token.successorOf(payee);
            if (successor == address(0)) break;
            payee = successor;
            frozen = token.isFrozen(successor);
        }
    }
}
