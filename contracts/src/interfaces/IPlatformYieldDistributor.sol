// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAgentGated} from "./IAgentGated.sol";

/// @title Escrow that pays a declared list of holders, page by page, each line once.
/// @notice The full sum is pulled when a distribution is created. Its list is declared by a rolled hash and a sum;
/// pages are accepted in order only, and the last one must arrive at exactly that hash and sum. So the chain itself
/// shows that the declared list, no other, was paid once. A payee that cannot be paid is withheld and claims later:
/// one payee never blocks a page. Per distribution, paid + withheld + remaining + returned = pulled, always.
/// @dev A line is a `bytes32` as on the token's pages: the holder's address in the high 20 bytes, units of the payout
/// asset in the low 12. The rolled hash of a list is `h` after all its lines, from `h = 0`:
/// `h = keccak256(abi.encode(h, line))`. Where the pages are cut does not matter.
interface IPlatformYieldDistributor is IAgentGated {
    /// @notice All that is stored of a distribution.
    /// @param token The security token whose freezes and recoveries are honoured.
    /// @param asset The ERC-20 that is paid out.
    /// @param funder The caller of `createDistribution`: the sum came from there, and a cancelled rest returns there.
    /// @param total Units pulled.
    /// @param count Lines in the declared list.
    /// @param commitment Rolled hash of the declared list.
    /// @param auditHash Hash of the audit report, zero until one is declared.
    /// @param rolled Rolled hash of the lines accepted so far.
    /// @param next Index of the first line of the next page.
    /// @param allocated Units of the lines accepted so far: paid or withheld.
    /// @param withheld Units that wait for a claim; `allocated - withheld` is paid.
    /// @param cancelled Whether the rest (`total - allocated`) was returned to the funder.
    struct Distribution {
        address token;
        address asset;
        address funder;
        uint256 total;
        uint256 count;
        bytes32 commitment;
        bytes32 auditHash;
        bytes32 rolled;
        uint256 next;
        uint256 allocated;
        uint256 withheld;
        bool cancelled;
    }

    /// @notice The sum was pulled and the list is declared. `payloadHash` is keccak256 of the calldata (`IOperations`).
    event DistributionCreated(
        bytes32 indexed id,
        address indexed token,
        address indexed asset,
        address funder,
        uint256 total,
        uint256 count,
        bytes32 commitment,
        bytes32 payloadHash
    );

    /// @notice A page took effect. A sender whose page reverts with `PageAlreadyPaid` finds this event by (`id`, `from`):
    /// an equal `payloadHash` (keccak256 of the calldata, as in `IOperations`) means that its own page is done.
    /// @param rolled Covers every line up to and with this page, wherever the pages are cut.
    event PagePaid(
        bytes32 indexed id, uint256 indexed from, uint256 count, uint256 amount, bytes32 rolled, bytes32 payloadHash
    );

    /// @notice A line could not be paid and waits for a claim.
    /// @param reason `frozen` or `transfer_failed`, as a short ASCII string.
    event Withheld(bytes32 indexed id, address indexed account, uint256 index, uint256 amount, bytes32 reason);

    /// @notice A line of a recovered wallet was paid to the wallet that replaced it.
    event PaidToSuccessor(
        bytes32 indexed id, address indexed account, address indexed payee, uint256 index, uint256 amount
    );

    /// @notice A withheld sum was paid, to the account itself or to its successor.
    event WithheldClaimed(bytes32 indexed id, address indexed account, address indexed payee, uint256 amount);

    /// @notice The last page arrived at the declared hash and sum.
    event DistributionCompleted(bytes32 indexed id);

    /// @notice The rest that no page had touched went back to the funder.
    event DistributionCancelled(bytes32 indexed id, address indexed funder, uint256 returned);

    /// @notice An audit report is declared for a distribution, one of this contract's or one paid directly by the token.
    event AuditDeclared(bytes32 indexed id, address indexed token, bytes32 auditHash, address declaredBy);

