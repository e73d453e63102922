// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title ITransferAgent
/// @notice Transfer desk: a forced transfer or a recovery needs two members. One member proposes an instruction, and
/// another one executes exactly that instruction. Its id is the hash of its content, so the content cannot change
/// between the two.
/// @dev The desk has members of its own, because a member with the custody role in the registry could bypass the desk.
/// @custom:security Whatever gives power takes `CHANGE_DELAY_SECONDS` and is announced by its event: a new member or a
/// new role of a member, and switching the second member off. Whatever takes power away is immediate. So the owner of
/// this contract cannot move a holding before everybody could see it coming. The owner of the registry can still give
/// the custody role to another address, by the registry's own rules.
interface ITransferAgent {
    /// @notice The kind of an instruction.
    enum Kind {
        ForcedTransfer,
        Recovery
    }

    /// @notice One movement of holdings.
    /// @param token The security token.
    /// @param kind Whether units of one partition are moved or a whole wallet is recovered.
    /// @param from The frozen holder, or the lost wallet.
    /// @param to The receiver, or the wallet that replaces the lost one.
    /// @param partition Partition of a forced transfer; zero for a recovery, which moves all.
    /// @param units Units of a forced transfer; zero for a recovery.
    /// @param opId The operation number on the token.
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

    /// @notice The status of an instruction. A `Pending` one past its deadline cannot be executed, only proposed again.
    enum Status {
        None,
        Pending,
        Executed
    }

    /// @notice The roles of a desk member were set. Roles that it loses end at once.
    /// @param member The member.
    /// @param roles Its role bits; zero means removed.
    /// @param effectiveAt When roles that it gains begin, in Unix seconds; now if it gains none.
    event DeskMemberSet(address indexed member, uint256 roles, uint256 effectiveAt);

    /// @notice The rule that a second member must execute was switched on or off.
    /// @param required Whether it is on.
    /// @param effectiveAt From when on, in Unix seconds; now if it is switched on.
    event SecondApproverRequired(bool required, uint256 effectiveAt);

    /// @notice An instruction was proposed.
    /// @param id Its id.
    /// @param token The security token.
    /// @param proposer The member that proposed it.
    /// @param instruction The instruction.
    /// @param deadline Until when it can be executed, in Unix seconds.
    event InstructionProposed(
        bytes32 indexed id, address indexed token, address indexed proposer, Instruction instruction, uint256 deadline
    );

    /// @notice An instruction took effect on the token.
    /// @param id Its id.
    /// @param token The security token.
    /// @param approver The member that executed it.
    event InstructionExecuted(bytes32 indexed id, address indexed token, address indexed approver);

    /// @notice A pending instruction was withdrawn or refused.
    /// @param id Its id.
    /// @param cancelledBy The member or owner that cancelled it.
    event InstructionCancelled(bytes32 indexed id, address indexed cancelledBy);

    /// @notice An address argument is zero.
    error ZeroAddress();
    /// @notice The constructor needs one set of roles for each member.
    /// @param members Number of members.
    /// @param roles Number of sets.
    error LengthsDiffer(uint256 members, uint256 roles);
    /// @notice The hash of the written authorisation is missing.
    error ZeroDocument();
    /// @notice The token's operation numbers start at 1.
    error ZeroOperationId();
    /// @notice An address lacks a desk role.
    /// @param caller The caller, or the proposer of the instruction.
    /// @param role The role that is missing.
    error NotOnDesk(address caller, uint256 role);
    /// @notice A bit is not a desk role.
    /// @param roles The role bits that were given.
    error UnknownRoles(uint256 roles);
    /// @notice A recovery moves every partition, so it takes neither partition nor units.
    /// @param partition The partition given.
    /// @param units The units given.
    error RecoveryMovesAll(uint256 partition, uint256 units);
    /// @notice A forced transfer needs units.
    error ZeroUnits();
    /// @notice The instruction is pending or executed.
    /// @param id Its id.
    /// @param status Its status.
    error InstructionExists(bytes32 id, Status status);
    /// @notice The instruction is not pending.
    /// @param id Its id.
    /// @param status Its status.
    error InstructionNotPending(bytes32 id, Status status);
    /// @notice The deadline of the instruction has passed.
    /// @param id Its id.
    /// @param deadline The deadline, in Unix seconds.
    error InstructionExpired(bytes32 id, uint256 deadline);
    /// @notice Another member than the proposer must execute.
    /// @param id The instruction.
    /// @param proposer The proposer.
    error SecondApproverNeeded(bytes32 id, address proposer);
    /// @notice Ownership can be transferred but not renounced, because a desk without an owner could never remove a
    /// lost key.
    error OwnershipIsRequired();
    /// @notice The token answered `false`.
    /// @param id The instruction.
    error MovementRefused(bytes32 id);

    /// @notice Sets the desk roles of a member. Roles that it loses end at once; roles that it gains begin after the
    /// delay. A later call replaces an announced one. Owner only.
    /// @param member The member; not zero.
    /// @param roles A sum of `PROPOSER` and `APPROVER`; zero removes the member.
    function setDeskMember(address member, uint256 roles) external;

    /// @notice Switches the rule that a second member must execute: on at once, which also takes back an announcement,
    /// or off after the delay. It is on from the start. Owner only.
    /// @param required Whether it is on.
    function requireSecondApprover(bool required) external;

    /// @notice Proposes an instruction. Desk role: `PROPOSER`.
    /// @param instruction The instruction.
    /// @return id Its id, see `instructionId`.
    function propose(Instruction calldata instruction) external returns (bytes32 id);

    /// @notice Executes a pending instruction. Desk role: `APPROVER`. The caller must not be the proposer while a
    /// second approver is required. The proposer must still be on the desk.
    /// @param instruction The instruction, exactly as proposed.
    function execute(Instruction calldata instruction) external;

    /// @notice Withdraws or refuses a pending instruction. Any desk role, or the owner.
    /// @param id The instruction.
    function cancel(bytes32 id) external;

    /// @notice Returns the id of an instruction: `keccak256(abi.encode(chainId, this contract, instruction))`.
    /// @param instruction The instruction.
    /// @return Its id.
    function instructionId(Instruction calldata instruction) external view returns (bytes32);

    /// @notice Returns the state of an instruction.
    /// @param id The instruction.
    /// @return status Its status.
    /// @return proposer The member that proposed it.
    /// @return deadline Until when it can be executed, in Unix seconds.
    function instructionState(bytes32 id) external view returns (Status status, address proposer, uint256 deadline);

    /// @notice Returns the desk roles that a member has now.
    /// @param member The member.
    /// @return Its role bits, 0 if it is not on the desk or only announced.
    function deskRolesOf(address member) external view returns (uint256);

    /// @notice Returns whether a second member must execute now.
    /// @return True if so.
    function secondApproverRequired() external view returns (bool);
}
