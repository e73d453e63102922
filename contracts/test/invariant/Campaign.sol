// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {World} from "../World.sol";

/// @dev Random calls of one handler: those of forge, which differ from machine to machine with the number of its workers, and
/// `play`, which is the same everywhere. So what a campaign must reach is asserted after `play`.
abstract contract Campaign is World {
    struct FuzzSelector {
        address addr;
        bytes4[] selectors;
    }

    /// @dev Every function that takes random words, and those that should come often more than once.
    function calls() internal view virtual returns (address handler, bytes4[] memory functions);

    function targetSelectors() public view returns (FuzzSelector[] memory targets) {
        targets = new FuzzSelector[](1);
        (targets[0].addr, targets[0].selectors) = calls();
    }

    function targetContracts() public view returns (address[] memory) {
        (address handler,) = calls();
        return one(handler);
    }

    function play(uint256 count) internal {
        (address handler, bytes4[] memory functions) = calls();
        for (uint256 i = 0; i < count; ++i) {
            bytes32 word = keccak256(abi.encode("play", i));
            bytes memory call = abi.encodePacked(
                functions[uint256(word) % functions.length],
                _next(word, 1),
                _next(word, 2),
                _next(word, 3),
                _next(word, 4)
            );
            (bool ok,) = handler.call(call);
            assertTrue(ok, "a handler takes any words");
        }
    }

    function _next(bytes32 word, uint256 place) private pure returns (bytes32) {
        return keccak256(abi.encode(word, place));
    }
}
