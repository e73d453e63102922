// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {AgentRegistry} from "../../src/AgentRegistry.sol";
import {PlatformSecurityToken7518} from "../../src/PlatformSecurityToken7518.sol";
import {Roles} from "../../src/Roles.sol";
import {TokenFactory} from "../../src/TokenFactory.sol";
import {IAgentGated} from "../../src/interfaces/IAgentGated.sol";
import {IPlatformSecurityToken7518} from "../../src/interfaces/IPlatformSecurityToken7518.sol";
import {IPlatformSecurityTokenErrors} from "../../src/interfaces/IPlatformSecurityTokenErrors.sol";
import {ITokenFactory} from "../../src/interfaces/ITokenFactory.sol";
import {World} from "../World.sol";

contract TokenFactoryTest is World {
    bytes32 private constant OTHER = keccak256("off_2");

    function testDeployTokenMakesTheWholeToken() public {
        bytes32 payloadHash = keccak256(_deployCall(OTHER, "OFF2", CAP));
        address predicted = factory.predictToken(OTHER);
        assertEq(factory.tokenOf(OTHER), address(0), "not yet");
        vm.expectEmit(predicted);
        emit IPlatformSecurityToken7518.TokenInitialized(OTHER, "OFF2", CAP, 2);
        vm.expectEmit(predicted);
        emit IPlatformSecurityToken7518.PartitionAdded(1, CAP, false, false);
        vm.expectEmit(predicted);
        emit IPlatformSecurityToken7518.PartitionAdded(2, CAP / 2, false, false);
        vm.expectEmit(address(factory));
        emit ITokenFactory.TokenDeployed(OTHER, predicted, payloadHash, true);
        assertEq(_deploy(OTHER, "OFF2", CAP), predicted, "address");
        assertEq(factory.tokenOf(OTHER), predicted, "booked");
        assertEq(factory.payloadHashOf(OTHER), payloadHash, "hash");

        PlatformSecurityToken7518 made = PlatformSecurityToken7518(predicted);
        assertEq(made.offeringId(), OTHER, "offering");
        assertEq(bytes(made.tokenSymbol()), "OFF2", "symbol");
        assertEq(made.totalCap(), CAP, "cap");
        assertEq(made.partitionCount(), 2, "partitions");
        assertEq(made.partitionOf(2).cap, CAP / 2, "partition cap");
        assertEq(address(made.agentRegistry()), address(registry), "registry");
    }

    function testDeployTokenRepeatedReturnsTheAddressAndChangesNothing() public {
        address first = _deploy(OTHER, "OFF2", CAP);
        bytes32 codeHash = first.codehash;
        bytes32 payloadHash = keccak256(_deployCall(OTHER, "OFF2", CAP));
        vm.expectEmit(address(factory));
        emit ITokenFactory.TokenDeployed(OTHER, first, payloadHash, false);
        assertEq(_deploy(OTHER, "OFF2", CAP), first, "same");
        assertEq(first.codehash, codeHash, "same code");
    }

    function testDeployTokenRepeatedByAnotherIssuerIsTheSame() public {
        address first = _deploy(OTHER, "OFF2", CAP);
        vm.prank(owner);
        registry.setRoles(stranger, Roles.ISSUER);
        vm.prank(stranger);
        assertEq(factory.deployToken(OTHER, "OFF2", CAP, twoPartitions()), first, "caller does not matter");
    }

    function testDeployTokenWithOtherParametersReverts() public {
        _deploy(OTHER, "OFF2", CAP);
        bytes32 deployed = keccak256(_deployCall(OTHER, "OFF2", CAP));
        _expectDiffer(deployed, "OFF2", CAP + 1);
        _expectDiffer(deployed, "OFF3", CAP);
        IPlatformSecurityToken7518.PartitionTerms[] memory terms = twoPartitions();
        terms[1].restricted = true;
        bytes32 given = keccak256(abi.encodeCall(factory.deployToken, (OTHER, "OFF2", CAP, terms)));
        vm.expectRevert(abi.encodeWithSelector(ITokenFactory.OfferingParamsDiffer.selector, OTHER, deployed, given));
        vm.prank(issuer);
        factory.deployToken(OTHER, "OFF2", CAP, terms);
    }

    function testDeployTokenByOthersReverts(address caller) public {
        vm.assume(caller != issuer);
        vm.expectRevert(
            abi.encodeWithSelector(
                IAgentGated.NotAuthorized.selector, caller, ITokenFactory.deployToken.selector, Roles.ISSUER
            )
        );
        vm.prank(caller);
        factory.deployToken(OTHER, "OFF2", CAP, twoPartitions());
    }

    function testDeployTokenWithoutOfferingIdReverts() public {
        vm.expectRevert(ITokenFactory.OfferingIdZero.selector);
        vm.prank(issuer);
        factory.deployToken(0, "OFF2", CAP, twoPartitions());
    }

    function testDeployTokenWithBadSymbolReverts() public {
        _expectSymbol("", 0);
        _expectSymbol("12345678901234567890123456789012", 32);
    }

    function testDeployTokenWithLongestSymbol() public {
        address made = _deploy(OTHER, "1234567890123456789012345678901", CAP);
        assertEq(bytes(PlatformSecurityToken7518(made).tokenSymbol()), "1234567890123456789012345678901", "symbol");
    }

    function testDeployTokenWithTooLargeCapReverts() public {
        uint256 cap = uint256(type(uint96).max) + 1;
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.AmountTooLarge.selector, cap));
        vm.prank(issuer);
        factory.deployToken(OTHER, "OFF2", cap, twoPartitions());
        IPlatformSecurityToken7518.PartitionTerms[] memory terms = twoPartitions();
        terms[1].cap = cap;
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.AmountTooLarge.selector, cap));
        vm.prank(issuer);
        factory.deployToken(OTHER, "OFF2", CAP, terms);
        assertEq(factory.tokenOf(OTHER), address(0), "nothing stays");
    }

    function testDeployTokenWithBadPartitionCountReverts() public {
        _expectCount(0);
        _expectCount(33);
    }

    function testDeployTokenWith32Partitions() public {
        vm.prank(issuer);
        PlatformSecurityToken7518 made =
            PlatformSecurityToken7518(factory.deployToken(OTHER, "OFF2", CAP, _partitions(32)));
        assertEq(made.partitionCount(), 32, "count");
        assertTrue(made.partitionOf(32).rule144, "last flag");
    }

    function testPredictTokenDependsOnTheOfferingAlone() public {
        TokenFactory another = new TokenFactory(registry, address(implementation));
        assertTrue(another.predictToken(OTHER) != factory.predictToken(OTHER), "factory is part of it");
        address predicted = factory.predictToken(OTHER);
        vm.warp(START + 1 days);
        assertEq(_deploy(OTHER, "ANY", 7), predicted, "parameters are not");
    }

    function testConstructorRefusesAForeignImplementation() public {
        AgentRegistry foreign = new AgentRegistry(owner, 0);
        vm.expectRevert(abi.encodeWithSelector(ITokenFactory.ImplementationMismatch.selector, address(implementation)));
        new TokenFactory(foreign, address(implementation));
        vm.expectRevert(abi.encodeWithSelector(ITokenFactory.ImplementationMismatch.selector, stranger));
        new TokenFactory(registry, stranger);
    }

    function testInitializeTwiceReverts() public {
        vm.expectRevert(IPlatformSecurityTokenErrors.AlreadyInitialized.selector);
        token.initialize("AGAIN", CAP, twoPartitions());
    }

    function testImplementationIsSealed() public {
        vm.expectRevert(IPlatformSecurityTokenErrors.AlreadyInitialized.selector);
        implementation.initialize("IMPL", CAP, twoPartitions());
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.PartitionCountOutOfRange.selector, 33));
        vm.prank(issuer);
        implementation.addPartition(33, twoPartitions()[0]);
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.UnknownPartition.selector, 1));
        vm.prank(issuer);
        implementation.mintPage(1, 1, 0, page(alice, 1));
        assertEq(implementation.offeringId(), bytes32(0), "no offering");
    }

    function testTokenIsAMinimalClone() public view {
        bytes memory code = address(token).code;
        bytes memory expected = abi.encodePacked(
            hex"363d3d373d3d3d363d73", address(implementation), hex"5af43d82803e903d91602b57fd5bf3", OFFERING
        );
        assertEq(code, expected, "EIP-1167 and the offering id");
    }

    function _deployCall(bytes32 id, string memory symbol, uint256 cap) private view returns (bytes memory) {
        return abi.encodeCall(factory.deployToken, (id, symbol, cap, twoPartitions()));
    }

    function _deploy(bytes32 id, string memory symbol, uint256 cap) private returns (address) {
        vm.prank(issuer);
        return factory.deployToken(id, symbol, cap, twoPartitions());
    }

    function _expectDiffer(bytes32 deployed, string memory symbol, uint256 cap) private {
        bytes32 given = keccak256(_deployCall(OTHER, symbol, cap));
        vm.expectRevert(abi.encodeWithSelector(ITokenFactory.OfferingParamsDiffer.selector, OTHER, deployed, given));
        _deploy(OTHER, symbol, cap);
    }

    function _expectSymbol(string memory symbol, uint256 length) private {
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.SymbolLengthOutOfRange.selector, length));
        _deploy(OTHER, symbol, CAP);
    }

    function _expectCount(uint256 count) private {
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.PartitionCountOutOfRange.selector, count));
        vm.prank(issuer);
        factory.deployToken(OTHER, "OFF2", CAP, _partitions(count));
    }

    function _partitions(uint256 count)
        private
        pure
        returns (IPlatformSecurityToken7518.PartitionTerms[] memory terms)
    {
        terms = new IPlatformSecurityToken7518.PartitionTerms[](count);
        for (uint256 i; i < count; ++i) {
            terms[i] = IPlatformSecurityToken7518.PartitionTerms(CAP, false, i == 31);
        }
    }
}
