// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {AccountWord} from "./AccountWord.sol";
import {HolderWord} from "./HolderWord.sol";
import {PartitionWord} from "./PartitionWord.sol";
import {TotalWord} from "./TotalWord.sol";

/// @title TokenStorage
/// @notice The token's whole state behind one ERC-7201 slot, so that a base contract can never shift it.
library TokenStorage {
    /// @custom:storage-location erc7201:muniment.storage.SecurityToken
    struct Layout {
        TotalWord total;
        string symbol;
        address rule144;
        address payoutAsset;
        mapping(uint256 partition => PartitionWord) partitions;
        mapping(address account => AccountWord) accounts;
        mapping(uint256 partition => mapping(address holder => HolderWord)) holders;
        mapping(uint256 partition => mapping(address holder => uint256[15])) extras;
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
