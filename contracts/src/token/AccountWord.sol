// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title AccountWord
/// @notice What the token knows of an address over all partitions: successor 160 bits | frozen 1.
/// @dev A successor other than zero means that the address was recovered: it is retired and stays frozen.
type AccountWord is uint256;

using {
    AccountWordLibrary.isFrozen,
    AccountWordLibrary.successor,
    AccountWordLibrary.withFrozen,
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

    function withFrozen(AccountWord word, bool frozen) internal pure returns (AccountWord) {
        uint256 raw = AccountWord.unwrap(word);
        return AccountWord.wrap(frozen ? raw | _FROZEN : raw & ~_FROZEN);
    }

    function retiredTo(AccountWord, address replacement) internal pure returns (AccountWord) {
        return AccountWord.wrap(_FROZEN | uint160(replacement));
    }
}
