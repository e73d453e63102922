// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {AgentRegistry} from "../src/AgentRegistry.sol";
import {PlatformSecurityToken7518} from "../src/PlatformSecurityToken7518.sol";
import {Roles} from "../src/Roles.sol";
import {TokenFactory} from "../src/TokenFactory.sol";
import {IPlatformSecurityToken7518} from "../src/interfaces/IPlatformSecurityToken7518.sol";
import {Test} from "./Test.sol";

/// @notice Fixture: one offering with two partitions, and one agent per role.
abstract contract World is Test {
    bytes32 internal constant OFFERING = keccak256("off_1");
    uint256 internal constant REG_D = 1;
    uint256 internal constant REG_S = 2;
    uint256 internal constant CAP = 1_000_000_000;
    uint256 internal constant START = 1_800_000_000;

    address internal owner = makeAddr("owner");
    address internal issuer = makeAddr("issuer");
    address internal custodian = makeAddr("custodian");
    address internal payer = makeAddr("payer");
    address internal officer = makeAddr("officer");
    address internal alice = makeAddr("alice");
    address internal bob = makeAddr("bob");
    address internal carol = makeAddr("carol");
    address internal stranger = makeAddr("stranger");

    AgentRegistry internal registry;
    TokenFactory internal factory;
    PlatformSecurityToken7518 internal implementation;
    PlatformSecurityToken7518 internal token;

    uint256 private _lastOpId;

    function setUp() public virtual {
        vm.warp(START);
        registry = AgentRegistry(deployed("AgentRegistry", abi.encode(owner, 0)));
        implementation = new PlatformSecurityToken7518(registry);
        factory = TokenFactory(deployed("TokenFactory", abi.encode(registry, implementation)));
        vm.startPrank(owner);
        registry.setRoles(issuer, Roles.ISSUER);
        registry.setRoles(custodian, Roles.CUSTODY);
        registry.setRoles(payer, Roles.PAYOUT);
        registry.setRoles(officer, Roles.COMPLIANCE);
        vm.stopPrank();
        vm.prank(issuer);
        token = PlatformSecurityToken7518(factory.deployToken(OFFERING, "OFF1", CAP, twoPartitions()));
    }

    /// @dev Deploys what `artifacts/` has. A test that imports the token is compiled with the token's optimiser runs, so
    /// `new` would deploy other code, with other gas. The plain profile has one build, and nothing of it is in `out/`.
    function deployed(string memory name, bytes memory arguments) internal returns (address made) {
        bool plain = keccak256(bytes(vm.envOr("FOUNDRY_PROFILE", string("")))) == keccak256("plain");
        string memory artifact =
            plain ? string.concat(name, ".sol:", name) : string.concat("out/", name, ".sol/", name, ".json");
        bytes memory code = abi.encodePacked(vm.getCode(artifact), arguments);
        assembly ("memory-safe") {
            made := create(0, add(code, 0x20), mload(code))
        }
        assertTrue(made != address(0), name);
    }

    function twoPartitions() internal pure returns (IPlatformSecurityToken7518.PartitionTerms[] memory terms) {
        terms = new IPlatformSecurityToken7518.PartitionTerms[](2);
        terms[0] = IPlatformSecurityToken7518.PartitionTerms(CAP, false, false);
        terms[1] = IPlatformSecurityToken7518.PartitionTerms(CAP / 2, false, false);
    }

    function nextOpId() internal returns (uint256) {
        return ++_lastOpId;
    }

    function line(address account, uint256 units) internal pure returns (bytes32) {
        return bytes32(abi.encodePacked(account, uint96(units)));
    }

    function page(address account, uint256 units) internal pure returns (bytes32[] memory lines) {
        lines = new bytes32[](1);
        lines[0] = line(account, units);
    }

    /// @dev `count` lines for the accounts `nth(first)` and after.
    function pageOf(uint256 first, uint256 count, uint256 units) internal pure returns (bytes32[] memory lines) {
        lines = new bytes32[](count);
        for (uint256 i; i < count; ++i) {
            lines[i] = line(nth(first + i), units);
        }
    }

    function one(address account) internal pure returns (address[] memory accounts) {
        accounts = new address[](1);
        accounts[0] = account;
    }

    function mint(address account, uint256 partition, uint256 units) internal {
        uint256 opId = nextOpId();
        vm.prank(issuer);
        token.mintPage(opId, partition, 0, page(account, units));
    }

    function whitelist(address account, uint256 partition) internal {
        vm.prank(officer);
        token.batchWhitelist(partition, one(account), true);
    }

    function freeze(address account) internal {
        vm.prank(officer);
        token.freezeAddress(account, "");
    }

    function recover(address lost, address replacement) internal {
        uint256 opId = nextOpId();
        vm.prank(custodian);
        token.recoveryAddress(lost, replacement, opId);
    }

    function lock(address account, uint256 partition, uint256 units, uint256 releaseAt) internal {
        uint256 opId = nextOpId();
        vm.prank(issuer);
        token.lockTokens(opId, account, partition, units, releaseAt);
    }
}
