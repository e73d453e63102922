// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title HolderWord
/// @notice A holder in one partition, in one slot, so that whitelist, mint and lock write once:
/// balance 96 bits | units of the first tranche 96 | its release time 40 | count of further tranches 8 |
/// whitelisted 1 | followed 1 | frozen units 1 | frozen 1 | reinstated 1. The balance has the lowest bits.
/// @dev "Followed" means that the Rule 144 module keeps lots for these units. It repeats the partition's flag, so that a
/// forced transfer need not read the partition. "Frozen" and "reinstated" belong to the address over all partitions and
/// stand in its home partition only. "Frozen units" means that `Holding.frozen` is not zero. A word without a
/// lock has zero in all three lock fields. The arithmetic on the balance is unchecked, because supply is limited to 96
/// bits and no balance exceeds it.
type HolderWord is uint256;

using {
    HolderWordLibrary.balance,
    HolderWordLibrary.firstUnits,
    HolderWordLibrary.firstRelease,
    HolderWordLibrary.firstTranche,
    HolderWordLibrary.extraCount,
    HolderWordLibrary.isWhitelisted,
    HolderWordLibrary.isFollowed,
    HolderWordLibrary.hasFrozenUnits,
    HolderWordLibrary.isFrozen,
    HolderWordLibrary.isReinstated,
    HolderWordLibrary.isFree,
    HolderWordLibrary.credit,
    HolderWordLibrary.joined,
    HolderWordLibrary.movable,
    HolderWordLibrary.debit,
    HolderWordLibrary.withFirstTranche,
    HolderWordLibrary.withExtraCount,
    HolderWordLibrary.withFrozenUnits,
    HolderWordLibrary.whitelisted,
    HolderWordLibrary.unlisted,
    HolderWordLibrary.unfrozen,
    HolderWordLibrary.followed
} for HolderWord global;

library HolderWordLibrary {
    uint256 private constant _UNITS = type(uint96).max;
    uint256 private constant _TRANCHE_SHIFT = 96;
    uint256 private constant _TRANCHE = (1 << 136) - 1;
    uint256 private constant _RELEASE_SHIFT = 192;
    uint256 private constant _EXTRA_SHIFT = 232;
    uint256 private constant _WHITELISTED = 1 << 240;
    uint256 private constant _FOLLOWED = 1 << 241;
    uint256 private constant _FROZEN_UNITS = 1 << 242;
    uint256 private constant _FROZEN = 1 << 243;
    uint256 private constant _REINSTATED = 1 << 244;

    function balance(HolderWord word) internal pure returns (uint256) {
        return HolderWord.unwrap(word) & _UNITS;
    }

    function firstUnits(HolderWord word) internal pure returns (uint256) {
        return (HolderWord.unwrap(word) >> _TRANCHE_SHIFT) & _UNITS;
    }

    function firstRelease(HolderWord word) internal pure returns (uint256) {
        return uint40(HolderWord.unwrap(word) >> _RELEASE_SHIFT);
    }

    /// @dev The first tranche as `Locks` encodes it: release time above units.
    function firstTranche(HolderWord word) internal pure returns (uint256) {
        return (HolderWord.unwrap(word) >> _TRANCHE_SHIFT) & _TRANCHE;
    }

    function extraCount(HolderWord word) internal pure returns (uint256) {
        return uint8(HolderWord.unwrap(word) >> _EXTRA_SHIFT);
    }

    function isWhitelisted(HolderWord word) internal pure returns (bool) {
        return HolderWord.unwrap(word) & _WHITELISTED != 0;
    }

    function isFollowed(HolderWord word) internal pure returns (bool) {
        return HolderWord.unwrap(word) & _FOLLOWED != 0;
    }

    function hasFrozenUnits(HolderWord word) internal pure returns (bool) {
        return HolderWord.unwrap(word) & _FROZEN_UNITS != 0;
    }

    function isFrozen(HolderWord word) internal pure returns (bool) {
        return HolderWord.unwrap(word) & _FROZEN != 0;
    }

    /// @dev Whether `TokenStorage.Layout.recoveries` has a number for the address.
    function isReinstated(HolderWord word) internal pure returns (bool) {
        return HolderWord.unwrap(word) & _REINSTATED != 0;
    }

    /// @dev The word of a wallet whose retirement was taken back. It stays frozen.
    function reinstated() internal pure returns (HolderWord) {
        return HolderWord.wrap(_FROZEN | _REINSTATED);
    }

    function unfrozen(HolderWord word) internal pure returns (HolderWord) {
        return HolderWord.wrap(HolderWord.unwrap(word) & ~_FROZEN);
    }

    /// @dev What moves to another wallet: all but the mark of a reinstated address.
    function movable(HolderWord word) internal pure returns (HolderWord) {
        return HolderWord.wrap(HolderWord.unwrap(word) & ~_REINSTATED);
    }

    /// @dev Whether every unit may move: no lock and no frozen units.
    function isFree(HolderWord word) internal pure returns (bool) {
        return HolderWord.unwrap(word) & ((_TRANCHE << _TRANCHE_SHIFT) | _FROZEN_UNITS) == 0;
    }

    function withFrozenUnits(HolderWord word, bool any) internal pure returns (HolderWord) {
        uint256 raw = HolderWord.unwrap(word);
        return HolderWord.wrap(any ? raw | _FROZEN_UNITS : raw & ~_FROZEN_UNITS);
    }

    function followed(HolderWord word) internal pure returns (HolderWord) {
        return HolderWord.wrap(HolderWord.unwrap(word) | _FOLLOWED);
    }

    function credit(HolderWord word, uint256 units) internal pure returns (HolderWord) {
        unchecked {
            return HolderWord.wrap(HolderWord.unwrap(word) + units);
        }
    }

    /// @dev The word with the balance and the marks of another one, but not its locks or frozen units.
    function joined(HolderWord word, HolderWord other) internal pure returns (HolderWord) {
        uint256 marks = HolderWord.unwrap(other) & (_WHITELISTED | _FOLLOWED | _FROZEN | _REINSTATED);
        return HolderWord.wrap(HolderWord.unwrap(credit(word, balance(other))) | marks);
    }

    function debit(HolderWord word, uint256 units) internal pure returns (HolderWord) {
        unchecked {
            return HolderWord.wrap(HolderWord.unwrap(word) - units);
        }
    }

    function withFirstTranche(HolderWord word, uint256 tranche) internal pure returns (HolderWord) {
        return HolderWord.wrap((HolderWord.unwrap(word) & ~(_TRANCHE << _TRANCHE_SHIFT)) | (tranche << _TRANCHE_SHIFT));
    }

    function withExtraCount(HolderWord word, uint256 count) internal pure returns (HolderWord) {
        return HolderWord.wrap((HolderWord.unwrap(word) & ~(uint256(0xff) << _EXTRA_SHIFT)) | (count << _EXTRA_SHIFT));
    }

    function whitelisted(HolderWord word) internal pure returns (HolderWord) {
        return HolderWord.wrap(HolderWord.unwrap(word) | _WHITELISTED);
    }

    function unlisted(HolderWord word) internal pure returns (HolderWord) {
        return HolderWord.wrap(HolderWord.unwrap(word) & ~_WHITELISTED);
    }
}
