// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title AccountWord
/// @notice The state of an address over all partitions, in one slot: successor 160 bits | frozen 1.
/// @dev An address with a successor was recovered. It stays frozen forever.
type AccountWord is uint256;

using {
    AccountWordLibrary.isFrozen,
    AccountWordLibrary.successor,
    AccountWordLibrary.frozen,
    AccountWordLibrary.unfrozen,
    AccountWordLibrary.retiredTo
} for AccountWord global;

library AccountWordLibrary {
    uint256 private constant _FROZEN = 1 << 160;

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

    function retiredTo(AccountWord, address replacement) internal pure returns (AccountWord) {
        return AccountWord.wrap(_FROZEN | uint160(replacement));
    }
}
