// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Roles} from "../../src/Roles.sol";
import {TransferAgent} from "../../src/TransferAgent.sol";
import {IAgentGated} from "../../src/interfaces/IAgentGated.sol";
import {IOperations} from "../../src/interfaces/IOperations.sol";
import {IPlatformSecurityTokenErrors} from "../../src/interfaces/IPlatformSecurityTokenErrors.sol";
import {ITransferAgent} from "../../src/interfaces/ITransferAgent.sol";
import {FalseToken} from "../mocks/FalseToken.sol";
import {TransferAgentFixture} from "./TransferAgentFixture.sol";

/// @dev Instructions of the desk, from the proposal to the token.
contract TransferAgentTest is TransferAgentFixture {
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
        assertEq(token.lastRecoveryOf(alice), 51, "operation");
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
        vm.expectRevert(abi.encodeWithSelector(IPlatformSecurityTokenErrors.AddressNotFrozen.selector, bob));
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
        vm.warp(START + 48 hours);
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

    function testInstructionIdBindsTheDesk() external {
        TransferAgent other = new TransferAgent(owner, new address[](0), new uint256[](0));
        assertTrue(desk.instructionId(_recovery()) != other.instructionId(_recovery()), "another desk");
        assertEq(
            desk.instructionId(_recovery()),
            keccak256(abi.encode(block.chainid, address(desk), _recovery())),
            "as worded"
        );
    }
}
