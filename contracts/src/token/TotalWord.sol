// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title TotalWord
/// @notice The whole token in one slot: supply 96 bits | cap 96 | count of partitions 8 | one bit for each partition
/// that asks Rule 144, 32 | paused 1 | holders may redeem 1.
/// @dev The last field repeats the flags of the partitions, so that a recovery need not read each partition.
type TotalWord is uint256;

using {
    TotalWordLibrary.supply,
    TotalWordLibrary.cap,
    TotalWordLibrary.count,
    TotalWordLibrary.asksRule144,
    TotalWordLibrary.isPaused,
    TotalWordLibrary.allowsRedemption,
    TotalWordLibrary.withSupply,
    TotalWordLibrary.withCap,
    TotalWordLibrary.withPartition,
    TotalWordLibrary.withPaused,
    TotalWordLibrary.withRedemption
} for TotalWord global;

library TotalWordLibrary {
    uint256 private constant _UNITS = type(uint96).max;
    uint256 private constant _CAP_SHIFT = 96;
    uint256 private constant _COUNT_SHIFT = 192;
    /// @dev One below the first bit of the field, because partition ids start at 1.
    uint256 private constant _RULE144_BASE = 199;
    uint256 private constant _PAUSED = 1 << 232;
    uint256 private constant _REDEMPTION = 1 << 233;

    /// @dev The word of a contract that can never become a token, because its count of partitions is full.
    function sealedWord(uint256 partitions) internal pure returns (TotalWord) {
        return TotalWord.wrap(partitions << _COUNT_SHIFT);
    }

    function supply(TotalWord word) internal pure returns (uint256) {
        return TotalWord.unwrap(word) & _UNITS;
    }

    function cap(TotalWord word) internal pure returns (uint256) {
        return (TotalWord.unwrap(word) >> _CAP_SHIFT) & _UNITS;
    }

    function count(TotalWord word) internal pure returns (uint256) {
        return uint8(TotalWord.unwrap(word) >> _COUNT_SHIFT);
    }

    /// @dev `partition` counts from 1.
    function asksRule144(TotalWord word, uint256 partition) internal pure returns (bool) {
        return TotalWord.unwrap(word) & (1 << (_RULE144_BASE + partition)) != 0;
    }

    function isPaused(TotalWord word) internal pure returns (bool) {
        return TotalWord.unwrap(word) & _PAUSED != 0;
    }

    function allowsRedemption(TotalWord word) internal pure returns (bool) {
        return TotalWord.unwrap(word) & _REDEMPTION != 0;
    }

    function withPaused(TotalWord word, bool paused) internal pure returns (TotalWord) {
        uint256 raw = TotalWord.unwrap(word);
        return TotalWord.wrap(paused ? raw | _PAUSED : raw & ~_PAUSED);
    }

    function withRedemption(TotalWord word, bool allowed) internal pure returns (TotalWord) {
        uint256 raw = TotalWord.unwrap(word);
        return TotalWord.wrap(allowed ? raw | _REDEMPTION : raw & ~_REDEMPTION);
    }

    function withSupply(TotalWord word, uint256 units) internal pure returns (TotalWord) {
        return TotalWord.wrap((TotalWord.unwrap(word) & ~_UNITS) | units);
    }

    function withCap(TotalWord word, uint256 units) internal pure returns (TotalWord) {
        return TotalWord.wrap((TotalWord.unwrap(word) & ~(_UNITS << _CAP_SHIFT)) | (units << _CAP_SHIFT));
    }

    /// @dev Returns the word with one more partition.
    function withPartition(TotalWord word, bool rule144) internal pure returns (TotalWord) {
        uint256 raw = TotalWord.unwrap(word) + (1 << _COUNT_SHIFT);
        return TotalWord.wrap(rule144 ? raw | (1 << (_RULE144_BASE + 1 + count(word))) : raw);
    }
}
