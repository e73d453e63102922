// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAgentGated} from "./IAgentGated.sol";

/// @title IPlatformYieldDistributor
/// @notice Escrow that pays a declared list of holders page by page. `createDistribution` declares the list by a rolled
/// hash and a sum and pulls the full sum. Pages are accepted in order only, and each page proves before it pays that it
/// is the next part of the declared list. A payee that cannot be paid is withheld and claims later, so one payee never
/// blocks a page. For each distribution, paid + withheld + remaining + returned = pulled.
/// @dev A line is a `bytes32` as on the token's pages: the holder's address in the high 20 bytes and units of the
/// payout asset in the low 12. The rolled hash of a list is computed from its end: `h = 0` behind the last line, and
/// `h = keccak256(abi.encode(h, line))` for each line from the last to the first. A page carries the hash of the lines
/// behind it, its tail. The cuts between pages do not matter and need not be known when the list is declared.
/// @custom:security The sum of the list is compared with the declared sum on the last page. A list that adds up to
/// another sum than it declares is paid line by line as declared, cannot be completed, and can be cancelled.
interface IPlatformYieldDistributor is IAgentGated {
    /// @notice The stored state of a distribution.
    /// @param token The security token whose freezes and recoveries apply.
    /// @param asset The ERC-20 that is paid out.
    /// @param funder The caller of `createDistribution`. A cancelled rest returns to this address.
    /// @param total Units pulled.
    /// @param count Lines in the declared list.
    /// @param tail Rolled hash of the lines that no page has paid yet: first the declared hash, at last zero.
    /// @param auditHash Hash of the audit report, zero until one is declared.
    /// @param next Index of the first line of the next page.
    /// @param allocated Units of the lines accepted so far, paid or withheld.
    /// @param withheld Units that wait for a claim; `allocated - withheld` is paid.
    /// @param cancelled Whether the rest (`total - allocated`) was returned to the funder.
    struct Distribution {
        address token;
        address asset;
        address funder;
        uint256 total;
        uint256 count;
        bytes32 tail;
        bytes32 auditHash;
        uint256 next;
        uint256 allocated;
        uint256 withheld;
        bool cancelled;
    }

    /// @notice A list was declared and its sum was pulled.
    /// @param id The distribution.
    /// @param token The security token.
    /// @param asset The ERC-20 that is paid out.
    /// @param funder The agent that the sum was pulled from.
    /// @param total Units pulled.
    /// @param count Lines in the list.
    /// @param commitment Rolled hash of the list.
    /// @param payloadHash keccak256 of the complete calldata, as in `IOperations`.
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

    /// @notice A page took effect. A sender whose page reverts with `PageAlreadyPaid` finds this event by `id` and
    /// `from`. An equal `payloadHash` means that its own page is done.
    /// @param id The distribution.
    /// @param from Index of the page's first line.
    /// @param count Lines of the page.
    /// @param amount Units of the page, paid or withheld.
    /// @param tail Rolled hash of the lines behind this page.
    /// @param payloadHash keccak256 of the complete calldata, as in `IOperations`.
    event PagePaid(
        bytes32 indexed id, uint256 indexed from, uint256 count, uint256 amount, bytes32 tail, bytes32 payloadHash
    );

    /// @notice A line could not be paid and waits for a claim.
    /// @param id The distribution.
    /// @param account The account of the line.
    /// @param index Index of the line.
    /// @param amount Units of the line.
    /// @param reason `frozen` or `transfer_failed`, as a short ASCII string.
    event Withheld(bytes32 indexed id, address indexed account, uint256 index, uint256 amount, bytes32 reason);

    /// @notice A line of a recovered wallet was paid to the wallet that replaced it.
    /// @param id The distribution.
    /// @param account The account of the line.
    /// @param payee The wallet that was paid.
    /// @param index Index of the line.
    /// @param amount Units of the line.
    event PaidToSuccessor(
        bytes32 indexed id, address indexed account, address indexed payee, uint256 index, uint256 amount
    );

    /// @notice A withheld sum was paid.
    /// @param id The distribution.
    /// @param account The account that it was withheld for.
    /// @param payee The wallet that was paid: the account or its successor.
    /// @param amount Units paid.
    event WithheldClaimed(bytes32 indexed id, address indexed account, address indexed payee, uint256 amount);

    /// @notice Exactly the declared list was accepted, and it adds up to the declared sum. Withheld lines may still
    /// wait for a claim.
    /// @param id The distribution.
    event DistributionCompleted(bytes32 indexed id);

    /// @notice The rest was returned to the funder.
    /// @param id The distribution.
    /// @param funder The funder.
    /// @param returned Units returned.
    event DistributionCancelled(bytes32 indexed id, address indexed funder, uint256 returned);

    /// @notice Another address takes the place of the funder.
    /// @param id The distribution.
    /// @param previous The funder before.
    /// @param funder The address that a cancelled rest returns to from now on.
    event FunderChanged(bytes32 indexed id, address indexed previous, address indexed funder);

