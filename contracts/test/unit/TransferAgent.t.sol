// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Roles} from "../../src/Roles.sol";
import {TransferAgent} from "../../src/TransferAgent.sol";
import {IAgentGated} from "../../src/interfaces/IAgentGated.sol";
import {IOperations} from "../../src/interfaces/IOperations.sol";
import {IPlatformSecurityToken7518} from "../../src/interfaces/IPlatformSecurityToken7518.sol";
import {ITransferAgent} from "../../src/interfaces/ITransferAgent.sol";
import {World} from "../World.sol";
import {FalseToken} from "../mocks/FalseToken.sol";
import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

/// @dev The desk with a real token. Only the desk has the custody role.
contract TransferAgentTest is World {
    bytes32 private constant DOCUMENT = "document";
    uint256 private constant UNITS = 1000;

    address private proposer = makeAddr("proposer");
    address private approver = makeAddr("approver");
    address private both = makeAddr("both");

    TransferAgent private desk;

    function setUp() public override {
        super.setUp();
        desk = new TransferAgent(owner);
        vm.startPrank(owner);
        registry.setRoles(custodian, 0);
        registry.setRoles(address(desk), Roles.CUSTODY);
        desk.setDeskMember(proposer, desk.PROPOSER());
        desk.setDeskMember(approver, desk.APPROVER());
        desk.setDeskMember(both, desk.PROPOSER() | desk.APPROVER());
        vm.stopPrank();
        mint(alice, REG_D, UNITS);
        whitelist(bob, REG_D);
        freeze(alice);
    }

    function _forcedTransfer() private view returns (ITransferAgent.Instruction memory) {
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

    function _recovery() private view returns (ITransferAgent.Instruction memory) {
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

    function _propose(ITransferAgent.Instruction memory instruction) private returns (bytes32 id) {
        vm.prank(proposer);
        return desk.propose(instruction);
    }

    function _execute(ITransferAgent.Instruction memory instruction) private {
        vm.prank(approver);
        desk.execute(instruction);
    }

    function _statusOf(bytes32 id) private view returns (uint256) {
        (ITransferAgent.Status status,,) = desk.instructionState(id);
        return uint256(status);
    }

    function testForcedTransferByTwoMembers() external {
        ITransferAgent.Instruction memory instruction = _forcedTransfer();
        bytes32 id = desk.instructionId(instruction);
        uint256 deadline = START + 72 hours;
        vm.expectEmit();
        emit ITransferAgent.InstructionProposed(id, address(token), proposer, instruction, deadline);
        assertEq(_propose(instruction), id, "id");
        (ITransferAgent.Status status, address by, uint256 until) = desk.instructionState(id);
        assertEq(uint256(status), uint256(ITransferAgent.Status.Pending), "pending");
        assertEq(by, proposer, "proposer");
        assertEq(until, deadline, "deadline");

        bytes memory inner = abi.encodeCall(token.forceTransfer, (alice, bob, REG_D, 400, abi.encode(50, DOCUMENT)));
        vm.expectEmit();
        emit ITransferAgent.InstructionExecuted(id, address(token), approver);
        vm.expectEmit(address(token));
        emit IOperations.OperationExecuted(50, "force_transfer", keccak256(inner));
        _execute(instruction);
        assertEq(token.balanceOf(bob, REG_D), 400, "moved");
        assertEq(token.balanceOf(alice, REG_D), UNITS - 400, "left");
        assertEq(_statusOf(id), uint256(ITransferAgent.Status.Executed), "executed");
    }

    function testRecoveryByTwoMembers() external {
        _propose(_recovery());
        _execute(_recovery());
        assertEq(token.balanceOf(carol, REG_D), UNITS, "moved");
        assertEq(token.successorOf(alice), carol, "successor");
        assertTrue(token.isOperationExecuted(51), "operation");
    }

    /// @dev The purpose of the desk: no single member can move a holding.
    function testMemberCannotMoveAloneOrBypassTheDesk() external {
        bytes memory notAgent = abi.encodeWithSelector(
            IAgentGated.NotAuthorized.selector, both, token.forceTransfer.selector, Roles.CUSTODY
        );
        vm.expectRevert(notAgent);
        vm.prank(both);
        token.forceTransfer(alice, bob, REG_D, 1, "");
        vm.prank(both);
        bytes32 id = desk.propose(_forcedTransfer());
        vm.expectRevert(abi.encodeWithSelector(ITransferAgent.SecondApproverNeeded.selector, id, both));
        vm.prank(both);
        desk.execute(_forcedTransfer());
        _execute(_forcedTransfer());
        assertEq(token.balanceOf(bob, REG_D), 400, "moved by the second one");
    }

    function testOneMemberMovesIfNoSecondIsRequired() external {
        vm.expectEmit();
        emit ITransferAgent.SecondApproverRequired(false);
        vm.prank(owner);
        desk.requireSecondApprover(false);
        assertFalse(desk.secondApproverRequired(), "not required");
        vm.startPrank(both);
        desk.propose(_forcedTransfer());
        desk.execute(_forcedTransfer());
        vm.stopPrank();
        assertEq(token.balanceOf(bob, REG_D), 400, "moved");
    }

    function testSecondApproverIsRequiredFromTheStart() external view {
        assertTrue(desk.secondApproverRequired(), "required");
    }

    function testProposeByNonProposer() external {
        address[3] memory callers = [approver, stranger, owner];
        for (uint256 i = 0; i < callers.length; ++i) {
            vm.expectRevert(abi.encodeWithSelector(ITransferAgent.NotOnDesk.selector, callers[i], 1));
            vm.prank(callers[i]);
            desk.propose(_forcedTransfer());
        }
    }

    function testExecuteByNonApprover() external {
        _propose(_forcedTransfer());
        address[3] memory callers = [proposer, stranger, owner];
        for (uint256 i = 0; i < callers.length; ++i) {
            vm.expectRevert(abi.encodeWithSelector(ITransferAgent.NotOnDesk.selector, callers[i], 2));
            vm.prank(callers[i]);
            desk.execute(_forcedTransfer());
        }
    }

    function testProposeInvalidInstruction() external {
        ITransferAgent.Instruction memory instruction = _forcedTransfer();
        instruction.token = address(0);
        vm.expectRevert(abi.encodeWithSelector(ITransferAgent.ZeroAddress.selector));
        _propose(instruction);
        instruction = _forcedTransfer();
        instruction.from = address(0);
        vm.expectRevert(abi.encodeWithSelector(ITransferAgent.ZeroAddress.selector));
        _propose(instruction);
        instruction = _forcedTransfer();
        instruction.to = address(0);
        vm.expectRevert(abi.encodeWithSelector(ITransferAgent.ZeroAddress.selector));
        _propose(instruction);
        instruction = _forcedTransfer();
        instruction.opId = 0;
        vm.expectRevert(abi.encodeWithSelector(ITransferAgent.ZeroOperationId.selector));
        _propose(instruction);
        instruction = _forcedTransfer();
        instruction.docHash = 0;
        vm.expectRevert(abi.encodeWithSelector(ITransferAgent.ZeroDocument.selector));
        _propose(instruction);
        instruction = _forcedTransfer();
        instruction.units = 0;
        vm.expectRevert(abi.encodeWithSelector(ITransferAgent.ZeroUnits.selector));
        _propose(instruction);
    }

    function testProposeRecoveryOfAPart() external {
        ITransferAgent.Instruction memory instruction = _recovery();
        instruction.partition = REG_D;
        vm.expectRevert(abi.encodeWithSelector(ITransferAgent.RecoveryMovesAll.selector, REG_D, 0));
        _propose(instruction);
        instruction = _recovery();
        instruction.units = 5;
        vm.expectRevert(abi.encodeWithSelector(ITransferAgent.RecoveryMovesAll.selector, 0, 5));
        _propose(instruction);
    }

    function testProposeTwice() external {
        bytes32 id = _propose(_forcedTransfer());
        vm.expectRevert(
            abi.encodeWithSelector(ITransferAgent.InstructionExists.selector, id, ITransferAgent.Status.Pending)
        );
        _propose(_forcedTransfer());
        _execute(_forcedTransfer());
        vm.expectRevert(
            abi.encodeWithSelector(ITransferAgent.InstructionExists.selector, id, ITransferAgent.Status.Executed)
        );
        _propose(_forcedTransfer());
    }

    function testExecuteTwice() external {
        bytes32 id = _propose(_forcedTransfer());
        _execute(_forcedTransfer());
        vm.expectRevert(
            abi.encodeWithSelector(ITransferAgent.InstructionNotPending.selector, id, ITransferAgent.Status.Executed)
        );
        _execute(_forcedTransfer());
    }

    /// @dev An instruction with any other content has another id, which was not proposed.
    function testExecuteOtherContent() external {
        _propose(_forcedTransfer());
        ITransferAgent.Instruction[8] memory others;
        for (uint256 i = 0; i < 8; ++i) {
            others[i] = _forcedTransfer();
        }
        others[0].token = carol;
        others[1].kind = ITransferAgent.Kind.Recovery;
        others[2].from = carol;
        others[3].to = carol;
        others[4].partition = REG_S;
        others[5].units = 401;
        others[6].opId = 60;
        others[7].docHash = "forged";
        for (uint256 i = 0; i < 8; ++i) {
            bytes32 id = desk.instructionId(others[i]);
            vm.expectRevert(
                abi.encodeWithSelector(ITransferAgent.InstructionNotPending.selector, id, ITransferAgent.Status.None)
            );
            _execute(others[i]);
        }
    }

    function testExecuteAtAndAfterTheDeadline() external {
        bytes32 id = _propose(_forcedTransfer());
        vm.warp(START + 72 hours + 1);
        vm.expectRevert(abi.encodeWithSelector(ITransferAgent.InstructionExpired.selector, id, START + 72 hours));
        _execute(_forcedTransfer());
        assertEq(_propose(_forcedTransfer()), id, "proposed again");
        vm.warp(START + 2 * 72 hours + 1);
        _execute(_forcedTransfer());
        assertEq(token.balanceOf(bob, REG_D), 400, "in the last second");
    }

    function testProposeAgainInTheLastSecond() external {
        bytes32 id = _propose(_forcedTransfer());
        vm.warp(START + 72 hours);
        vm.expectRevert(
            abi.encodeWithSelector(ITransferAgent.InstructionExists.selector, id, ITransferAgent.Status.Pending)
        );
        _propose(_forcedTransfer());
    }

    function testExecuteAfterTheProposerLeft() external {
        _propose(_forcedTransfer());
        vm.prank(owner);
        desk.setDeskMember(proposer, 0);
        vm.expectRevert(abi.encodeWithSelector(ITransferAgent.NotOnDesk.selector, proposer, 1));
        _execute(_forcedTransfer());
    }

    function testExecuteRefusedByTheToken() external {
        ITransferAgent.Instruction memory instruction = _forcedTransfer();
        instruction.from = bob;
        instruction.to = carol;
        bytes32 id = _propose(instruction);
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityToken7518.AddressNotFrozen.selector, bob));
        _execute(instruction);
        assertEq(_statusOf(id), uint256(ITransferAgent.Status.Pending), "still pending");
    }

    function testExecuteTokenAnswersFalse() external {
        FalseToken refusing = new FalseToken();
        ITransferAgent.Instruction memory instruction = _forcedTransfer();
        instruction.token = address(refusing);
        bytes32 id = _propose(instruction);
        vm.expectRevert(abi.encodeWithSelector(ITransferAgent.MovementRefused.selector, id));
        _execute(instruction);
    }

    /// @dev When the token calls back, the instruction is already executed.
    function testExecuteReentered() external {
        FalseToken calling = new FalseToken();
        ITransferAgent.Instruction memory instruction = _forcedTransfer();
        instruction.token = address(calling);
        calling.setCall(address(desk), abi.encodeCall(desk.execute, (instruction)));
        vm.prank(owner);
        desk.setDeskMember(address(calling), 3);
        bytes32 id = _propose(instruction);
        _execute(instruction);
        assertEq(
            calling.answer(),
            abi.encodeWithSelector(ITransferAgent.InstructionNotPending.selector, id, ITransferAgent.Status.Executed),
            "answer"
        );
    }

    function testExecuteReplaysTheTokensOperation() external {
        _propose(_forcedTransfer());
        _execute(_forcedTransfer());
        ITransferAgent.Instruction memory instruction = _forcedTransfer();
        instruction.docHash = "another document";
        _propose(instruction);
        vm.expectRevert(abi.encodeWithSelector(IOperations.OperationReplayed.selector, 50));
        _execute(instruction);
    }

    function testCancel() external {
        address[4] memory callers = [proposer, approver, both, owner];
        for (uint256 i = 0; i < callers.length; ++i) {
            bytes32 id = _propose(_forcedTransfer());
            vm.expectEmit();
            emit ITransferAgent.InstructionCancelled(id, callers[i]);
            vm.prank(callers[i]);
            desk.cancel(id);
            assertEq(_statusOf(id), uint256(ITransferAgent.Status.None), "cancelled");
        }
        bytes32 cancelled = desk.instructionId(_forcedTransfer());
        vm.expectRevert(
            abi.encodeWithSelector(ITransferAgent.InstructionNotPending.selector, cancelled, ITransferAgent.Status.None)
        );
        _execute(_forcedTransfer());
    }

    function testCancelByStranger() external {
        bytes32 id = _propose(_forcedTransfer());
        vm.expectRevert(abi.encodeWithSelector(ITransferAgent.NotOnDesk.selector, stranger, 3));
        vm.prank(stranger);
        desk.cancel(id);
    }

    function testCancelNotPending() external {
        bytes32 id = _propose(_forcedTransfer());
        _execute(_forcedTransfer());
        vm.expectRevert(
            abi.encodeWithSelector(ITransferAgent.InstructionNotPending.selector, id, ITransferAgent.Status.Executed)
        );
        vm.prank(owner);
        desk.cancel(id);
    }

    function testSetDeskMember() external {
        vm.expectEmit();
        emit ITransferAgent.DeskMemberSet(stranger, 3);
        vm.prank(owner);
        desk.setDeskMember(stranger, 3);
        assertEq(desk.deskRolesOf(stranger), 3, "roles");
        vm.startPrank(owner);
        vm.expectRevert(abi.encodeWithSelector(ITransferAgent.ZeroAddress.selector));
        desk.setDeskMember(address(0), 1);
        vm.expectRevert(abi.encodeWithSelector(ITransferAgent.UnknownRoles.selector, 4));
        desk.setDeskMember(stranger, 4);
        vm.stopPrank();
    }

    function testOwnerFunctionsByOthers() external {
        bytes memory refused = abi.encodeWithSelector(Ownable.OwnableUnauthorizedAccount.selector, both);
        vm.startPrank(both);
        vm.expectRevert(refused);
        desk.setDeskMember(both, 1);
        vm.expectRevert(refused);
        desk.requireSecondApprover(false);
        vm.stopPrank();
    }

    /// @dev Without an owner a lost key could not be removed.
    function testRenounceOwnership() external {
        vm.expectRevert(abi.encodeWithSelector(ITransferAgent.OwnershipIsRequired.selector));
        vm.prank(owner);
        desk.renounceOwnership();
    }

    function testInstructionIdBindsTheDesk() external {
        TransferAgent other = new TransferAgent(owner);
        assertTrue(desk.instructionId(_recovery()) != other.instructionId(_recovery()), "another desk");
        assertEq(
            desk.instructionId(_recovery()),
            keccak256(abi.encode(block.chainid, address(desk), _recovery())),
            "as worded"
        );
    }
}
