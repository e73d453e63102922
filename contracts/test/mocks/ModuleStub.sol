// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @notice A stub of the Rule 144 module. It returns the answer that a test set and records notifications.
contract ModuleStub {
    bool public allowed = true;
    bytes32 public reason;
    bytes[] private _heard;

    function answer(bool allowed_, bytes32 reason_) external {
        allowed = allowed_;
        reason = reason_;
    }

    function check(address, address, uint256, uint256) external view returns (bool, bytes32) {
        return (allowed, reason);
    }

    function isServed(address, uint256) external pure returns (bool) {
        return true;
    }

    function heard() external view returns (uint256) {
        return _heard.length;
    }

    function last() external view returns (bytes memory) {
        return _heard[_heard.length - 1];
    }

    /// @dev Records the calldata of every notification.
    fallback() external {
        _heard.push(msg.data);
    }
}
