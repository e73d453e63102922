// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {AgentGated} from "./AgentGated.sol";
import {Roles} from "./Roles.sol";
import {RollUp} from "./RollUp.sol";
import {StipendTransfer} from "./StipendTransfer.sol";
import {Successors} from "./Successors.sol";
import {IAgentRegistry} from "./interfaces/IAgentRegistry.sol";
import {IPlatformSecurityToken7518} from "./interfaces/IPlatformSecurityToken7518.sol";
import {IPlatformYieldDistributor} from "./interfaces/IPlatformYieldDistributor.sol";
import {PageLine} from "./token/PageLine.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";

/// @title PlatformYieldDistributor
/// @notice See `IPlatformYieldDistributor`.
/// @dev A page of any size changes two words: `tail`, and the word of `total`, `next` and `allocated`. A paid line
/// writes nothing here; only a withheld line does. The declared hash is not kept, because the tail starts as that hash
/// and every page must reproduce the tail before it.
contract PlatformYieldDistributor is IPlatformYieldDistributor, AgentGated, ReentrancyGuardTransient {
    using PageLine for bytes32;
    using RollUp for bytes32;
    using SafeERC20 for IERC20;
    using SafeCast for uint256;
    using StipendTransfer for IERC20;
    using Successors for IPlatformSecurityToken7518;

    /// @dev Fields that a page reads or writes together share a word.
    struct Escrow {
        IERC20 asset;
        uint32 count;
        bool cancelled;
        IPlatformSecurityToken7518 token;
        uint112 total;
        uint32 next;
        uint112 allocated;
        bytes32 tail;
        address funder;
        uint112 withheld;
    }

    /// @dev What happened to the lines of a page so far.
    struct Tally {
        bytes32 id;
        IERC20 asset;
        // Units that are withheld, and the part of them that the asset refused.
        uint256 held;
        uint256 failed;
        uint256 linesHeld;
        // Whether one payee is known to have received its whole amount.
        bool receivedWhole;
    }

    /// @dev Limit of successors that a page follows. A line with a longer chain is withheld; its claim has no limit.
    uint256 private constant _SUCCESSORS_MAX = 16;

    /// @dev Limit of lines in a page: `frozenAmong` answers with one word, one bit a line.
    uint256 private constant _LINES_MAX = 256;

    bytes32 private constant _REASON_FROZEN = "frozen";
    bytes32 private constant _REASON_TRANSFER_FAILED = "transfer_failed";

    mapping(bytes32 id => Escrow) private _escrows;
    mapping(bytes32 id => mapping(address account => uint256)) private _withheld;
    mapping(bytes32 id => mapping(address token => bytes32)) private _audits;

    constructor(IAgentRegistry registry) AgentGated(registry) {
        if (address(registry) == address(0)) revert ZeroAddress();
    }

    /// @inheritdoc IPlatformYieldDistributor
    function createDistribution(
        bytes32 id,
        address token,
        address asset,
        uint256 total,
        uint256 count,
        bytes32 commitment,
        bytes32 auditHash
    ) external nonReentrant onlyRole(Roles.PAYOUT) {
        _requireContract(token);
        _requireContract(asset);
        _requireTerms(id, total, count, commitment);
        Escrow storage escrow = _escrows[id];
        if (address(escrow.token) != address(0)) revert DistributionExists(id);
        escrow.asset = IERC20(asset);
        escrow.count = count.toUint32();
        escrow.token = IPlatformSecurityToken7518(token);
        escrow.total = total.toUint112();
        escrow.tail = commitment;
        escrow.funder = msg.sender;
        emit DistributionCreated(id, token, asset, msg.sender, total, count, commitment, keccak256(msg.data));
        if (auditHash != 0) _declareAudit(id, token, auditHash);
        _pull(IERC20(asset), total);
    }

    /// @inheritdoc IPlatformYieldDistributor
    function payoutForDistribution(bytes32 id, uint256 from, bytes32 tail, bytes32[] calldata lines)
        external
        nonReentrant
        onlyRole(Roles.PAYOUT)
    {
        Escrow storage escrow = _open(id);
        uint256 amount = _accept(escrow, id, from, tail, lines);
        _pay(escrow, id, from, lines, amount);
    }

    /// @inheritdoc IPlatformYieldDistributor
    function claimWithheld(bytes32 id, address account) external nonReentrant {
        uint256 amount = _withheld[id][account];
        if (amount == 0) revert NothingWithheld(id, account);
        Escrow storage escrow = _escrows[id];
        (address payee, bool frozen) = escrow.token.payeeOf(account, type(uint256).max);
        if (frozen) revert PayeeFrozen(account);
        _withheld[id][account] = 0;
        escrow.withheld -= amount.toUint112();
        emit WithheldClaimed(id, account, payee, amount);
        IERC20 asset = escrow.asset;
        uint256 before = asset.balanceOf(payee);
        _send(asset, payee, amount);
        uint256 received = asset.balanceOf(payee) - before;
        if (received < amount) revert ReceivedDiffers(amount, received);
    }

    /// @inheritdoc IPlatformYieldDistributor
    function batchClaimWithheld(bytes32 id, address[] calldata accounts)
        external
        nonReentrant
        returns (uint256 claimed)
    {
        Escrow storage escrow = _escrows[id];
        if (address(escrow.token) == address(0)) revert UnknownDistribution(id);
        Tally memory tally = _tally(escrow, id);
        uint256 balance = tally.asset.balanceOf(address(this));
        for (uint256 i = 0; i < accounts.length; ++i) {
            claimed += _tryClaim(escrow, tally, accounts[i]);
        }
        if (claimed == 0) revert NothingClaimed(id);
        if (!tally.receivedWhole) revert PayeesReceiveLess(id);
        _requireSpent(tally.asset, balance, claimed);
    }

    /// @inheritdoc IPlatformYieldDistributor
    function cancelDistribution(bytes32 id) external nonReentrant onlyRole(Roles.PAYOUT) {
        Escrow storage escrow = _open(id);
        if (escrow.next == escrow.count) revert DistributionClosed(id);
        uint256 rest = escrow.total - escrow.allocated;
        address funder = escrow.funder;
        escrow.cancelled = true;
        emit DistributionCancelled(id, funder, rest);
        // The rest is zero only if the declared sum is smaller than the sum of the list.
        if (rest != 0) _send(escrow.asset, funder, rest);
    }

    /// @inheritdoc IPlatformYieldDistributor
    function changeFunder(bytes32 id, address funder) external onlyRole(Roles.PAYOUT) {
        if (funder == address(0)) revert ZeroAddress();
        Escrow storage escrow = _open(id);
        address previous = escrow.funder;
        if (msg.sender != previous) revert NotTheFunder(id, msg.sender);
        escrow.funder = funder;
        emit FunderChanged(id, previous, funder);
    }

    /// @inheritdoc IPlatformYieldDistributor
    function declareAudit(bytes32 id, address token, bytes32 auditHash) external onlyRole(Roles.PAYOUT) {
        if (id == 0 || auditHash == 0) revert ZeroTerm();
        if (token == address(0)) revert ZeroAddress();
        address expected = address(_escrows[id].token);
        if (expected != address(0) && expected != token) revert TokenMismatch(id, expected, token);
        _declareAudit(id, token, auditHash);
    }

    /// @inheritdoc IPlatformYieldDistributor
    function distribution(bytes32 id) external view returns (Distribution memory) {
        Escrow storage escrow = _escrows[id];
        return Distribution({
            token: address(escrow.token),
            asset: address(escrow.asset),
            funder: escrow.funder,
            total: escrow.total,
            count: escrow.count,
            tail: escrow.tail,
            auditHash: _audits[id][address(escrow.token)],
            next: escrow.next,
            allocated: escrow.allocated,
            withheld: escrow.withheld,
            cancelled: escrow.cancelled
        });
    }

    /// @inheritdoc IPlatformYieldDistributor
    function withheldOf(bytes32 id, address account) external view returns (uint256) {
        return _withheld[id][account];
    }

    /// @inheritdoc IPlatformYieldDistributor
    function auditHashOf(bytes32 id, address token) external view returns (bytes32) {
        return _audits[id][token];
    }

    /// @inheritdoc IPlatformYieldDistributor
    function payeeOf(address token, address account) external view returns (address payee, bool frozen) {
        return IPlatformSecurityToken7518(token).payeeOf(account, _SUCCESSORS_MAX);
    }

    /// @dev Proves that the page is the next part of the declared list, and records it, before any line is paid.
    function _accept(Escrow storage escrow, bytes32 id, uint256 from, bytes32 tail, bytes32[] calldata lines)
        private
        returns (uint256 amount)
    {
        uint256 end = _requireNextPage(escrow, id, from, lines.length);
        amount = _requireDeclared(escrow, id, from, tail, lines);
        uint256 count = escrow.count;
        // The hash behind the last line is zero, and behind no other line.
        if ((end == count) != (tail == 0)) revert CountMismatch(id, count, end);
        uint256 total = escrow.total;
        uint256 allocated = escrow.allocated + amount;
        if (allocated > total) revert PageBeyondTotal(id, allocated, total);
        escrow.tail = tail;
        escrow.next = end.toUint32();
        escrow.allocated = allocated.toUint112();
        emit PagePaid(id, from, lines.length, amount, tail, keccak256(msg.data));
        if (end != count) return amount;
        if (allocated != total) revert TotalMismatch(id, total, allocated);
        emit DistributionCompleted(id);
    }

    /// @dev Pays an accepted page line by line. A line that cannot be paid is withheld.
    function _pay(Escrow storage escrow, bytes32 id, uint256 from, bytes32[] calldata lines, uint256 amount) private {
        Tally memory tally = _tally(escrow, id);
        IERC20 asset = tally.asset;
        uint256 balance = asset.balanceOf(address(this));
        // One call for the whole page; only frozen payees need more.
        uint256 frozen = escrow.token.frozenAmong(lines);
        for (uint256 i = 0; i < lines.length; ++i) {
            bytes32 line = lines[i];
            if ((frozen >> i) & 1 != 0) {
                _payFrozen(escrow, tally, from + i, line);
            } else if (tally.receivedWhole) {
                if (!asset.tryTransfer(line.account(), line.units())) _withholdFailed(tally, from + i, line);
            } else if (!_tryPay(tally, line.account(), line.units())) {
                _withholdFailed(tally, from + i, line);
            }
        }
        if (tally.held != 0) escrow.withheld += tally.held.toUint112();
        if (tally.linesHeld != lines.length) {
            if (!tally.receivedWhole) revert PayeesReceiveLess(id);
        } else if (tally.failed != 0) {
            // Nobody was paid. If the asset refuses this contract as well, the cause is not the payees.
            if (!asset.tryTransfer(address(this), tally.failed)) revert AssetUnavailable(id, from);
        }
        _requireSpent(asset, balance, amount - tally.held);
    }

    /// @dev Pays the successor if the frozen account is a lost wallet. Otherwise withholds the line.
    function _payFrozen(Escrow storage escrow, Tally memory tally, uint256 index, bytes32 line) private {
        address account = line.account();
        (address payee, bool frozen) = escrow.token.payeeOf(account, _SUCCESSORS_MAX);
        if (frozen) return _withhold(tally, index, line, _REASON_FROZEN);
        if (!_tryPay(tally, payee, line.units())) return _withholdFailed(tally, index, line);
        emit PaidToSuccessor(tally.id, account, payee, index, line.units());
    }

    /// @dev Measures payees until one received its whole amount. Measuring all would cost 1,500 gas a payee, and
    /// requiring it of a certain one would let a payee that passes the money on block the page.
    function _tryPay(Tally memory tally, address payee, uint256 units) private returns (bool done) {
        IERC20 asset = tally.asset;
        if (tally.receivedWhole) return asset.tryTransfer(payee, units);
        uint256 before = asset.balanceOf(payee);
        done = asset.tryTransfer(payee, units);
        if (done && asset.balanceOf(payee) >= before + units) tally.receivedWhole = true;
    }

    /// @dev Pays what is withheld for an account, or leaves it as it is.
    function _tryClaim(Escrow storage escrow, Tally memory tally, address account) private returns (uint256 claimed) {
        bytes32 id = tally.id;
        uint256 amount = _withheld[id][account];
        if (amount == 0) return 0;
        (address payee, bool frozen) = escrow.token.payeeOf(account, _SUCCESSORS_MAX);
        if (frozen) return 0;
        _withheld[id][account] = 0;
        escrow.withheld -= amount.toUint112();
        if (!_tryPay(tally, payee, amount)) {
            _withheld[id][account] = amount;
            escrow.withheld += amount.toUint112();
            return 0;
        }
        emit WithheldClaimed(id, account, payee, amount);
        return amount;
    }

    function _withholdFailed(Tally memory tally, uint256 index, bytes32 line) private {
        tally.failed += line.units();
        _withhold(tally, index, line, _REASON_TRANSFER_FAILED);
    }

    function _withhold(Tally memory tally, uint256 index, bytes32 line, bytes32 reason) private {
        address account = line.account();
        uint256 units = line.units();
        tally.held += units;
        ++tally.linesHeld;
        _withheld[tally.id][account] += units;
        emit Withheld(tally.id, account, index, units, reason);
    }

    /// @dev Runs after the distribution is stored, because the asset could call back.
    function _pull(IERC20 asset, uint256 total) private {
        uint256 balance = asset.balanceOf(address(this));
        asset.safeTransferFrom(msg.sender, address(this), total);
        uint256 received = asset.balanceOf(address(this)) - balance;
        if (received != total) revert ReceivedDiffers(total, received);
    }

    function _send(IERC20 asset, address to, uint256 amount) private {
        uint256 balance = asset.balanceOf(address(this));
        asset.safeTransfer(to, amount);
        _requireSpent(asset, balance, amount);
    }

    /// @dev Protects the escrow of other distributions from an asset that charges the sender. A balance above the
    /// expected one is no error: a payee with a hook could send a unit back and block a page otherwise.
    function _requireSpent(IERC20 asset, uint256 balance, uint256 expected) private view {
        uint256 left = asset.balanceOf(address(this));
        if (left + expected < balance) revert EscrowShort(expected, balance - left);
    }

    function _declareAudit(bytes32 id, address token, bytes32 auditHash) private {
        bytes32 declared = _audits[id][token];
        if (declared != 0 && declared != auditHash) revert AuditAlreadyDeclared(id, declared);
        _audits[id][token] = auditHash;
        emit AuditDeclared(id, token, auditHash, msg.sender);
    }

    function _open(bytes32 id) private view returns (Escrow storage escrow) {
        escrow = _escrows[id];
        if (address(escrow.token) == address(0)) revert UnknownDistribution(id);
        if (escrow.cancelled) revert DistributionClosed(id);
    }

    /// @dev Requires that the page is the next one. The error says which line is next.
    function _requireNextPage(Escrow storage escrow, bytes32 id, uint256 from, uint256 length)
        private
        view
        returns (uint256 end)
    {
        if (length == 0) revert EmptyPage();
        if (length > _LINES_MAX) revert PageTooLong(length);
        uint256 next = escrow.next;
        if (from < next) revert PageAlreadyPaid(id, from, next);
        if (from > next) revert PageOutOfOrder(id, from, next);
        end = from + length;
        uint256 count = escrow.count;
        if (end > count) revert PageBeyondCount(id, end, count);
    }

    /// @dev Validates, hashes and adds up the lines in one pass, from the last line to the first.
    function _requireDeclared(Escrow storage escrow, bytes32 id, uint256 from, bytes32 tail, bytes32[] calldata lines)
        private
        view
        returns (uint256 amount)
    {
        bytes32 rolled = tail;
        for (uint256 i = lines.length; i != 0;) {
            // The loop ends at zero, and 256 amounts of 96 bits cannot overflow.
            unchecked {
                --i;
                bytes32 line = lines[i];
                address account = line.account();
                if (account == address(0) || account == address(this)) revert InvalidPayee(from + i, account);
                uint256 units = line.units();
                if (units == 0) revert ZeroAmount(from + i);
                rolled = rolled.add(line);
                amount += units;
            }
        }
        bytes32 declared = escrow.tail;
        if (rolled != declared) revert PageNotDeclared(id, from, declared, rolled);
    }

    function _tally(Escrow storage escrow, bytes32 id) private view returns (Tally memory tally) {
        tally.id = id;
        tally.asset = escrow.asset;
    }

    function _requireContract(address account) private view {
        if (account == address(0)) revert ZeroAddress();
        if (account.code.length == 0) revert NotAContract(account);
    }

    function _requireTerms(bytes32 id, uint256 total, uint256 count, bytes32 commitment) private pure {
        if (id == 0 || total == 0 || count == 0 || commitment == 0) revert ZeroTerm();
        if (total > type(uint112).max) revert AmountTooLarge(total);
        if (count > type(uint32).max) revert CountTooLarge(count);
    }
}
