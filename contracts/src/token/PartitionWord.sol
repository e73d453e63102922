// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title PartitionWord
/// @notice A partition in one slot: supply 96 bits | cap 96 | exists 1 | restricted 1 | asks Rule 144 1 |
/// paused 1.
/// @dev The pause of the token is repeated in each partition, because every transfer and mint reads the partition anyway.
type PartitionWord is uint256;

using {
    PartitionWordLibrary.supply,
    PartitionWordLibrary.cap,
    PartitionWordLibrary.exists,
    PartitionWordLibrary.isRestricted,
    PartitionWordLibrary.asksRule144,
    PartitionWordLibrary.isPaused,
    PartitionWordLibrary.withSupply,
    PartitionWordLibrary.withCap,
    PartitionWordLibrary.withRestricted,
    PartitionWordLibrary.withPaused
} for PartitionWord global;

library PartitionWordLibrary {
    uint256 private constant _UNITS = type(uint96).max;
    uint256 private constant _CAP_SHIFT = 96;
    uint256 private constant _EXISTS = 1 << 192;
    uint256 private constant _RESTRICTED = 1 << 193;
    uint256 private constant _RULE144 = 1 << 194;
    uint256 private constant _PAUSED = 1 << 195;

    function create(uint256 cap_, bool restricted, bool rule144) internal pure returns (PartitionWord) {
        return
            PartitionWord.wrap(
                (cap_ << _CAP_SHIFT) | _EXISTS | (restricted ? _RESTRICTED : 0) | (rule144 ? _RULE144 : 0)
            );
    }

    function supply(PartitionWord word) internal pure returns (uint256) {
        return PartitionWord.unwrap(word) & _UNITS;
    }

    function cap(PartitionWord word) internal pure returns (uint256) {
        return (PartitionWord.unwrap(word) >> _CAP_SHIFT) & _UNITS;
    }

    function exists(PartitionWord word) internal pure returns (bool) {
        return PartitionWord.unwrap(word) & _EXISTS != 0;
    }

    function isRestricted(PartitionWord word) internal pure returns (bool) {
        return PartitionWord.unwrap(word) & _RESTRICTED != 0;
    }

    function asksRule144(PartitionWord word) internal pure returns (bool) {
        return PartitionWord.unwrap(word) & _RULE144 != 0;
    }

    function isPaused(PartitionWord word) internal pure returns (bool) {
        return PartitionWord.unwrap(word) & _PAUSED != 0;
    }

    function withSupply(PartitionWord word, uint256 units) internal pure returns (PartitionWord) {
        return PartitionWord.wrap((PartitionWord.unwrap(word) & ~_UNITS) | units);
    }

    function withCap(PartitionWord word, uint256 units) internal pure returns (PartitionWord) {
        return PartitionWord.wrap((PartitionWord.unwrap(word) & ~(_UNITS << _CAP_SHIFT)) | (units << _CAP_SHIFT));
    }

    function withRestricted(PartitionWord word, bool restricted) internal pure returns (PartitionWord) {
        uint256 raw = PartitionWord.unwrap(word);
        return PartitionWord.wrap(restricted ? raw | _RESTRICTED : raw & ~_RESTRICTED);
    }

    function withPaused(PartitionWord word, bool paused) internal pure returns (PartitionWord) {
        uint256 raw = PartitionWord.unwrap(word);
        return PartitionWord.wrap(paused ? raw | _PAUSED : raw & ~_PAUSED);
    }
}
