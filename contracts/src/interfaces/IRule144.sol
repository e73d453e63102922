// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAgentGated} from "./IAgentGated.sol";

/// @title IRule144
/// @notice Holding periods and affiliate volume limits in the manner of 17 CFR 230.144.
/// A token calls `check` before every voluntary transfer of a partition that has the Rule 144 flag. It reports every
/// movement through the `on…` functions, so that lots (units with their time of acquisition) follow the balances. Only
/// the tokens served may call the `on…` functions, and these never move units.
///
/// Free units are used first, then lots, first in, first out. A transfer starts a new holding period. A recovery and a
/// forced transfer keep the time of acquisition. Lots acquired on one day (UTC) become one lot with the later time, so
/// nobody can fill a holder's ledger with dust. Units become free when the longest holding period is over, or when a
/// document frees them.
interface IRule144 is IAgentGated {
    /// @notice What the issuer's reporting means for the holding period.
    /// @param reportingSince Since when the issuer reports under the Exchange Act, in Unix seconds; zero if it does not.
    /// Lots are free after `HOLDING_REPORTING` once it has reported for `REPORTING_SEASONING`, else after
    /// `HOLDING_OTHER`.
    /// @param shell Whether the issuer is or was a shell company. Then nothing may be sold under the rule.
    struct IssuerStatus {
        uint40 reportingSince;
        bool shell;
    }

    /// @notice Units acquired together.
    /// @param units The units.
    /// @param acquiredAt When they were acquired, in Unix seconds.
    struct Lot {
        uint96 units;
        uint40 acquiredAt;
    }

    /// @notice The rule serves a partition from now on.
    /// @param token The security token.
    /// @param partition The partition.
    event PartitionServed(address indexed token, uint256 indexed partition);
    /// @notice The issuer's status was set.
    /// @param token The security token.
    /// @param reportingSince Since when the issuer reports, zero if it does not.
    /// @param shell Whether the issuer is or was a shell company.
    event IssuerStatusSet(address indexed token, uint40 reportingSince, bool shell);
    /// @notice A holder was marked as an affiliate of the issuer, or the mark was removed.
    /// @param token The security token.
    /// @param holder The holder.
    /// @param affiliate Whether the holder is an affiliate.
    event AffiliateSet(address indexed token, address indexed holder, bool affiliate);
    /// @notice Units were freed by a document: their holding period counts as over.
    /// @param token The security token.
    /// @param partition The partition.
    /// @param holder The holder.
    /// @param acquiredAt Time of acquisition of the lots that were freed.
    /// @param units Units that were freed.
    /// @param docHash Hash of the document.
    event LegendRemoved(
        address indexed token,
        uint256 indexed partition,
        address indexed holder,
        uint256 acquiredAt,
        uint256 units,
        bytes32 docHash
    );

    /// @notice The lots of a holder were brought to its balance by a document.
    /// @param token The security token.
    /// @param partition The partition.
    /// @param holder The holder.
    /// @param before Units in its lots before.
    /// @param balance Its balance, now also the units in its lots.
    /// @param acquiredAt Time of acquisition of the units that were added.
    /// @param docHash Hash of the document.
    event LotsReconciled(
        address indexed token,
        uint256 indexed partition,
        address indexed holder,
        uint256 before,
        uint256 balance,
        uint256 acquiredAt,
        bytes32 docHash
    );

    /// @notice An address argument is zero.
    error ZeroAddress();
    /// @notice The hash of the document is missing.
    error ZeroDocument();
    /// @notice The rule does not serve this partition.
    /// @param token The security token.
    /// @param partition The partition.
    error PartitionNotServed(address token, uint256 partition);
    /// @notice The rule serves this partition already.
    /// @param token The security token.
    /// @param partition The partition.
    error PartitionAlreadyServed(address token, uint256 partition);
    /// @notice The lots hold fewer units than are moved.
    /// @param token The security token.
    /// @param partition The partition.
    /// @param holder The holder.
    /// @param units Units moved.
    /// @param inLots Units in the holder's lots.
    error LotsMissing(address token, uint256 partition, address holder, uint256 units, uint256 inLots);
    /// @notice The holder has no lot of this time.
    /// @param token The security token.
    /// @param partition The partition.
    /// @param holder The holder.
    /// @param acquiredAt The time given.
    error UnknownLot(address token, uint256 partition, address holder, uint256 acquiredAt);
    /// @notice The time is in the future.
    /// @param time The time given, in Unix seconds.
    error InFuture(uint256 time);

    /// @notice Starts to serve a partition. Units that exist already cannot move until `reconcile` gives them a time.
    /// Role: compliance.
    /// @param token The security token.
    /// @param partition The partition.
    function servePartition(address token, uint256 partition) external;

    /// @notice Sets the issuer's reporting status. Role: compliance.
    /// @param token The security token.
    /// @param status The status.
    function setIssuerStatus(address token, IssuerStatus calldata status) external;

