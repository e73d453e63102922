// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @dev A stub of the security token. Tests set its answers, also to states that the real token never reaches.
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

    function frozenAmong(bytes32[] calldata lines) external view returns (uint256 bits) {
        for (uint256 i = 0; i < lines.length; ++i) {
            if (isFrozen[address(bytes20(lines[i]))]) bits |= 1 << i;
        }
    }
}
