// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Roles} from "../../src/Roles.sol";
import {TransferAgent} from "../../src/TransferAgent.sol";
import {ITransferAgent} from "../../src/interfaces/ITransferAgent.sol";
import {World} from "../World.sol";

/// @dev The desk with a real token. Only the desk has the custody role.
abstract contract TransferAgentFixture is World {
    bytes32 internal constant DOCUMENT = "document";
    uint256 internal constant UNITS = 1000;

    address internal proposer = makeAddr("proposer");
    address internal approver = makeAddr("approver");
    address internal both = makeAddr("both");

    TransferAgent internal desk;

    function setUp() public virtual override {
        super.setUp();
        (address[] memory members, uint256[] memory roles) = (new address[](3), new uint256[](3));
        (members[0], roles[0]) = (proposer, 1);
        (members[1], roles[1]) = (approver, 2);
        (members[2], roles[2]) = (both, 3);
        desk = new TransferAgent(owner, members, roles);
        vm.startPrank(owner);
        registry.setRoles(custodian, 0);
        registry.setRoles(address(desk), Roles.CUSTODY);
        vm.stopPrank();
        mint(alice, REG_D, UNITS);
        whitelist(bob, REG_D);
        freeze(alice);
    }

    function _forcedTransfer() internal view returns (ITransferAgent.Instruction memory) {
        return ITransferAgent.Instruction({
            token: address(token),
            kind: ITransferAgent.Kind.ForcedTransfer,
            from: alice,
            to: bob,
            partition: REG_D,
            units: 400,
            opId: 50,
            docHash: DOCUMENT
        });
    }

    function _recovery() internal view returns (ITransferAgent.Instruction memory) {
        return ITransferAgent.Instruction({
            token: address(token),
            kind: ITransferAgent.Kind.Recovery,
            from: alice,
            to: carol,
            partition: 0,
            units: 0,
            opId: 51,
            docHash: DOCUMENT
        });
    }

    function _propose(ITransferAgent.Instruction memory instruction) internal returns (bytes32 id) {
        vm.prank(proposer);
        return desk.propose(instruction);
    }

    function _execute(ITransferAgent.Instruction memory instruction) internal {
        vm.prank(approver);
        desk.execute(instruction);
    }

    function _statusOf(bytes32 id) internal view returns (uint256) {
        (ITransferAgent.Status status,,) = desk.instructionState(id);
        return uint256(status);
    }
}
