// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {PlatformSecurityToken7518} from "../../src/PlatformSecurityToken7518.sol";
import {IPlatformSecurityToken7518} from "../../src/interfaces/IPlatformSecurityToken7518.sol";
import {Test} from "../Test.sol";

/// @notice The holders of a campaign, and what the token stores of them.
abstract contract TokenActors is Test {
    uint256 public constant ACTORS = 6;
    uint256 public constant PARTITIONS = 3;

    PlatformSecurityToken7518 public immutable token;

    /// @notice The first rule that failed, or empty.
    string public broken;

    /// @dev A recovered holder goes on with another wallet.
    mapping(uint256 place => address) internal _actors;

    constructor(PlatformSecurityToken7518 token_) {
        token = token_;
    }

    function actor(uint256 a) public view returns (address) {
        address current = _actors[_place(a)];
        return current == address(0) ? nth(_place(a)) : current;
    }

    function _place(uint256 a) internal pure returns (uint256) {
        return a % ACTORS;
    }

    function _line(uint256 a, uint256 units) internal view returns (bytes32) {
        return bytes32(abi.encodePacked(actor(a), uint96(units)));
    }

    /// @dev A hash of everything that the token stores of a wallet in its partitions.
    function _picture(address wallet) internal view returns (bytes32 picture) {
        for (uint256 partition = 1; partition <= PARTITIONS; ++partition) {
            IPlatformSecurityToken7518.Tranche[] memory tranches = token.tranchesOf(wallet, partition);
            picture = keccak256(
                abi.encode(
                    picture,
                    token.balanceOf(wallet, partition),
                    token.lockedBalanceOf(wallet, partition),
                    token.getFrozenTokens(wallet, partition),
                    token.isWhitelisted(wallet, partition),
                    tranches
                )
            );
        }
    }

    function _must(bool kept, string memory what) internal {
        if (!kept && bytes(broken).length == 0) broken = what;
    }
}
