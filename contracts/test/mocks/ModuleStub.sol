// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @notice A stub of the Rule 144 module. It returns the answer that a test set and records notifications.
contract ModuleStub {
    bool public allowed = true;
    bool public serves = true;
    bytes32 public reason;
    bytes[] private _heard;

    function answer(bool allowed_, bytes32 reason_) external {
        allowed = allowed_;
        reason = reason_;
    }

    /// @dev As the real module does, refuses every check and notification of a partition that it does not serve.
    function serve(bool serves_) external {
        serves = serves_;
    }

    function check(address, address, uint256, uint256) external view returns (bool, bytes32) {
        return serves ? (allowed, reason) : (false, bytes32("rule144_not_served"));
    }

    function isServed(address, uint256) external view returns (bool) {
        return serves;
    }

    function heard() external view returns (uint256) {
        return _heard.length;
    }

    function last() external view returns (bytes memory) {
        return _heard[_heard.length - 1];
    }

    /// @dev Records the calldata of every notification.
    fallback() external {
        require(serves, "not served");
        _heard.push(msg.data);
    }
}
