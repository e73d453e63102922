// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @dev A token that returns false, or calls back and returns true.
contract FalseToken {
    address private target;
    bytes private data;
    bytes public answer;

    function setCall(address target_, bytes calldata data_) external {
        target = target_;
        data = data_;
    }

    function forceTransfer(address, address, uint256, uint256, bytes calldata) external returns (bool) {
        if (target == address(0)) return false;
        (, answer) = target.call(data);
        return true;
    }
}
