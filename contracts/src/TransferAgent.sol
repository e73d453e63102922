// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IPlatformSecurityToken7518} from "./interfaces/IPlatformSecurityToken7518.sol";
import {ITransferAgent} from "./interfaces/ITransferAgent.sol";
import {Ownable, Ownable2Step} from "@openzeppelin/contracts/access/Ownable2Step.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";

/// @title TransferAgent
/// @notice See `ITransferAgent`.
contract TransferAgent is ITransferAgent, Ownable2Step {
    using SafeCast for uint256;

    /// @notice Desk role: may propose instructions.
    uint256 public constant PROPOSER = 1;
    /// @notice Desk role: may execute instructions.
    uint256 public constant APPROVER = 2;
    /// @notice How long a proposal can be executed, in seconds.
    uint256 public constant LIFETIME_SECONDS = 72 hours;

    struct Proposal {
        address proposer;
        uint40 deadline;
        Status status;
    }

    /// @inheritdoc ITransferAgent
    bool public secondApproverRequired = true;

    /// @inheritdoc ITransferAgent
    mapping(address member => uint256 roles) public deskRolesOf;

    mapping(bytes32 id => Proposal) private _proposals;

    constructor(address owner_) Ownable(owner_) {}

    /// @inheritdoc ITransferAgent
    function setDeskMember(address member, uint256 roles) external onlyOwner {
        if (member == address(0)) revert ZeroAddress();
        if (roles > (PROPOSER | APPROVER)) revert UnknownRoles(roles);
        deskRolesOf[member] = roles;
        emit DeskMemberSet(member, roles);
    }

    /// @inheritdoc ITransferAgent
    function requireSecondApprover(bool required) external onlyOwner {
        secondApproverRequired = required;
        emit SecondApproverRequired(required);
    }

    /// @inheritdoc ITransferAgent
    function propose(Instruction calldata instruction) external returns (bytes32 id) {
        _requireRole(PROPOSER);
        _requireSound(instruction);
        id = instructionId(instruction);
        Proposal storage proposal = _proposals[id];
        bool pending = proposal.status == Status.Pending && block.timestamp <= proposal.deadline;
        if (pending || proposal.status == Status.Executed) revert InstructionExists(id, proposal.status);
        uint256 deadline = block.timestamp + LIFETIME_SECONDS;
        _proposals[id] = Proposal({proposer: msg.sender, deadline: deadline.toUint40(), status: Status.Pending});
        emit InstructionProposed(id, instruction.token, msg.sender, instruction, deadline);
    }

    /// @inheritdoc ITransferAgent
    function execute(Instruction calldata instruction) external {
        _requireRole(APPROVER);
        bytes32 id = instructionId(instruction);
        Proposal storage proposal = _proposals[id];
        if (proposal.status != Status.Pending) revert InstructionNotPending(id, proposal.status);
        if (block.timestamp > proposal.deadline) revert InstructionExpired(id, proposal.deadline);
        address proposer = proposal.proposer;
        // A member can be removed because its key was lost. Its proposals then become invalid.
        if (deskRolesOf[proposer] & PROPOSER == 0) revert NotOnDesk(proposer, PROPOSER);
        if (secondApproverRequired && proposer == msg.sender) revert SecondApproverNeeded(id, proposer);
        proposal.status = Status.Executed;
        emit InstructionExecuted(id, instruction.token, msg.sender);
        _move(id, instruction);
    }

    /// @inheritdoc ITransferAgent
    function cancel(bytes32 id) external {
        if (msg.sender != owner()) _requireRole(PROPOSER | APPROVER);
        Status status = _proposals[id].status;
        if (status != Status.Pending) revert InstructionNotPending(id, status);
        delete _proposals[id];
        emit InstructionCancelled(id, msg.sender);
    }

    /// @inheritdoc ITransferAgent
    function instructionState(bytes32 id) external view returns (Status status, address proposer, uint256 deadline) {
        Proposal storage proposal = _proposals[id];
        return (proposal.status, proposal.proposer, proposal.deadline);
    }

    /// @notice Always reverts, because a desk without an owner could never remove a lost key.
    function renounceOwnership() public view override onlyOwner {
        revert OwnershipIsRequired();
    }

    /// @inheritdoc ITransferAgent
    function instructionId(Instruction calldata instruction) public view returns (bytes32) {
        return keccak256(abi.encode(block.chainid, address(this), instruction));
    }

    /// @dev The document's hash follows the operation number in the data, so the token's payload hash covers it.
    function _move(bytes32 id, Instruction calldata instruction) private {
        IPlatformSecurityToken7518 token = IPlatformSecurityToken7518(instruction.token);
        if (instruction.kind == Kind.Recovery) {
            token.recoveryAddress(instruction.from, instruction.to, instruction.opId);
            return;
        }
        bytes memory data = abi.encode(instruction.opId, instruction.docHash);
        bool moved =
            token.forceTransfer(instruction.from, instruction.to, instruction.partition, instruction.units, data);
        if (!moved) revert MovementRefused(id);
    }

    function _requireRole(uint256 role) private view {
        if (deskRolesOf[msg.sender] & role == 0) revert NotOnDesk(msg.sender, role);
    }

    function _requireSound(Instruction calldata instruction) private pure {
        if (instruction.token == address(0) || instruction.from == address(0) || instruction.to == address(0)) {
            revert ZeroAddress();
        }
        if (instruction.opId == 0) revert ZeroOperationId();
        if (instruction.docHash == 0) revert ZeroDocument();
        if (instruction.kind == Kind.ForcedTransfer) {
            if (instruction.units == 0) revert ZeroUnits();
        } else if (instruction.partition != 0 || instruction.units != 0) {
            revert RecoveryMovesAll(instruction.partition, instruction.units);
        }
    }
}
