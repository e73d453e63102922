// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAgentGated} from "./IAgentGated.sol";

/// @title Holding periods and affiliate volume limits in the manner of 17 CFR 230.144.
/// @notice A partition of a token may have this rule as its external check. The token asks `check` before every
/// transfer of that partition and notifies every movement, so that lots (units and the time of their acquisition)
/// follow the balances: `on…` functions answer to the tokens served only, and never move anything themselves.
///
/// Free units are used first, then lots, first in, first out. A transfer starts a new holding period; a recovery and
/// a forced transfer do not (the time of acquisition is tacked). Lots acquired on one day (UTC) are one lot with the
/// later time: nobody can fill a holder's book with dust. Units are free for good once the longest holding period is
/// over or a document freed them.
interface IRule144 is IAgentGated {
    /// @notice What the issuer's reporting says about the holding period.
    /// @param reportingSince Since when the issuer reports under the Exchange Act, zero if it does not. Lots are free
    /// after `HOLDING_REPORTING` once it has reported for `REPORTING_SEASONING`, else after `HOLDING_OTHER`.
    /// @param shell Whether the issuer is, or was, a shell: then nothing may be sold under the rule.
    struct IssuerStatus {
        uint40 reportingSince;
        bool shell;
    }

    /// @notice Units acquired together.
    struct Lot {
        uint96 units;
        uint40 acquiredAt;
    }

    /// @notice The rule serves a partition from now on.
    event PartitionServed(address indexed token, uint256 indexed partition);
    /// @notice The issuer's status changed.
    event IssuerStatusSet(address indexed token, uint40 reportingSince, bool shell);
    /// @notice A holder was marked, or no longer is, as an affiliate of the issuer.
    event AffiliateSet(address indexed token, address indexed holder, bool affiliate);
    /// @notice Units were freed by document: their holding period counts as over.
    event LegendRemoved(
        address indexed token,
        uint256 indexed partition,
        address indexed holder,
        uint256 acquiredAt,
        uint256 units,
        bytes32 docHash
    );

    /// @notice A holder's lots, `before` units in all, were brought to its `balance` by document.
    event LotsReconciled(
        address indexed token,
        uint256 indexed partition,
        address indexed holder,
        uint256 before,
        uint256 balance,
        uint256 acquiredAt,
        bytes32 docHash
    );

    /// @notice An address that must not be zero is.
    error ZeroAddress();
    /// @notice The document that frees or corrects lots is missing.
    error ZeroDocument();
    /// @notice The caller is no token of whose `partition` this rule keeps lots.
    error PartitionNotServed(address token, uint256 partition);
    /// @notice The rule serves this partition already.
    error PartitionAlreadyServed(address token, uint256 partition);
    /// @notice The lots hold fewer units than are moved.
    error LotsMissing(address token, uint256 partition, address holder, uint256 units, uint256 inLots);
    /// @notice The holder has no lot of this time.
    error UnknownLot(address token, uint256 partition, address holder, uint256 acquiredAt);
    /// @notice The time lies in the future.
    error InFuture(uint256 time);
    /// @notice The successor has lots of its own, and two histories must not be mixed.
    error SuccessorHasLots(address token, uint256 partition, address successor);

    /// @notice Starts to serve a partition. Units that exist already do not move until `reconcile` gives them a time.
    /// Compliance role.
    function servePartition(address token, uint256 partition) external;

    /// @notice Sets the issuer's reporting status. Compliance role.
    function setIssuerStatus(address token, IssuerStatus calldata status) external;

    /// @notice Marks a holder as an affiliate of the issuer, or as none. Compliance role.
    function setAffiliate(address token, address holder, bool affiliate) external;

    /// @notice Frees what the holder acquired at `acquiredAt` (as `lotsOf` has it) by document. Compliance role.
    function removeLegend(address token, uint256 partition, address holder, uint256 acquiredAt, bytes32 docHash)
        external;

    /// @notice Brings a holder's lots to its balance: what is missing becomes a lot of `acquiredAt` (0: free), what is too
    /// much goes in the order of use. For units that moved while the token named no module or another one. Compliance
    /// role.
    function reconcile(address token, uint256 partition, address holder, uint256 acquiredAt, bytes32 docHash) external;

    /// @notice Whether the calling token may let `from` transfer `units` of `partition` to `to` now.
    /// @return allowed True if the units are free and within the affiliate's volume.
    /// @return reason Zero if allowed, else a short ASCII word: `rule144_not_served`, `rule144_shell`, `rule144_holding`
    /// or `rule144_volume`. It never reverts.
    function check(address from, address to, uint256 partition, uint256 units)
        external
        view
        returns (bool allowed, bytes32 reason);

    /// @notice Tells that `units` of the calling token were minted to `to`.
    function onMint(address to, uint256 partition, uint256 units) external;

    /// @notice Tells that a holder's own transfer took place, which `check` had allowed.
    function onTransfer(address from, address to, uint256 partition, uint256 units) external;

    /// @notice Tells that an agent moved units: the time of acquisition goes with them.
    function onForcedTransfer(address from, address to, uint256 partition, uint256 units) external;

    /// @notice Tells that `successor` replaces the wallet `lost` in this partition: lots, sales and the affiliate mark
    /// follow.
    function onRecovery(address lost, address successor, uint256 partition) external;

    /// @notice When `units` of the holder will have served their holding period, by what is known now.
    /// @return The time, in the past if they have, 0 for free units; `type(uint256).max` for a shell, or for more units
    /// than the holder has.
    function earliestTransferTime(address token, address holder, uint256 partition, uint256 units)
        external
        view
        returns (uint256);

    /// @notice Units that an affiliate may still sell now, of 1 % of the partition's supply per 90 days;
    /// `type(uint256).max` for others.
    function volumeLeft(address token, address holder, uint256 partition) external view returns (uint256);

    /// @notice The holder's free units and the lots that are still counted, in the order of their use.
    function lotsOf(address token, address holder, uint256 partition)
        external
        view
        returns (uint256 free, Lot[] memory lots);

    /// @notice Whether the rule serves a partition.
    function isServed(address token, uint256 partition) external view returns (bool);

    /// @notice Whether a holder is marked as an affiliate of the issuer.
    function isAffiliate(address token, address holder) external view returns (bool);

    /// @notice The issuer's reporting status.
    function issuerStatus(address token) external view returns (IssuerStatus memory);
}
