// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {HolderSlot} from "./HolderSlot.sol";
import {PartitionWord} from "./PartitionWord.sol";
import {TotalWord} from "./TotalWord.sol";

/// @title TokenStorage
/// @notice The token's state, at one ERC-7201 slot, so that a base contract cannot shift it.
library TokenStorage {
    /// @notice A holder in one partition. `extras` has the tranches after the first; see `Locks`. `frozen` has
    /// the units of `setFrozenTokens`, which may be more than the balance.
    struct Holding {
        HolderSlot slot;
        uint256[15] extras;
        uint256 frozen;
    }

    /// @notice A partition.
    struct Partition {
        PartitionWord word;
    }

    /// @notice The token's state. `recoveries` has the number of the last recovery of each reinstated wallet.
    /// @custom:storage-location erc7201:muniment.storage.SecurityToken
    struct Layout {
        TotalWord total;
        string symbol;
        address rule144;
        address payoutAsset;
        mapping(uint256 partition => Partition) partitions;
        mapping(address account => uint256 number) recoveries;
        mapping(uint256 partition => mapping(address holder => Holding)) holdings;
        mapping(address holder => mapping(address operator => bool)) approvals;
    }

    /// @dev keccak256(abi.encode(uint256(keccak256("muniment.storage.SecurityToken")) - 1)) & ~bytes32(uint256(0xff))
    bytes32 internal constant SLOT = 0x4e1462d0d7fb4d0f49eaf7c512446a7457d2128ffb31aa3d046c310a30c1d700;

    /// @notice The partition whose slots also tell whether an address is frozen or retired, on all partitions. It is the
    /// first one, because every token has it: a holder there needs no further slot for the answer.
    uint256 internal constant HOME = 1;

    /// @dev The slot of `holdings[HOME]`: keccak256(abi.encode(HOME, uint256(SLOT) + 6)).
    bytes32 internal constant HOME_SLOT = 0x89ab471971efbec8b20e9d56d138149d7df353d081057e52f3a668e082a6c0fd;

    function state() internal pure returns (Layout storage $) {
        assembly ("memory-safe") {
            $.slot := SLOT
        }
    }

    /// @dev The same as `state().holdings[HOME]`, for 100 gas less.
    function home() internal pure returns (mapping(address holder => Holding) storage $) {
        assembly ("memory-safe") {
            $.slot := HOME_SLOT
        }
    }
}
