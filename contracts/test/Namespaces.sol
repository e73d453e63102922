// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Operations} from "../src/Operations.sol";
import {TokenStorage} from "../src/token/TokenStorage.sol";

/// @notice The compiler prints no layout for state behind an ERC-7201 slot. These contracts put the same structs at
/// slot 0, so that `bin/artifacts` can print and a review can compare them.
contract SecurityTokenNamespace {
    TokenStorage.Layout internal _layout;
}

/// @notice See `SecurityTokenNamespace`.
contract OperationsNamespace {
    Operations.OperationsStorage internal _layout;
}
