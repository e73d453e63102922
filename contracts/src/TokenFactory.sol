// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {AgentGated} from "./AgentGated.sol";
import {Roles} from "./Roles.sol";
import {IAgentGated} from "./interfaces/IAgentGated.sol";
import {IAgentRegistry} from "./interfaces/IAgentRegistry.sol";
import {IPlatformSecurityToken7518} from "./interfaces/IPlatformSecurityToken7518.sol";
import {ITokenFactory} from "./interfaces/ITokenFactory.sol";
import {Clones} from "@openzeppelin/contracts/proxy/Clones.sol";

/// @title TokenFactory
/// @notice See `ITokenFactory`.
contract TokenFactory is ITokenFactory, AgentGated {
    /// @inheritdoc ITokenFactory
    address public immutable implementation;

    /// @inheritdoc ITokenFactory
    mapping(bytes32 offeringId => bytes32 payloadHash) public payloadHashOf;

    constructor(IAgentRegistry registry, address implementation_) AgentGated(registry) {
        if (
            implementation_.code.length == 0
                || address(IAgentGated(implementation_).agentRegistry()) != address(registry)
        ) {
            revert ImplementationMismatch(implementation_);
        }
        implementation = implementation_;
    }

    /// @inheritdoc ITokenFactory
    function deployToken(
        bytes32 offeringId,
        string calldata symbol,
        uint256 totalCap,
        IPlatformSecurityToken7518.PartitionTerms[] calldata partitions
    ) external returns (address token) {
        if (!agentRegistry().hasRole(msg.sender, Roles.ISSUER)) _requireRoleFor(offeringId, Roles.ISSUER);
        if (offeringId == 0) revert OfferingIdZero();
        bytes32 given = keccak256(msg.data);
        bytes32 deployed = payloadHashOf[offeringId];
        bool created = deployed == 0;
        if (created) {
            payloadHashOf[offeringId] = given;
            token = Clones.cloneDeterministicWithImmutableArgs(implementation, abi.encode(offeringId), offeringId);
            IPlatformSecurityToken7518(token).initialize(symbol, totalCap, partitions);
        } else {
            if (deployed != given) revert OfferingParamsDiffer(offeringId, deployed, given);
            token = predictToken(offeringId);
        }
        emit TokenDeployed(offeringId, token, given, created);
    }

    /// @inheritdoc ITokenFactory
    function tokenOf(bytes32 offeringId) external view returns (address) {
        return payloadHashOf[offeringId] == 0 ? address(0) : predictToken(offeringId);
    }

    /// @inheritdoc ITokenFactory
    function predictToken(bytes32 offeringId) public view returns (address) {
        return Clones.predictDeterministicAddressWithImmutableArgs(
            implementation, abi.encode(offeringId), offeringId, address(this)
        );
    }
}
