// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {AgentGated} from "./AgentGated.sol";
import {Roles} from "./Roles.sol";
import {RollUp} from "./RollUp.sol";
import {StipendTransfer} from "./StipendTransfer.sol";
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
/// @dev A page of any size changes two words: `rolled`, and the word of `total`, `next` and `allocated`. A paid line
/// writes nothing here; only a withheld line does.
contract PlatformYieldDistributor is IPlatformYieldDistributor, AgentGated, ReentrancyGuardTransient {
    using PageLine for bytes32;
    using RollUp for bytes32;
    using SafeERC20 for IERC20;
    using SafeCast for uint256;
    using StipendTransfer for IERC20;

    /// @dev Fields that a page reads or writes together share a word.
    struct Escrow {
        IERC20 asset;
        uint32 count;
        bool cancelled;
        IPlatformSecurityToken7518 token;
        uint112 total;
        uint32 next;
        uint112 allocated;
        bytes32 rolled;
        bytes32 commitment;
        address funder;
        uint112 withheld;
    }

    /// @dev Limit of successors to follow. An account with a longer chain is withheld and cannot claim.
    uint256 private constant SUCCESSORS_MAX = 16;

    /// @dev Limit of lines in a page: `frozenAmong` answers with one word, one bit a line.
    uint256 private constant LINES_MAX = 256;

    bytes32 private constant REASON_FROZEN = "frozen";
    bytes32 private constant REASON_TRANSFER_FAILED = "transfer_failed";

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
        _requireTerms(id, token, asset, total, count, commitment);
        Escrow storage escrow = _escrows[id];
        if (address(escrow.token) != address(0)) {
            revert DistributionExists(id, _sameTerms(id, token, asset, total, count, commitment, auditHash));
        }
        escrow.asset = IERC20(asset);
        escrow.count = count.toUint32();
        escrow.token = IPlatformSecurityToken7518(token);
        escrow.total = total.toUint112();
        escrow.commitment = commitment;
        escrow.funder = msg.sender;
        emit DistributionCreated(id, token, asset, msg.sender, total, count, commitment, keccak256(msg.data));
        if (auditHash != 0) _declareAudit(id, token, auditHash);
        _pull(IERC20(asset), total);
    }

    /// @inheritdoc IPlatformYieldDistributor
    function payoutForDistribution(bytes32 id, uint256 from, bytes32[] calldata lines)
        external
        nonReentrant
        onlyRole(Roles.PAYOUT)
    {
        Escrow storage escrow = _open(id);
        uint256 amount = _accept(escrow, id, from, lines);
        _pay(escrow, id, from, lines, amount);
    }

    /// @inheritdoc IPlatformYieldDistributor
    function claimWithheld(bytes32 id, address account) external nonReentrant {
        uint256 amount = _withheld[id][account];
        if (amount == 0) revert NothingWithheld(id, account);
        Escrow storage escrow = _escrows[id];
        (address payee, bool frozen) = _payeeOf(escrow.token, account);
        if (frozen) revert PayeeFrozen(account);
        _withheld[id][account] = 0;
        escrow.withheld -= amount.toUint112();
        emit WithheldClaimed(id, account, payee, amount);
        _send(escrow.asset, payee, amount);
    }

    /// @inheritdoc IPlatformYieldDistributor
    function cancelDistribution(bytes32 id) external nonReentrant onlyRole(Roles.PAYOUT) {
        Escrow storage escrow = _open(id);
        if (escrow.next == escrow.count) revert DistributionClosed(id);
        uint256 rest = escrow.total - escrow.allocated;
        address funder = escrow.funder;
        escrow.cancelled = true;
        emit DistributionCancelled(id, funder, rest);
        // The rest is zero only if a wrong list has allocated the whole sum before its last page.
        if (rest != 0) _send(escrow.asset, funder, rest);
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
            commitment: escrow.commitment,
            auditHash: _audits[id][address(escrow.token)],
            rolled: escrow.rolled,
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
        return _payeeOf(IPlatformSecurityToken7518(token), account);
    }

    /// @dev Records the whole page before any line is paid.
    function _accept(Escrow storage escrow, bytes32 id, uint256 from, bytes32[] calldata lines)
        private
        returns (uint256 amount)
    {
        uint256 end = _requireNextPage(escrow, id, from, lines.length);
        bytes32 rolled;
        (rolled, amount) = _rollUp(escrow.rolled, from, lines);
        uint256 total = escrow.total;
        uint256 allocated = escrow.allocated + amount;
        if (allocated > total) revert PageBeyondTotal(id, allocated, total);
        escrow.rolled = rolled;
        escrow.next = end.toUint32();
        escrow.allocated = allocated.toUint112();
        emit PagePaid(id, from, lines.length, amount, rolled, keccak256(msg.data));
        if (end == escrow.count) _complete(escrow, id, rolled, allocated, total);
    }

    /// @dev Requires that the accepted list is the declared one.
    function _complete(Escrow storage escrow, bytes32 id, bytes32 rolled, uint256 allocated, uint256 total) private {
        bytes32 commitment = escrow.commitment;
        if (rolled != commitment) revert RollUpMismatch(id, commitment, rolled);
        if (allocated != total) revert TotalMismatch(id, total, allocated);
        emit DistributionCompleted(id);
    }

    /// @dev Pays an accepted page line by line. A line that cannot be paid is withheld.
    function _pay(Escrow storage escrow, bytes32 id, uint256 from, bytes32[] calldata lines, uint256 amount) private {
        IERC20 asset = escrow.asset;
        uint256 balance = asset.balanceOf(address(this));
        // One call for the whole page; only frozen payees need more.
        uint256 frozen = escrow.token.frozenAmong(lines);
        uint256 held = 0;
        for (uint256 i = 0; i < lines.length; ++i) {
            bytes32 line = lines[i];
            if ((frozen >> i) & 1 == 0) {
                if (asset.tryTransfer(line.account(), line.units())) continue;
                held += _withhold(id, from + i, line, REASON_TRANSFER_FAILED);
            } else {
                held += _payFrozen(escrow, id, from + i, line);
            }
        }
        if (held != 0) escrow.withheld += held.toUint112();
        _requireSpent(asset, balance, amount - held);
    }

    /// @dev Pays the successor if the frozen account is a lost wallet. Otherwise withholds the line.
    function _payFrozen(Escrow storage escrow, bytes32 id, uint256 index, bytes32 line) private returns (uint256 held) {
        address account = line.account();
        (address payee, bool frozen) = _payeeOf(escrow.token, account);
        if (frozen) return _withhold(id, index, line, REASON_FROZEN);
        if (!escrow.asset.tryTransfer(payee, line.units())) return _withhold(id, index, line, REASON_TRANSFER_FAILED);
        emit PaidToSuccessor(id, account, payee, index, line.units());
    }

    function _withhold(bytes32 id, uint256 index, bytes32 line, bytes32 reason) private returns (uint256 held) {
        address account = line.account();
        held = line.units();
        _withheld[id][account] += held;
        emit Withheld(id, account, index, held, reason);
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
        if (length > LINES_MAX) revert PageTooLong(length);
        uint256 next = escrow.next;
        if (from < next) revert PageAlreadyPaid(id, from, next);
        if (from > next) revert PageOutOfOrder(id, from, next);
        end = from + length;
        uint256 count = escrow.count;
        if (end > count) revert PageBeyondCount(id, end, count);
    }

    /// @dev Validates, hashes and adds up the lines in one pass.
    function _rollUp(bytes32 before, uint256 from, bytes32[] calldata lines)
        private
        view
        returns (bytes32 rolled, uint256 amount)
    {
        rolled = before;
        for (uint256 i = 0; i < lines.length; ++i) {
            bytes32 line = lines[i];
            address account = line.account();
            if (account == address(0) || account == address(this)) revert InvalidPayee(from + i, account);
            uint256 units = line.units();
            if (units == 0) revert ZeroAmount(from + i);
            rolled = rolled.add(line);
            // 256 amounts of 96 bits cannot overflow.
            unchecked {
                amount += units;
            }
        }
    }

    /// @dev Only a frozen wallet can have a successor, because a recovered wallet stays frozen. Others cost one call.
    function _payeeOf(IPlatformSecurityToken7518 token, address account)
        private
        view
        returns (address payee, bool frozen)
    {
        payee = account;
        frozen = token.isFrozen(account);
        for (uint256 hops = 0; frozen && hops < SUCCESSORS_MAX; ++hops) {
            address successor = token.successorOf(payee);
            if (successor == address(0)) break;
            payee = successor;
            frozen = token.isFrozen(successor);
        }
    }

    function _requireTerms(bytes32 id, address token, address asset, uint256 total, uint256 count, bytes32 commitment)
        private
        view
    {
        if (token == address(0) || asset == address(0)) revert ZeroAddress();
        if (id == 0 || total == 0 || count == 0 || commitment == 0) revert ZeroTerm();
        if (total > type(uint112).max) revert AmountTooLarge(total);
        if (count > type(uint32).max) revert CountTooLarge(count);
        if (token.code.length == 0) revert NotAContract(token);
        if (asset.code.length == 0) revert NotAContract(asset);
    }

    function _sameTerms(
        bytes32 id,
        address token,
        address asset,
        uint256 total,
        uint256 count,
        bytes32 commitment,
        bytes32 auditHash
    ) private view returns (bool) {
        Escrow storage escrow = _escrows[id];
        return address(escrow.token) == token && address(escrow.asset) == asset && escrow.total == total
            && escrow.count == count && escrow.commitment == commitment
            && (auditHash == 0 || _audits[id][token] == auditHash);
    }
}
