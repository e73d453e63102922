// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// @title Play money for tests and the demonstration: anyone may mint it, so it is worth nothing.
contract DemoCoin is ERC20 {
    uint8 private immutable _unitDecimals;

    constructor(string memory name_, string memory symbol_, uint8 decimals_) ERC20(name_, symbol_) {
        _unitDecimals = decimals_;
    }

    /// @notice Gives `amount` units to `to`.
    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }

    /// @inheritdoc ERC20
    function decimals() public view override returns (uint8) {
        return _unitDecimals;
    }
}
