// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC1155} from "@openzeppelin/contracts/token/ERC1155/IERC1155.sol";
import {ERC1155Holder} from "@openzeppelin/contracts/token/ERC1155/utils/ERC1155Holder.sol";

/// @notice A wallet that accepts everything and counts the calls of its hook.
contract GoodReceiver is ERC1155Holder {
    uint256 public calls;

    function onERC1155Received(address, address, uint256, uint256, bytes memory) public override returns (bytes4) {
        ++calls;
        return this.onERC1155Received.selector;
    }
}

/// @notice A wallet whose hooks revert.
contract RevertingReceiver {
    error Unwilling();

    fallback() external {
        revert Unwilling();
    }
}

/// @notice A wallet whose hook returns a wrong value.
contract WrongReceiver {
    fallback() external {
        assembly ("memory-safe") {
            mstore(0, shl(224, 1))
            return(0, 32)
        }
    }
}

/// @notice A wallet that burns all its gas.
contract BurningReceiver {
    fallback() external {
        assembly ("memory-safe") {
            invalid()
        }
    }
}

/// @notice A wallet whose hook transfers the received units on.
contract ReenteringReceiver {
    IERC1155 private immutable _TOKEN;
    address private immutable _NEXT;

    constructor(IERC1155 token, address next) {
        _TOKEN = token;
        _NEXT = next;
    }

    function onERC1155Received(address, address, uint256 id, uint256 value, bytes calldata) external returns (bytes4) {
        _TOKEN.safeTransferFrom(address(this), _NEXT, id, value, "");
        return this.onERC1155Received.selector;
    }
}
