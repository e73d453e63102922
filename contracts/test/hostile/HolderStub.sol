// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @dev What the adjacent contracts ask a security token, settable at will, also to states the real one never reaches.
contract HolderStub {
    mapping(address holder => bool) public isFrozen;
    mapping(address holder => address) public successorOf;
    mapping(uint256 partition => uint256) public totalSupply;

    function setFrozen(address holder, bool frozen) external {
        isFrozen[holder] = frozen;
    }

    function setSuccessor(address lost, address successor) external {
        isFrozen[lost] = true;
        successorOf[lost] = successor;
    }

    function setSupply(uint256 partition, uint256 supply) external {
        totalSupply[partition] = supply;
    }
}
