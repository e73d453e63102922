// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IPlatformYieldDistributor} from "./interfaces/IPlatformYieldDistributor.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

/// @title StipendTransfer
/// @notice An ERC-20 transfer that may fail, with a fixed amount of gas.
/// @dev The result depends on the asset and the payee only, never on the sender's gas: either the whole stipend is
/// available, or everything reverts. A payee that burns all its gas costs one stipend.
library StipendTransfer {
    /// @dev Several times the cost of a transfer of common assets (about 50,000 for a proxy and a new holder).
    uint256 internal constant STIPEND = 63 * 3200;

    /// @dev The EVM withholds a 64th of the gas from a call; 5,000 pay for the steps from the check to the call. Literals,
    /// because the compiler would compute with named constants at run time.
    uint256 internal constant GAS_REQUIRED = 64 * 3200 + 5000;

    /// @notice Sends `amount` to `to`.
    /// @return done False if the asset reverts, answers anything but true or nothing, or runs out of gas.
    function tryTransfer(IERC20 asset, address to, uint256 amount) internal returns (bool done) {
        uint256 available = gasleft();
        if (available < GAS_REQUIRED) revert IPlatformYieldDistributor.InsufficientGas(available, GAS_REQUIRED);
        bytes4 selector = IERC20.transfer.selector;
        uint256 stipend = STIPEND;
        // Only one word of the answer is copied, so a hostile asset cannot make the page pay for a long answer.
        assembly ("memory-safe") {
            let pointer := mload(0x40)
            mstore(pointer, selector)
            mstore(add(pointer, 0x04), and(to, 0xffffffffffffffffffffffffffffffffffffffff))
            mstore(add(pointer, 0x24), amount)
            done := call(stipend, asset, 0, pointer, 0x44, 0x00, 0x20)
            // Some assets answer nothing. The asset has code: the caller read a balance from it before.
            done := and(done, or(iszero(returndatasize()), and(gt(returndatasize(), 0x1f), eq(mload(0x00), 1))))
        }
    }
}
