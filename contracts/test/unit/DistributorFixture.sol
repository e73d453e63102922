// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {AgentRegistry} from "../../src/AgentRegistry.sol";
import {PlatformYieldDistributor} from "../../src/PlatformYieldDistributor.sol";
import {Roles} from "../../src/Roles.sol";
import {IPlatformYieldDistributor} from "../../src/interfaces/IPlatformYieldDistributor.sol";
import {Test} from "../Test.sol";
import {HolderStub} from "../hostile/HolderStub.sol";
import {HostileCoin} from "../hostile/HostileCoin.sol";

/// @dev A distributor, a payout agent with money, and lists to pay.
abstract contract DistributorFixture is Test {
    bytes32 internal constant ID = "distribution";
    bytes32 internal constant AUDIT = "audit";
    address internal constant PAYER = address(0xA11CE);
    address internal constant STRANGER = address(0x57A);
    uint256 internal constant AMOUNT = 100e6;

    AgentRegistry internal registry;
    HolderStub internal token;
    HostileCoin internal coin;
    PlatformYieldDistributor internal distributor;

    /// @dev The list that was declared last.
    bytes32[] private _declared;

    function setUp() public virtual {
        registry = new AgentRegistry(address(this), 0);
        registry.setRoles(PAYER, Roles.PAYOUT);
        token = new HolderStub();
        coin = new HostileCoin();
        distributor = new PlatformYieldDistributor(registry);
        coin.mint(PAYER, 1_000_000e6);
        vm.prank(PAYER);
        coin.approve(address(distributor), type(uint256).max);
    }

    function _holder(uint256 index) internal pure returns (address) {
        return address(uint160(0x1000 + index));
    }

    function _line(address account, uint256 amount) internal pure returns (bytes32) {
        return bytes32(abi.encodePacked(account, uint96(amount)));
    }

    /// @dev Lines `from` to `from + count` of the standard list: holder i gets AMOUNT.
    function _lines(uint256 from, uint256 count) internal pure returns (bytes32[] memory lines) {
        lines = new bytes32[](count);
        for (uint256 i = 0; i < count; ++i) {
            lines[i] = _line(_holder(from + i), AMOUNT);
        }
    }

    /// @dev The rolled hash as the interface defines it, from the last line to the first.
    function _roll(bytes32 tail, bytes32[] memory lines) internal pure returns (bytes32) {
        for (uint256 i = lines.length; i > 0; --i) {
            tail = keccak256(abi.encode(tail, lines[i - 1]));
        }
        return tail;
    }

    /// @dev The rolled hash of the declared lines from index `from` on.
    function _tailFrom(uint256 from) internal view returns (bytes32 tail) {
        for (uint256 i = _declared.length; i > from; --i) {
            tail = keccak256(abi.encode(tail, _declared[i - 1]));
        }
    }

    function _sum(bytes32[] memory lines) internal pure returns (uint256 sum) {
        for (uint256 i = 0; i < lines.length; ++i) {
            sum += uint96(uint256(lines[i]));
        }
    }

    function _create(bytes32[] memory lines) internal {
        _createFor(lines, _sum(lines), lines.length);
    }

    /// @dev Declares a list with a sum and a count of its own.
    function _createFor(bytes32[] memory lines, uint256 total, uint256 count) internal {
        _declared = lines;
        vm.prank(PAYER);
        distributor.createDistribution(ID, address(token), address(coin), total, count, _roll(0, lines), bytes32(0));
    }

    function _createOf(uint256 count) internal {
        _create(_lines(0, count));
    }

    /// @dev Sends a page with the tail that the declared list has behind it.
    function _pay(uint256 from, bytes32[] memory lines) internal {
        uint256 end = from < _declared.length ? from + lines.length : from;
        _payWith(from, _tailFrom(end), lines);
    }

    function _payWith(uint256 from, bytes32 tail, bytes32[] memory lines) internal {
        vm.prank(PAYER);
        distributor.payoutForDistribution(ID, from, tail, lines);
    }

    function _state() internal view returns (IPlatformYieldDistributor.Distribution memory) {
        return distributor.distribution(ID);
    }

    /// @dev The sum pulled equals paid, withheld and remaining units.
    function _assertConserved(uint256 paid, uint256 withheld) internal view {
        IPlatformYieldDistributor.Distribution memory state = _state();
        assertEq(state.allocated - state.withheld, paid, "paid");
        assertEq(state.withheld, withheld, "withheld");
        uint256 rest = state.cancelled ? 0 : state.total - state.allocated;
        assertEq(coin.balanceOf(address(distributor)), withheld + rest, "escrow");
    }
}