    /// @notice Marks a holder as an affiliate of the issuer, or removes the mark. Role: compliance.
    /// @param token The security token.
    /// @param holder The holder.
    /// @param affiliate Whether the holder is an affiliate.
    function setAffiliate(address token, address holder, bool affiliate) external;

    /// @notice Frees all lots of one time by a document. Role: compliance.
    /// @param token The security token.
    /// @param partition The partition.
    /// @param holder The holder.
    /// @param acquiredAt The time of the lots, exactly as `lotsOf` returns it.
    /// @param docHash Hash of the document.
    function removeLegend(address token, uint256 partition, address holder, uint256 acquiredAt, bytes32 docHash)
        external;

    /// @notice Brings the lots of a holder to its balance. Missing units become a lot; excess units are removed in the
    /// order of use. This is for units that moved while the token used no module or another one. Role: compliance.
    /// @param token The security token.
    /// @param partition The partition.
    /// @param holder The holder.
    /// @param acquiredAt Time of acquisition of missing units, in Unix seconds; 0 makes them free.
    /// @param docHash Hash of the document.
    function reconcile(address token, uint256 partition, address holder, uint256 acquiredAt, bytes32 docHash) external;

    /// @notice Returns whether the calling token may make a transfer now. Does not revert.
    /// @param from The sender.
    /// @param to The receiver.
    /// @param partition The partition.
    /// @param units The units.
    /// @return allowed True if the units are free and within the affiliate's volume limit.
    /// @return reason Zero if allowed, else `rule144_not_served`, `rule144_shell`, `rule144_holding` or `rule144_volume`.
    function check(address from, address to, uint256 partition, uint256 units)
        external
        view
        returns (bool allowed, bytes32 reason);

    /// @notice Reports a mint on the calling token.
    /// @param to The holder.
    /// @param partition The partition.
    /// @param units The units.
    function onMint(address to, uint256 partition, uint256 units) external;

    /// @notice Reports a voluntary transfer on the calling token, which `check` allowed before.
    /// @param from The sender.
    /// @param to The receiver.
    /// @param partition The partition.
    /// @param units The units.
    function onTransfer(address from, address to, uint256 partition, uint256 units) external;

    /// @notice Reports a forced transfer on the calling token. The units keep their time of acquisition.
    /// @param from The sender.
    /// @param to The receiver.
    /// @param partition The partition.
    /// @param units The units.
    function onForcedTransfer(address from, address to, uint256 partition, uint256 units) external;

    /// @notice Reports a recovery on the calling token. Lots, sales and the affiliate mark move to the new wallet.
    /// @dev If the new wallet has lots, the lost ones are added one by one with their times, for about 10,000 gas each.
    /// @param lost The lost wallet.
    /// @param successor The wallet that replaces it.
    /// @param partition The partition.
    function onRecovery(address lost, address successor, uint256 partition) external;

    /// @notice Reports units of the calling token that were burnt. They leave the lots in the order of use.
    /// @param from The holder.
    /// @param partition The partition.
    /// @param units The units.
    function onRedemption(address from, uint256 partition, uint256 units) external;

    /// @notice Returns when units of a holder will have served their holding period, by the issuer's present status.
    /// @param token The security token.
    /// @param holder The holder.
    /// @param partition The partition.
    /// @param units The units.
    /// @return The time in Unix seconds, which may be in the past. 0 for free units. `type(uint256).max` for a shell, or
    /// for more units than the holder's lots contain.
    function earliestTransferTime(address token, address holder, uint256 partition, uint256 units)
        external
        view
        returns (uint256);

    /// @notice Returns the units that an affiliate may still sell now: 1 % of the partition's supply per 90 days and
    /// wallet, less its sales in that time.
    /// @param token The security token.
    /// @param holder The holder.
    /// @param partition The partition.
    /// @return The units; `type(uint256).max` for a holder that is no affiliate.
    function volumeLeft(address token, address holder, uint256 partition) external view returns (uint256);

    /// @notice Returns the free units and the lots of a holder.
    /// @param token The security token.
    /// @param holder The holder.
    /// @param partition The partition.
    /// @return free Units without a holding period.
    /// @return lots The lots in the order of their use. A freed lot may still be listed, with 0 units.
    function lotsOf(address token, address holder, uint256 partition)
        external
        view
        returns (uint256 free, Lot[] memory lots);

    /// @notice Returns whether the rule serves a partition.
    /// @param token The security token.
    /// @param partition The partition.
    /// @return True if it does.
    function isServed(address token, uint256 partition) external view returns (bool);

    /// @notice Returns whether a holder is marked as an affiliate of the issuer.
    /// @param token The security token.
    /// @param holder The holder.
    /// @return True if it is.
    function isAffiliate(address token, address holder) external view returns (bool);

    /// @notice Returns the issuer's reporting status.
    /// @param token The security token.
    /// @return The status.
    function issuerStatus(address token) external view returns (IssuerStatus memory);
}
