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

    /// @notice How long a change that gives power is announced before it takes effect, in seconds.
    uint256 public constant CHANGE_DELAY_SECONDS = 48 hours;

    /// @dev `announced` replaces `roles` at `effectiveAt`.
    struct Membership {
        uint8 roles;
        uint8 announced;
        uint40 effectiveAt;
    }

    struct Proposal {
        address proposer;
        uint40 deadline;
        Status status;
    }

    /// @dev From when on one member suffices; zero if a second one is required without end.
    uint40 private _oneSufficesFrom;

    mapping(address member => Membership) private _members;
    mapping(bytes32 id => Proposal) private _proposals;

    /// @notice Names the first members, who have their roles at once.
    /// @param owner_ The owner.
    /// @param members The first members; may be empty.
    /// @param roles Their role bits, in the same order.
    constructor(address owner_, address[] memory members, uint256[] memory roles) Ownable(owner_) {
        if (members.length != roles.length) revert LengthsDiffer(members.length, roles.length);
        for (uint256 i = 0; i < members.length; ++i) {
            _requireMember(members[i], roles[i]);
            _setMember(members[i], roles[i], roles[i], block.timestamp);
        }
    }

    /// @inheritdoc ITransferAgent
    function setDeskMember(address member, uint256 roles) external onlyOwner {
        _requireMember(member, roles);
        uint256 kept = deskRolesOf(member) & roles;
        bool gains = kept != roles;
        _setMember(member, kept, roles, block.timestamp + (gains ? CHANGE_DELAY_SECONDS : 0));
    }

    /// @inheritdoc ITransferAgent
    function requireSecondApprover(bool required) external onlyOwner {
        uint256 effectiveAt = block.timestamp;
        // A switch that is off already stays off; announcing it again must not switch it on for the delay.
        if (!required && secondApproverRequired()) effectiveAt += CHANGE_DELAY_SECONDS;
        _oneSufficesFrom = required ? 0 : effectiveAt.toUint40();
        emit SecondApproverRequired(required, effectiveAt);
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
        if (deskRolesOf(proposer) & PROPOSER == 0) revert NotOnDesk(proposer, PROPOSER);
        if (secondApproverRequired() && proposer == msg.sender) revert SecondApproverNeeded(id, proposer);
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
    function deskRolesOf(address member) public view returns (uint256) {
        Membership storage membership = _members[member];
        return block.timestamp < membership.effectiveAt ? membership.roles : membership.announced;
    }

    /// @inheritdoc ITransferAgent
    function secondApproverRequired() public view returns (bool) {
        return _oneSufficesFrom == 0 || block.timestamp < _oneSufficesFrom;
    }

    /// @inheritdoc ITransferAgent
    function instructionId(Instruction calldata instruction) public view returns (bytes32) {
        return keccak256(abi.encode(block.chainid, address(this), instruction));
    }

    function _setMember(address member, uint256 roles, uint256 announced, uint256 effectiveAt) private {
        _members[member] =
            Membership({roles: roles.toUint8(), announced: announced.toUint8(), effectiveAt: effectiveAt.toUint40()});
        emit DeskMemberSet(member, announced, effectiveAt);
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
        if (deskRolesOf(msg.sender) & role == 0) revert NotOnDesk(msg.sender, role);
    }

    function _requireMember(address member, uint256 roles) private pure {
        if (member == address(0)) revert ZeroAddress();
        if (roles > (PROPOSER | APPROVER)) revert UnknownRoles(roles);
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
