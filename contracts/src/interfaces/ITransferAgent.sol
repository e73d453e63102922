// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title Transfer desk: forced transfers and recoveries on two signatures.
/// @notice When this contract alone holds the custody role in the `AgentRegistry`, no single key can move a holding:
/// one desk member proposes an instruction, another one executes exactly that instruction. The id of an instruction
/// is the hash of its content, so what the second one signs cannot differ from what the first one proposed.
/// Desk membership is this contract's own, because a custody role in the registry would let a member bypass the desk.
interface ITransferAgent {
    /// @notice What an instruction does on the token.
    enum Kind {
        ForcedTransfer,
        Recovery
    }

    /// @notice One movement of holdings.
    /// @param token The security token.
    /// @param kind Whether one partition's units are moved or a whole wallet is recovered.
    /// @param from The frozen holder, or the lost wallet.
    /// @param to The receiver, or the wallet that replaces the lost one.
    /// @param partition Partition of a forced transfer; zero for a recovery, which moves all.
    /// @param units Units of a forced transfer; zero for a recovery.
    /// @param opId The token's operation id for this movement.
    /// @param docHash Hash of the written authorisation.
    struct Instruction {
        address token;
        Kind kind;
        address from;
        address to;
        uint256 partition;
        uint256 units;
        uint256 opId;
        bytes32 docHash;
    }

    /// @notice State of an instruction. `Pending` past its deadline cannot be executed, only proposed again.
    enum Status {
        None,
        Pending,
        Executed
    }

    /// @notice A desk member's roles were set; zero removes the member.
    event DeskMemberSet(address indexed member, uint256 roles);

    /// @notice The need for a second member was switched on or off.
    event SecondApproverRequired(bool required);

    /// @notice An instruction waits for its execution until `deadline`.
    event InstructionProposed(
        bytes32 indexed id, address indexed token, address indexed proposer, Instruction instruction, uint256 deadline
    );

    /// @notice An instruction took effect on the token.
    event InstructionExecuted(bytes32 indexed id, address indexed token, address indexed approver);

    /// @notice A pending instruction was withdrawn or refused.
    event InstructionCancelled(bytes32 indexed id, address indexed cancelledBy);

    /// @notice An address that must not be zero is.
    error ZeroAddress();
    /// @notice The written authorisation is missing.
    error ZeroDocument();
    /// @notice The token's operation ids start at 1.
    error ZeroOperationId();
    /// @notice The caller lacks the desk role `role`.
    error NotOnDesk(address caller, uint256 role);
    /// @notice Bits were given that are no desk role.
    error UnknownRoles(uint256 roles);
    /// @notice A recovery moves every partition: it takes neither partition nor units.
    error RecoveryMovesAll(uint256 partition, uint256 units);
    /// @notice A forced transfer must name units.
    error ZeroUnits();
    /// @notice The instruction is pending or executed.
    error InstructionExists(bytes32 id, Status status);
    /// @notice The instruction is not pending.
    error InstructionNotPending(bytes32 id, Status status);
    /// @notice The instruction was not executed in time.
    error InstructionExpired(bytes32 id, uint256 deadline);
    /// @notice The proposer may not be the second signature.
    error SecondApproverNeeded(bytes32 id, address proposer);
    /// @notice A desk without an owner could never remove a lost key, so ownership is only handed over.
    error OwnershipIsRequired();
    /// @notice The token answered `false`.
    error MovementRefused(bytes32 id);

    /// @notice Gives a member its desk roles, a sum of `PROPOSER` and `APPROVER`; zero removes it. Owner.
    function setDeskMember(address member, uint256 roles) external;

    /// @notice Switches the need for a second member; it is needed from the start. Owner.
    function requireSecondApprover(bool required) external;

    /// @notice Proposes an instruction. Desk role `PROPOSER`.
    /// @return id Its hash, see `instructionId`.
    function propose(Instruction calldata instruction) external returns (bytes32 id);

    /// @notice Executes a pending instruction. Desk role `APPROVER`, and another member than the proposer while a
    /// second approver is required. The proposer must still be on the desk.
    function execute(Instruction calldata instruction) external;

    /// @notice Withdraws or refuses a pending instruction. Any desk role, or the owner.
    function cancel(bytes32 id) external;

    /// @notice The id of an instruction: `keccak256(abi.encode(chainId, this contract, instruction))`.
    function instructionId(Instruction calldata instruction) external view returns (bytes32);

    /// @notice The state of an instruction, who proposed it and until when it may be executed.
    function instructionState(bytes32 id) external view returns (Status status, address proposer, uint256 deadline);

    /// @notice The desk roles of `member`.
    function deskRolesOf(address member) external view returns (uint256);

    /// @notice Whether a second member must execute.
    function secondApproverRequired() external view returns (bool);
}
