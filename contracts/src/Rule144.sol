// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {AgentGated} from "./AgentGated.sol";
import {LotBook} from "./LotBook.sol";
import {Roles} from "./Roles.sol";
import {IAgentRegistry} from "./interfaces/IAgentRegistry.sol";
import {IPlatformSecurityToken7518} from "./interfaces/IPlatformSecurityToken7518.sol";
import {IRule144} from "./interfaces/IRule144.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";

/// @title Rule144
/// @notice See `IRule144`.
/// @dev A holder has an index, and the index leads to lots and sales. So a recovery moves the index only, at the same
/// cost for any number of lots.
contract Rule144 is IRule144, AgentGated {
    using Math for uint256;
    using LotBook for LotBook.Book;

    /// @notice Holding period if the issuer reports: six months, which are at most 184 days.
    uint256 public constant HOLDING_REPORTING = 184 days;
    /// @notice Holding period otherwise: one year, which is at most 366 days.
    uint256 public constant HOLDING_OTHER = 366 days;
    /// @notice How long an issuer must have reported before the shorter period applies.
    uint256 public constant REPORTING_SEASONING = 90 days;
    /// @notice Window of the volume limit for affiliates.
    uint256 public constant VOLUME_WINDOW = 90 days;
    /// @notice An affiliate may sell the partition's supply divided by this number in one window.
    uint256 public constant VOLUME_DIVISOR = 100;

    bytes32 private constant _REASON_NOT_SERVED = "rule144_not_served";
    bytes32 private constant _REASON_SHELL = "rule144_shell";
    bytes32 private constant _REASON_HOLDING = "rule144_holding";
    bytes32 private constant _REASON_VOLUME = "rule144_volume";

    /// @dev Old lots that each new lot frees. With two, a queue of old lots gets shorter.
    uint256 private constant _SETTLE_STEPS = 2;

    struct Books {
        LotBook.Book lots;
        LotBook.Book sales;
    }

    /// @inheritdoc IRule144
    mapping(address token => mapping(uint256 partition => bool)) public isServed;
    /// @inheritdoc IRule144
    mapping(address token => mapping(address holder => bool)) public isAffiliate;

    uint256 private _booksCount;
    mapping(uint256 number => Books) private _books;
    mapping(address token => mapping(uint256 partition => mapping(address holder => uint256))) private _numberOf;
    mapping(address token => IssuerStatus) private _statuses;

    /// @dev Requires compliance on the whole platform or for the token's offering. A caller that names another contract as
    /// `token` changes the data of that contract only.
    /// @param token The token.
    modifier onlyComplianceOf(address token) {
        if (!agentRegistry().hasRole(msg.sender, Roles.COMPLIANCE)) {
            _requireRoleFor(_offeringOf(token), Roles.COMPLIANCE);
        }
        _;
    }

    /// @dev Requires that the caller is a token whose partition this module serves.
    /// @param partition The partition.
    modifier onlyServed(uint256 partition) {
        if (!isServed[msg.sender][partition]) revert PartitionNotServed(msg.sender, partition);
        _;
    }

    constructor(IAgentRegistry registry) AgentGated(registry) {
        if (address(registry) == address(0)) revert ZeroAddress();
    }

    /// @inheritdoc IRule144
    function servePartition(address token, uint256 partition) external onlyComplianceOf(token) {
        if (token == address(0)) revert ZeroAddress();
        if (isServed[token][partition]) revert PartitionAlreadyServed(token, partition);
        isServed[token][partition] = true;
        emit PartitionServed(token, partition);
    }

    /// @inheritdoc IRule144
    function setIssuerStatus(address token, IssuerStatus calldata status) external onlyComplianceOf(token) {
        if (token == address(0)) revert ZeroAddress();
        if (status.reportingSince > block.timestamp) revert InFuture(status.reportingSince);
        _statuses[token] = status;
        emit IssuerStatusSet(token, status.reportingSince, status.shell);
    }

    /// @inheritdoc IRule144
    function setAffiliate(address token, address holder, bool affiliate) external onlyComplianceOf(token) {
        if (token == address(0) || holder == address(0)) revert ZeroAddress();
        isAffiliate[token][holder] = affiliate;
        emit AffiliateSet(token, holder, affiliate);
    }

    /// @inheritdoc IRule144
    function removeLegend(address token, uint256 partition, address holder, uint256 acquiredAt, bytes32 docHash)
        external
        onlyComplianceOf(token)
    {
        if (docHash == 0) revert ZeroDocument();
        LotBook.Book storage lots = _booksOf(token, partition, holder).lots;
        uint256 units = lots.removeAt(acquiredAt);
        if (units == 0) revert UnknownLot(token, partition, holder, acquiredAt);
        lots.add(units, 0);
        emit LegendRemoved(token, partition, holder, acquiredAt, units, docHash);
    }

    /// @inheritdoc IRule144
    function reconcile(address token, uint256 partition, address holder, uint256 acquiredAt, bytes32 docHash)
        external
        onlyComplianceOf(token)
    {
        if (docHash == 0) revert ZeroDocument();
        if (acquiredAt > block.timestamp) revert InFuture(acquiredAt);
        if (!isServed[token][partition]) revert PartitionNotServed(token, partition);
        LotBook.Book storage lots = _openBooks(token, partition, holder).lots;
        uint256 before = lots.total();
        uint256 balance = IPlatformSecurityToken7518(token).balanceOf(holder, partition);
        if (balance > before) _acquire(lots, balance - before, acquiredAt);
        else _takeAll(lots, before - balance);
        emit LotsReconciled(token, partition, holder, before, balance, acquiredAt, docHash);
    }

    /// @inheritdoc IRule144
    function onMint(address to, uint256 partition, uint256 units) external onlyServed(partition) {
        _acquire(_openBooks(msg.sender, partition, to).lots, units, block.timestamp);
    }

    /// @inheritdoc IRule144
    function onTransfer(address from, address to, uint256 partition, uint256 units) external onlyServed(partition) {
        Books storage seller = _openBooks(msg.sender, partition, from);
        _requireLots(seller.lots, from, partition, units);
        _takeAll(seller.lots, units);
        if (isAffiliate[msg.sender][from]) {
            // A window has at most 91 entries, so all sales that have left it are deleted at once.
            seller.sales.settle(_windowStart(), type(uint256).max);
            seller.sales.add(units, block.timestamp);
        }
        _acquire(_openBooks(msg.sender, partition, to).lots, units, block.timestamp);
    }

    /// @inheritdoc IRule144
    function onForcedTransfer(address from, address to, uint256 partition, uint256 units)
        external
        onlyServed(partition)
    {
        LotBook.Book storage source = _openBooks(msg.sender, partition, from).lots;
        _requireLots(source, from, partition, units);
        LotBook.Book storage target = _openBooks(msg.sender, partition, to).lots;
        _moveAll(source, target, units);
    }

    /// @inheritdoc IRule144
    function onRecovery(address lost, address successor, uint256 partition) external onlyServed(partition) {
        mapping(address holder => uint256) storage numberOf = _numberOf[msg.sender][partition];
        if (isAffiliate[msg.sender][lost]) {
            isAffiliate[msg.sender][successor] = true;
            emit AffiliateSet(msg.sender, successor, true);
        }
        (uint256 number, uint256 own) = (numberOf[lost], numberOf[successor]);
        if (number == 0) return;
        if (_books[own].lots.total() == 0) {
            numberOf[successor] = number;
            delete numberOf[lost];
            _addSales(_books[own], _books[number]);
        } else {
            _moveAll(_books[number].lots, _books[own].lots, type(uint256).max);
            _addSales(_books[number], _books[own]);
            delete numberOf[lost];
        }
    }

    /// @inheritdoc IRule144
    function onRedemption(address from, uint256 partition, uint256 units) external onlyServed(partition) {
        LotBook.Book storage lots = _openBooks(msg.sender, partition, from).lots;
        _requireLots(lots, from, partition, units);
        _takeAll(lots, units);
    }

    /// @inheritdoc IRule144
    function check(address from, address, uint256 partition, uint256 units)
        external
        view
        returns (bool allowed, bytes32 reason)
    {
        if (!isServed[msg.sender][partition]) return (false, _REASON_NOT_SERVED);
        if (_statuses[msg.sender].shell) return (false, _REASON_SHELL);
        if (earliestTransferTime(msg.sender, from, partition, units) > block.timestamp) {
            return (false, _REASON_HOLDING);
        }
        if (units > volumeLeft(msg.sender, from, partition)) return (false, _REASON_VOLUME);
        return (true, 0);
    }

    /// @inheritdoc IRule144
    function lotsOf(address token, address holder, uint256 partition)
        external
        view
        returns (uint256 free, Lot[] memory lots)
    {
        LotBook.Book storage book = _booksOf(token, partition, holder).lots;
        return (book.free, book.list());
    }

    /// @inheritdoc IRule144
    function issuerStatus(address token) external view returns (IssuerStatus memory) {
        return _statuses[token];
    }

    /// @inheritdoc IRule144
    function earliestTransferTime(address token, address holder, uint256 partition, uint256 units)
        public
        view
        returns (uint256 time)
    {
        IssuerStatus memory status = _statuses[token];
        LotBook.Book storage book = _booksOf(token, partition, holder).lots;
        if (status.shell || units > book.total()) return type(uint256).max;
        uint256 counted = book.free;
        for (uint256 i = book.head; counted < units; ++i) {
            Lot memory lot = book.entries[i];
            counted += lot.units;
            uint256 freeAt = _freeAt(lot.acquiredAt, status.reportingSince);
            // A forced transfer can put an older lot behind a younger one, so the latest of the lots used decides.
            if (lot.units != 0 && freeAt > time) time = freeAt;
        }
    }

    /// @inheritdoc IRule144
    function volumeLeft(address token, address holder, uint256 partition) public view returns (uint256) {
        if (!isAffiliate[token][holder]) return type(uint256).max;
        uint256 limit = IPlatformSecurityToken7518(token).totalSupply(partition) / VOLUME_DIVISOR;
        uint256 sold = _booksOf(token, partition, holder).sales.sumSince(_windowStart());
        return sold < limit ? limit - sold : 0;
    }

    /// @dev The offering of a token; zero for a contract that names none.
    function _offeringOf(address token) private view returns (bytes32) {
        if (token.code.length == 0) return 0;
        try IPlatformSecurityToken7518(token).offeringId() returns (bytes32 offeringId) {
            return offeringId;
        } catch {
            return 0;
        }
    }

    /// @dev Moves lots with their times until `units` have moved or the source is empty.
    function _moveAll(LotBook.Book storage source, LotBook.Book storage target, uint256 units) private {
        while (units != 0) {
            (uint256 taken, uint256 time) = source.take(units);
            if (taken == 0) return;
            _acquire(target, taken, time);
            units -= taken;
        }
    }

    /// @dev Adds the sales of one wallet to those of another, as if sold now. Otherwise two wallets would have two limits.
    function _addSales(Books storage source, Books storage target) private {
        uint256 sold = source.sales.sumSince(_windowStart());
        if (sold != 0) target.sales.add(sold, block.timestamp);
    }

    /// @dev Removes units of any time. The caller has checked that the book has them.
    function _takeAll(LotBook.Book storage book, uint256 units) private {
        while (units != 0) {
            (uint256 taken,) = book.take(units);
            units -= taken;
        }
    }

    /// @dev Adds units, and frees old lots. Units older than the longest period are added as free ones.
    function _acquire(LotBook.Book storage book, uint256 units, uint256 time) private {
        uint256 cutoff = block.timestamp.saturatingSub(HOLDING_OTHER);
        uint256 settled = book.settle(cutoff, _SETTLE_STEPS);
        if (settled != 0) book.add(settled, 0);
        book.add(units, time <= cutoff ? 0 : time);
    }

    /// @dev The lots and sales of a holder, created if there are none.
    function _openBooks(address token, uint256 partition, address holder) private returns (Books storage) {
        uint256 number = _numberOf[token][partition][holder];
        if (number == 0) {
            number = ++_booksCount;
            _numberOf[token][partition][holder] = number;
        }
        return _books[number];
    }

    function _requireLots(LotBook.Book storage book, address holder, uint256 partition, uint256 units) private view {
        uint256 total = book.total();
        if (units > total) revert LotsMissing(msg.sender, partition, holder, units, total);
    }

    /// @dev Index 0 is unused, so a holder without an index has no lots and no sales.
    function _booksOf(address token, uint256 partition, address holder) private view returns (Books storage) {
        return _books[_numberOf[token][partition][holder]];
    }

    /// @dev A sale at this time or earlier has left the window of the volume limit.
    function _windowStart() private view returns (uint256) {
        return block.timestamp.saturatingSub(VOLUME_WINDOW);
    }

    function _freeAt(uint256 acquiredAt, uint256 reportingSince) private pure returns (uint256) {
        uint256 other = acquiredAt + HOLDING_OTHER;
        if (reportingSince == 0) return other;
        uint256 seasoned = reportingSince + REPORTING_SEASONING;
        uint256 reporting = acquiredAt + HOLDING_REPORTING;
        if (seasoned > reporting) reporting = seasoned;
        return reporting < other ? reporting : other;
    }
}
