// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IPlatformSecurityToken7518} from "./IPlatformSecurityToken7518.sol";

/// @title One token per offering, in one transaction
/// @notice Each token is an EIP-1167 clone of one immutable implementation, made with CREATE2 and the offering id as
/// salt. Its address depends on the offering id alone, so it is known before the transaction is sent.
interface ITokenFactory {
    /// @notice `token` is the token of `offeringId`.
    /// @param created false when the call was a repetition that changed nothing.
    /// @param payloadHash keccak256 of the complete calldata of the (first) `deployToken` call.
    event TokenDeployed(bytes32 indexed offeringId, address indexed token, bytes32 payloadHash, bool created);

    /// @notice The implementation is not a contract, or it reads another registry than the factory.
    error ImplementationMismatch(address implementation);
    /// @notice The offering was deployed with other parameters.
    error OfferingParamsDiffer(bytes32 offeringId, bytes32 deployed, bytes32 given);
    /// @notice An offering id cannot be zero.
    error OfferingIdZero();

    /// @notice Clones the token of `offeringId`, initialises it and sets its caps. Role: issuer.
    /// @dev Repeating the same call returns the same address, changes nothing and emits `TokenDeployed` again with
    /// `created` false. Any other parameters revert `OfferingParamsDiffer`. Needs no operation id: the offering id is one.
    /// @param offeringId keccak256 of the platform's text id.
    /// @param symbol 1 to 31 bytes.
    /// @param totalCap the most units that may exist over all partitions; at most `type(uint96).max`.
    /// @param partitions 1 to 32 partitions; the n-th one becomes partition id n, counted from 1.
    function deployToken(
        bytes32 offeringId,
        string calldata symbol,
        uint256 totalCap,
        IPlatformSecurityToken7518.PartitionTerms[] calldata partitions
    ) external returns (address token);

    /// @notice The address that the token of `offeringId` has or will have.
    function predictToken(bytes32 offeringId) external view returns (address token);

    /// @notice The deployed token of `offeringId`, or zero.
    function tokenOf(bytes32 offeringId) external view returns (address token);

    /// @notice keccak256 of the calldata that deployed `offeringId`, or zero.
    function payloadHashOf(bytes32 offeringId) external view returns (bytes32 payloadHash);

    /// @notice The implementation that every token of this factory is a clone of.
    function implementation() external view returns (address);
}
