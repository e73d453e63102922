// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {AgentRegistry} from "../../src/AgentRegistry.sol";
import {PlatformYieldDistributor} from "../../src/PlatformYieldDistributor.sol";
import {Roles} from "../../src/Roles.sol";
import {RollUp} from "../../src/RollUp.sol";
import {DemoCoin} from "../../src/demo/DemoCoin.sol";
import {IPlatformYieldDistributor} from "../../src/interfaces/IPlatformYieldDistributor.sol";
import {HolderStub} from "../hostile/HolderStub.sol";

/// @notice Proofs about the rolled hash, for every possible line, if keccak256 has no collisions.
/// `contracts/prove` runs them.
contract RollUpProof {
    bytes32 private constant ID = "distribution";

    AgentRegistry private registry;
    PlatformYieldDistributor private distributor;
    HolderStub private token;
    DemoCoin private coin;

    function setUp() public {
        registry = new AgentRegistry(address(this), 0);
        registry.setRoles(address(this), Roles.PAYOUT);
        distributor = new PlatformYieldDistributor(registry);
        token = new HolderStub();
        coin = new DemoCoin("Demo Dollar", "DUSD", 6);
        coin.mint(address(this), type(uint112).max);
        coin.approve(address(distributor), type(uint256).max);
    }

    function _roll(bytes32[3] memory lines) private pure returns (bytes32 rolled) {
        for (uint256 i = 3; i > 0; --i) {
            rolled = RollUp.add(rolled, lines[i - 1]);
        }
    }

    /// @dev The library equals the definition in the interface.
    function checkRollUpEqualsItsDefinition(bytes32 rolled, bytes32 line) external pure {
        assert(RollUp.add(rolled, line) == keccak256(abi.encode(rolled, line)));
    }

    /// @dev Two lists of the same length have the same rolled hash only if they are the same list.
    function checkOneHashOneList(bytes32[3] calldata left, bytes32[3] calldata right) external pure {
        if (_roll(left) != _roll(right)) return;
        assert(left[0] == right[0] && left[1] == right[1] && left[2] == right[2]);
    }

    /// @dev The real contract, paid in one page or two with any tail, accepts the declared lines only: each page by itself.
    function checkOnlyTheDeclaredListIsAccepted(
        bytes32[2] calldata declared,
        bytes32[2] calldata sent,
        bytes32 tail,
        bool twoPages
    ) external {
        uint256 total = uint256(uint96(uint256(declared[0]))) + uint96(uint256(declared[1]));
        if (total == 0) return;
        bytes32 behind = RollUp.add(0, declared[1]);
        bytes32 commitment = RollUp.add(behind, declared[0]);
        distributor.createDistribution(ID, address(token), address(coin), total, 2, commitment, 0);
        if (twoPages) {
            _pay(0, tail, _page(sent[0]));
            assert(sent[0] == declared[0] && tail == behind);
            _pay(1, 0, _page(sent[1]));
        } else {
            bytes32[] memory both = new bytes32[](2);
            (both[0], both[1]) = (sent[0], sent[1]);
            _pay(0, tail, both);
            assert(tail == 0);
        }
        // Here all pages were accepted, so the list is complete.
        IPlatformYieldDistributor.Distribution memory state = distributor.distribution(ID);
        assert(state.next == 2 && state.tail == 0);
        assert(state.allocated == total && state.withheld <= total);
        assert(sent[0] == declared[0] && sent[1] == declared[1]);
    }

    function _page(bytes32 line) private pure returns (bytes32[] memory lines) {
        lines = new bytes32[](1);
        lines[0] = line;
    }

    function _pay(uint256 from, bytes32 tail, bytes32[] memory lines) private {
        distributor.payoutForDistribution(ID, from, tail, lines);
    }
}
