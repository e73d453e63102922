// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IPlatformSecurityToken7518} from "./IPlatformSecurityToken7518.sol";

/// @title ITokenFactory
/// @notice Deploys one token per offering, in one transaction. Each token is an EIP-1167 clone of one immutable
/// implementation, made with CREATE2 and the offering id as salt. So its address is known before the transaction is
/// sent.
/// @dev `tokenOf` is the proof that a token belongs to an offering. Anyone can deploy a clone that claims the same
/// offering id and registry.
interface ITokenFactory {
    /// @notice An offering has its token.
    /// @param offeringId keccak256 of the platform's text id.
    /// @param token The address of the token.
    /// @param payloadHash keccak256 of the complete calldata of the (first) `deployToken` call.
    /// @param created False if the call was a repetition that changed nothing.
    event TokenDeployed(bytes32 indexed offeringId, address indexed token, bytes32 payloadHash, bool created);

    /// @notice The implementation is not a contract, or it reads another registry than the factory.
    /// @param implementation The address given.
    error ImplementationMismatch(address implementation);
    /// @notice The offering was deployed with other parameters.
    /// @param offeringId The offering.
    /// @param deployed The payload hash of the first call.
    /// @param given The payload hash of this call.
    error OfferingParamsDiffer(bytes32 offeringId, bytes32 deployed, bytes32 given);
    /// @notice An offering id cannot be zero.
    error OfferingIdZero();

    /// @notice Deploys the token of an offering, initialises it and sets its caps. Role: issuer.
    /// @dev The same call again returns the same address, changes nothing and emits `TokenDeployed` with `created`
    /// false. Other parameters revert `OfferingParamsDiffer`. No operation number is needed: the offering id serves.
    /// @param offeringId keccak256 of the platform's text id.
    /// @param symbol 1 to 31 bytes.
    /// @param totalCap The limit of units over all partitions; at most `type(uint96).max`.
    /// @param partitions 1 to 32 partitions; the n-th one becomes partition id n, counted from 1.
    /// @return token The address of the token.
    function deployToken(
        bytes32 offeringId,
        string calldata symbol,
        uint256 totalCap,
        IPlatformSecurityToken7518.PartitionTerms[] calldata partitions
    ) external returns (address token);

    /// @notice Returns the address that the token of an offering has or will have.
    /// @param offeringId The offering.
    /// @return token The address.
    function predictToken(bytes32 offeringId) external view returns (address token);

    /// @notice Returns the deployed token of an offering.
    /// @param offeringId The offering.
    /// @return token The address, zero if nothing is deployed.
    function tokenOf(bytes32 offeringId) external view returns (address token);

    /// @notice Returns the payload hash of the call that deployed an offering's token.
    /// @param offeringId The offering.
    /// @return payloadHash keccak256 of the calldata, zero if nothing is deployed.
    function payloadHashOf(bytes32 offeringId) external view returns (bytes32 payloadHash);

    /// @notice Returns the implementation that every token of this factory is a clone of.
    /// @return The address.
    function implementation() external view returns (address);
}
