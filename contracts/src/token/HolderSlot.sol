// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {HolderWord} from "./HolderWord.sol";

/// @title HolderSlot
/// @notice What is stored for a holder in one partition: a `HolderWord`, or the record of a retired wallet.
/// @dev The record is in the home partition only: successor 160 bits | number of the recovery 80 | frozen, at bit 243 as
/// in a `HolderWord` | retired, at bit 255. It takes the place of the holder's word, because a retired wallet holds
/// nothing: so a recovery writes one slot of the lost wallet, not two. The type is another one than `HolderWord`, so that
/// the compiler demands the question whether the wallet is retired. A function that writes asks `TokenRules._living`, which
/// reverts for a retired wallet, or has refused a frozen one before. So nothing overwrites the record.
type HolderSlot is uint256;

using {
    HolderSlotLibrary.isRetired,
    HolderSlotLibrary.isFrozen,
    HolderSlotLibrary.successor,
    HolderSlotLibrary.recovery,
    HolderSlotLibrary.living,
    HolderSlotLibrary.shown,
    HolderSlotLibrary.frozen
} for HolderSlot global;

library HolderSlotLibrary {
    /// @notice The largest number of a recovery.
    uint256 internal constant RECOVERY_MAX = type(uint80).max;

    uint256 private constant _RECOVERY_SHIFT = 160;
    uint256 private constant _FROZEN = 1 << 243;
    uint256 private constant _RETIRED = 1 << 255;

    /// @dev The holder's word of a wallet that is known not to be retired, for example because it is not frozen.
    function living(HolderSlot slot) internal pure returns (HolderWord) {
        return HolderWord.wrap(HolderSlot.unwrap(slot));
    }

    function stored(HolderWord word) internal pure returns (HolderSlot) {
        return HolderSlot.wrap(HolderWord.unwrap(word));
    }

    /// @dev `number` is at most `RECOVERY_MAX`.
    function retired(address replacement, uint256 number) internal pure returns (HolderSlot) {
        return HolderSlot.wrap(_RETIRED | _FROZEN | (number << _RECOVERY_SHIFT) | uint160(replacement));
    }

    function isRetired(HolderSlot slot) internal pure returns (bool) {
        return HolderSlot.unwrap(slot) & _RETIRED != 0;
    }

    function isFrozen(HolderSlot slot) internal pure returns (bool) {
        return HolderSlot.unwrap(slot) & _FROZEN != 0;
    }

    /// @dev Of a retired wallet only.
    function successor(HolderSlot slot) internal pure returns (address) {
        return address(uint160(HolderSlot.unwrap(slot)));
    }

    /// @dev Of a retired wallet only.
    function recovery(HolderSlot slot) internal pure returns (uint256) {
        return uint80(HolderSlot.unwrap(slot) >> _RECOVERY_SHIFT);
    }

    /// @dev The holder's word as views show it: for a retired wallet, no units, no locks and frozen.
    function shown(HolderSlot slot) internal pure returns (HolderWord) {
        return HolderWord.wrap(isRetired(slot) ? _FROZEN : HolderSlot.unwrap(slot));
    }

    function frozen(HolderSlot slot) internal pure returns (HolderSlot) {
        return HolderSlot.wrap(HolderSlot.unwrap(slot) | _FROZEN);
    }
}