    /// @notice An address that must not be zero is.
    error ZeroAddress();
    /// @notice `account` has no code and so cannot be a token or an asset.
    error NotAContract(address account);
    /// @notice An id, hash, sum or count that must not be zero is.
    error ZeroTerm();
    /// @notice `amount` does not fit the 112 bits that a sum may have.
    error AmountTooLarge(uint256 amount);
    /// @notice `count` does not fit the 32 bits that a line index may have.
    error CountTooLarge(uint256 count);
    /// @notice The id is taken; `sameTerms` says whether it was created with exactly these terms.
    error DistributionExists(bytes32 id, bool sameTerms);
    /// @notice No distribution has this id.
    error UnknownDistribution(bytes32 id);
    /// @notice The distribution is completed or cancelled.
    error DistributionClosed(bytes32 id);
    /// @notice Pulling the sum brought another sum: the asset takes a fee, or rebases.
    error ReceivedDiffers(uint256 expected, uint256 received);
    /// @notice Sending `expected` took more out of escrow: the asset charges the sender.
    error EscrowShort(uint256 expected, uint256 spent);
    /// @notice A page has no lines.
    error EmptyPage();
    /// @notice A page has at most 256 lines, which one word can tell the frozen ones of.
    error PageTooLong(uint256 length);
    /// @notice The line `from` was accepted before; `next` is the line that is due.
    error PageAlreadyPaid(bytes32 id, uint256 from, uint256 next);
    /// @notice The page starts beyond the line that is due.
    error PageOutOfOrder(bytes32 id, uint256 from, uint256 next);
    /// @notice The page goes beyond the declared number of lines.
    error PageBeyondCount(bytes32 id, uint256 end, uint256 count);
    /// @notice The lines accepted so far ask for more than the declared sum.
    error PageBeyondTotal(bytes32 id, uint256 allocated, uint256 total);
    /// @notice The line `index` asks for nothing.
    error ZeroAmount(uint256 index);
    /// @notice The line `index` pays nobody, or this contract.
    error InvalidPayee(uint256 index, address account);
    /// @notice The last page arrived at another hash than declared.
    error RollUpMismatch(bytes32 id, bytes32 expected, bytes32 actual);
    /// @notice The last page arrived at another sum than declared.
    error TotalMismatch(bytes32 id, uint256 expected, uint256 actual);
    /// @notice Too little gas is left to give a payment its full stipend. Without this check a page with little gas
    /// would withhold its last payees for lack of gas alone, and gas estimation would find exactly that amount.
    error InsufficientGas(uint256 available, uint256 required);
    /// @notice Nothing is withheld for this account.
    error NothingWithheld(bytes32 id, address account);
    /// @notice The account, or the wallet that replaced it, is frozen.
    error PayeeFrozen(address account);
    /// @notice The distribution belongs to another token.
    error TokenMismatch(bytes32 id, address expected, address actual);
    /// @notice Another audit report was declared before.
    error AuditAlreadyDeclared(bytes32 id, bytes32 declared);

    /// @notice Declares a list and pulls its full sum from the caller, who must have approved it. Payout role.
    /// @param auditHash Hash of an audit report, or zero to declare one later or never.
    function createDistribution(
        bytes32 id,
        address token,
        address asset,
        uint256 total,
        uint256 count,
        bytes32 commitment,
        bytes32 auditHash
    ) external;

    /// @notice Pays the next page. Its effect is, per line, one `Transfer` of the asset or one `Withheld`. Payout role.
    /// @param from Index of the page's first line; only the line that is due is accepted.
    function payoutForDistribution(bytes32 id, uint256 from, bytes32[] calldata lines) external;

    /// @notice Pays what was withheld for `account` to it, or to its successor if it was recovered. Anyone may call:
    /// the money has one way to go.
    function claimWithheld(bytes32 id, address account) external;

    /// @notice Ends a distribution early: the rest that no page has touched returns to the funder; what is withheld
    /// stays claimable. Payout role.
    function cancelDistribution(bytes32 id) external;

    /// @notice Declares an audit report, once per id and token; the same hash again only repeats the event. The id may
    /// also be that of a distribution which the token paid directly (`batchPayout`). Payout role.
    function declareAudit(bytes32 id, address token, bytes32 auditHash) external;

    /// @notice All that is stored of a distribution; its `token` is zero if there is none.
    function distribution(bytes32 id) external view returns (Distribution memory);

    /// @notice Units that wait for a claim of `account`.
    function withheldOf(bytes32 id, address account) external view returns (uint256);

    /// @notice The audit report declared for an id, also for one that the token paid directly; zero if none.
    function auditHashOf(bytes32 id, address token) external view returns (bytes32);

    /// @notice Who would be paid for `account` now: itself or its successor, and whether that wallet is frozen.
    function payeeOf(address token, address account) external view returns (address payee, bool frozen);
}
