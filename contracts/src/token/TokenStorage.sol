// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {AccountWord} from "./AccountWord.sol";
import {HolderWord} from "./HolderWord.sol";
import {PartitionWord} from "./PartitionWord.sol";
import {TotalWord} from "./TotalWord.sol";

/// @title TokenStorage
/// @notice The token's state, at one ERC-7201 slot, so that a base contract cannot shift it.
library TokenStorage {
    /// @notice An address over all partitions.
    struct Account {
        AccountWord word;
    }

    /// @notice A holder in one partition. `extras` has the tranches after the first; see `Locks`. `frozen` has
    /// the units of `setFrozenTokens`, which may be more than the balance.
    struct Holding {
        HolderWord word;
        uint256[15] extras;
        uint256 frozen;
    }

    /// @notice A partition.
    struct Partition {
        PartitionWord word;
    }

    /// @custom:storage-location erc7201:muniment.storage.SecurityToken
    struct Layout {
        TotalWord total;
        string symbol;
        address rule144;
        address payoutAsset;
        mapping(uint256 partition => Partition) partitions;
        mapping(address account => Account) accounts;
        mapping(uint256 partition => mapping(address holder => Holding)) holdings;
        mapping(address holder => mapping(address operator => bool)) approvals;
    }

    /// @dev keccak256(abi.encode(uint256(keccak256("muniment.storage.SecurityToken")) - 1)) & ~bytes32(uint256(0xff))
    bytes32 internal constant SLOT = 0x4e1462d0d7fb4d0f49eaf7c512446a7457d2128ffb31aa3d046c310a30c1d700;

    function state() internal pure returns (Layout storage $) {
        assembly ("memory-safe") {
            $.slot := SLOT
        }
    }
}