    /// @notice An audit report was declared.
    /// @param id A distribution of this contract, or one that the token paid directly.
    /// @param token The security token.
    /// @param auditHash Hash of the report.
    /// @param declaredBy The agent that declared it.
    event AuditDeclared(bytes32 indexed id, address indexed token, bytes32 auditHash, address declaredBy);

    /// @notice An address argument is zero.
    error ZeroAddress();
    /// @notice A token or asset must have code.
    /// @param account The address given.
    error NotAContract(address account);
    /// @notice An id, hash, sum or count is zero.
    error ZeroTerm();
    /// @notice The sum does not fit 112 bits.
    /// @param amount The sum.
    error AmountTooLarge(uint256 amount);
    /// @notice The number of lines does not fit 32 bits.
    /// @param count The number.
    error CountTooLarge(uint256 count);
    /// @notice A distribution with this id exists. Its `DistributionCreated` event has the hash of the call that made
    /// it.
    /// @param id The distribution.
    error DistributionExists(bytes32 id);
    /// @notice No distribution has this id.
    /// @param id The id given.
    error UnknownDistribution(bytes32 id);
    /// @notice The distribution is completed or cancelled.
    /// @param id The distribution.
    error DistributionClosed(bytes32 id);
    /// @notice A receiver got another sum than was sent: the asset takes a fee, or it rebases.
    /// @param expected The sum sent: the declared sum on creation, the withheld sum in a claim.
    /// @param received The sum received.
    error ReceivedDiffers(uint256 expected, uint256 received);
    /// @notice A payment took more out of escrow than it should: the asset charges the sender.
    /// @param expected Units that should leave.
    /// @param spent Units that left.
    error EscrowShort(uint256 expected, uint256 spent);
    /// @notice The page has no lines.
    error EmptyPage();
    /// @notice A page has at most 256 lines, because `frozenAmong` answers with one word.
    /// @param length Its number of lines.
    error PageTooLong(uint256 length);
    /// @notice The page was accepted before, at least in part.
    /// @param id The distribution.
    /// @param from Index of the page's first line.
    /// @param next Index of the next line to pay.
    error PageAlreadyPaid(bytes32 id, uint256 from, uint256 next);
    /// @notice The page skips lines.
    /// @param id The distribution.
    /// @param from Index of the page's first line.
    /// @param next Index of the next line to pay.
    error PageOutOfOrder(bytes32 id, uint256 from, uint256 next);
    /// @notice The page has more lines than the list has left.
    /// @param id The distribution.
    /// @param end Index after the page's last line.
    /// @param count Lines in the declared list.
    error PageBeyondCount(bytes32 id, uint256 end, uint256 count);
    /// @notice The lines accepted so far exceed the declared sum.
    /// @param id The distribution.
    /// @param allocated Units of these lines.
    /// @param total The declared sum.
    error PageBeyondTotal(bytes32 id, uint256 allocated, uint256 total);
    /// @notice The amount of a line is zero.
    /// @param index Index of the line.
    error ZeroAmount(uint256 index);
    /// @notice A line must not pay the zero address or this contract.
    /// @param index Index of the line.
    /// @param account Its account.
    error InvalidPayee(uint256 index, address account);
    /// @notice The page is not the next part of the declared list: a line or the tail differs. Nothing was paid.
    /// @param id The distribution.
    /// @param from Index of the page's first line.
    /// @param declared Rolled hash of the declared lines from there on.
    /// @param actual Rolled hash of the page and its tail.
    error PageNotDeclared(bytes32 id, uint256 from, bytes32 declared, bytes32 actual);
    /// @notice The list that was declared by its hash has another number of lines than was declared.
    /// @param id The distribution.
    /// @param count Lines declared.
    /// @param end Index behind the page, where the list ends too early or goes on too long.
    error CountMismatch(bytes32 id, uint256 count, uint256 end);
    /// @notice The list that was declared by its hash has another sum than was declared.
    /// @param id The distribution.
    /// @param expected The declared sum.
    /// @param actual The sum of the lines.
    error TotalMismatch(bytes32 id, uint256 expected, uint256 actual);
    /// @notice The asset refused every payment of the page and a transfer of this contract to itself. So the asset is
    /// paused or broken, or it blocks this contract. Nothing is withheld; the same page can be sent again later.
    /// @param id The distribution.
    /// @param from Index of the page's first line.
    error AssetUnavailable(bytes32 id, uint256 from);
    /// @notice No payee of the page received its whole amount: the asset takes a fee from the receiver, or moves
    /// nothing.
    /// @param id The distribution.
    error PayeesReceiveLess(bytes32 id);
    /// @notice Too little gas is left to give a payment its full stipend. Without this check a page with little gas
    /// would withhold its last payees for lack of gas alone, and gas estimation would find exactly that amount.
    /// @param available Gas left.
    /// @param required Gas needed.
    error InsufficientGas(uint256 available, uint256 required);
    /// @notice Nothing is withheld for this account.
    /// @param id The distribution.
    /// @param account The account.
    error NothingWithheld(bytes32 id, address account);
    /// @notice None of the accounts could be paid: nothing is withheld for it, it is frozen, or the asset refuses it.
    /// @param id The distribution.
    error NothingClaimed(bytes32 id);
    /// @notice Only the funder can name another funder.
    /// @param id The distribution.
    /// @param caller The caller.
    error NotTheFunder(bytes32 id, address caller);
    /// @notice The account, or the wallet that replaced it, is frozen.
    /// @param account The account.
    error PayeeFrozen(address account);
    /// @notice The distribution belongs to another token.
    /// @param id The distribution.
    /// @param expected Its token.
    /// @param actual The token given.
    error TokenMismatch(bytes32 id, address expected, address actual);
    /// @notice Another audit report was declared before.
    /// @param id The distribution.
    /// @param declared Hash of that report.
    error AuditAlreadyDeclared(bytes32 id, bytes32 declared);

