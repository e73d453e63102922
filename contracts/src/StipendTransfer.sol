// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IPlatformYieldDistributor} from "./interfaces/IPlatformYieldDistributor.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

/// @title An ERC-20 transfer that may fail, with a fixed amount of gas.
/// @dev The outcome depends on the asset and the payee alone, never on how much gas the sender gave: either the whole
/// stipend is there, or everything reverts. A payee that burns all its gas costs one stipend.
library StipendTransfer {
    /// @dev Several times what a transfer of the assets in use costs (a proxy's first touch of a new holder ≈ 50,000).
    uint256 internal constant STIPEND = 63 * 3200;

    /// @dev The EVM keeps a 64th of the gas back from a call; the rest pays for the steps from the check to the call.
    /// Written in literals, because the compiler computes on named constants at run time.
    uint256 internal constant GAS_REQUIRED = 64 * 3200 + 5000;

    /// @notice Sends `amount` to `to`. False if the asset reverts, answers anything but true, or runs out of its gas.
    function tryTransfer(IERC20 asset, address to, uint256 amount) internal returns (bool done) {
        uint256 available = gasleft();
        if (available < GAS_REQUIRED) revert IPlatformYieldDistributor.InsufficientGas(available, GAS_REQUIRED);
        bytes4 selector = IERC20.transfer.selector;
        uint256 stipend = STIPEND;
        // At most one word of the answer is copied: a hostile asset cannot make the page pay for a long one.
        assembly ("memory-safe") {
            let pointer := mload(0x40)
            mstore(pointer, selector)
            mstore(add(pointer, 0x04), and(to, 0xffffffffffffffffffffffffffffffffffffffff))
            mstore(add(pointer, 0x24), amount)
            done := call(stipend, asset, 0, pointer, 0x44, 0x00, 0x20)
            // Some assets answer nothing. That the asset has code is known: its balance was read just before.
            done := and(done, or(iszero(returndatasize()), and(gt(returndatasize(), 0x1f), eq(mload(0x00), 1))))
        }
    }
}
