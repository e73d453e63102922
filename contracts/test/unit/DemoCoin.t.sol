// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {DemoCoin} from "../../src/demo/DemoCoin.sol";
import {Test} from "../Test.sol";

contract DemoCoinTest is Test {
    function testDecimalsAndMint() external {
        DemoCoin cents = new DemoCoin("Demo Euro", "DEUR", 2);
        DemoCoin micros = new DemoCoin("Demo Dollar", "DUSD", 6);
        assertEq(cents.decimals(), 2, "two decimals");
        assertEq(micros.decimals(), 6, "six decimals");
        cents.mint(address(this), 5);
        assertEq(cents.balanceOf(address(this)), 5, "minted");
    }
}