    /// @notice Declares a list and pulls its full sum from the caller. Role: payout.
    /// @dev The caller approves this contract for the asset before.
    /// @param id A new id; not zero.
    /// @param token The security token.
    /// @param asset The ERC-20 to pay in.
    /// @param total Units to pull: the sum of all lines.
    /// @param count Lines in the list.
    /// @param commitment Rolled hash of the list, computed from its end.
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

    /// @notice Pays the next page, after it has proved to be the next part of the declared list. Each line results in
    /// one `Transfer` of the asset or one `Withheld`. Role: payout.
    /// @dev If no line can be paid and the asset refuses also a transfer of this contract to itself, the page reverts.
    /// The page measures payees until one received its whole amount, and reverts if none did. Other payees are not
    /// measured: the caller should compare the asset's `Transfer` events with the lines.
    /// @param id The distribution.
    /// @param from Index of the page's first line; it must be the next line to pay.
    /// @param tail Rolled hash of the lines behind this page, zero if it is the last one.
    /// @param lines The page, 1 to 256 lines.
    function payoutForDistribution(bytes32 id, uint256 from, bytes32 tail, bytes32[] calldata lines) external;

    /// @notice Pays what was withheld for an account, to the account or to the wallet that replaced it. Anyone may
    /// call, because the payee is fixed.
    /// @param id The distribution.
    /// @param account The account that it was withheld for.
    function claimWithheld(bytes32 id, address account) external;

    /// @notice Pays what was withheld for several accounts. An account without such units, a frozen one, and one that
    /// the asset refuses stay as they are. Anyone may call. Reverts if no account was paid.
    /// @dev A page follows at most 16 successors of an account. `claimWithheld` follows all.
    /// @param id The distribution.
    /// @param accounts The accounts that it was withheld for.
    /// @return claimed Units paid.
    function batchClaimWithheld(bytes32 id, address[] calldata accounts) external returns (uint256 claimed);

    /// @notice Names another address that a cancelled rest returns to, for example because the asset blocks the funder.
    /// Only the funder may call, and only while it is a payout agent.
    /// @param id The distribution, neither cancelled nor completed.
    /// @param funder The new funder; not zero.
    function changeFunder(bytes32 id, address funder) external;

    /// @notice Ends a distribution early. The units that no page has allocated return to the funder; withheld units
    /// stay claimable. Role: payout.
    /// @param id The distribution.
    function cancelDistribution(bytes32 id) external;

    /// @notice Declares an audit report, once per id and token. The same hash again only repeats the event.
    /// Role: payout.
    /// @param id A distribution of this contract, or one that the token paid directly with `batchPayout`.
    /// @param token The security token.
    /// @param auditHash Hash of the report.
    function declareAudit(bytes32 id, address token, bytes32 auditHash) external;

    /// @notice Returns the stored state of a distribution.
    /// @param id The distribution.
    /// @return Its state; `token` is zero if there is none.
    function distribution(bytes32 id) external view returns (Distribution memory);

    /// @notice Returns the units that wait for a claim of an account.
    /// @param id The distribution.
    /// @param account The account.
    /// @return The units.
    function withheldOf(bytes32 id, address account) external view returns (uint256);

    /// @notice Returns the audit report of a distribution, also of one that the token paid directly.
    /// @param id The distribution.
    /// @param token The security token.
    /// @return Hash of the report, zero if there is none.
    function auditHashOf(bytes32 id, address token) external view returns (bytes32);

    /// @notice Returns the wallet that would be paid for an account now.
    /// @param token The security token.
    /// @param account The account.
    /// @return payee The account, or the wallet that replaced it.
    /// @return frozen Whether that wallet is frozen, so that the line would be withheld.
    function payeeOf(address token, address account) external view returns (address payee, bool frozen);
}
