// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title AccountWord
/// @notice The state of an address over all partitions, in one slot: successor 160 bits | frozen 1 | number of its
/// last recovery 88.
/// @dev An address with a successor was recovered: it is retired and stays frozen. The number stays when the address is
/// reinstated, so that no recovery of it is executed twice.
type AccountWord is uint256;

using {
    AccountWordLibrary.isFrozen,
    AccountWordLibrary.successor,
    AccountWordLibrary.recovery,
    AccountWordLibrary.frozen,
    AccountWordLibrary.unfrozen,
    AccountWordLibrary.reinstated
} for AccountWord global;

library AccountWordLibrary {
    uint256 private constant _FROZEN = 1 << 160;
    uint256 private constant _RECOVERY_SHIFT = 168;

    function isFrozen(AccountWord word) internal pure returns (bool) {
        return AccountWord.unwrap(word) & _FROZEN != 0;
    }

    function successor(AccountWord word) internal pure returns (address) {
        return address(uint160(AccountWord.unwrap(word)));
    }

    function frozen(AccountWord word) internal pure returns (AccountWord) {
        return AccountWord.wrap(AccountWord.unwrap(word) | _FROZEN);
    }

    function unfrozen(AccountWord word) internal pure returns (AccountWord) {
        return AccountWord.wrap(AccountWord.unwrap(word) & ~_FROZEN);
    }

    /// @dev The number of the recovery that retired the address last, 0 if none did.
    function recovery(AccountWord word) internal pure returns (uint256) {
        return AccountWord.unwrap(word) >> _RECOVERY_SHIFT;
    }

    /// @dev `number` must fit 88 bits.
    function retired(address replacement, uint256 number) internal pure returns (AccountWord) {
        return AccountWord.wrap((number << _RECOVERY_SHIFT) | _FROZEN | uint160(replacement));
    }

    function reinstated(AccountWord word) internal pure returns (AccountWord) {
        return AccountWord.wrap((AccountWord.unwrap(word) >> 160) << 160);
    }
}
