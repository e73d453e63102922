// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAgentGated} from "./IAgentGated.sol";
import {IERC7518} from "./IERC7518.sol";
import {IERC7943MultiToken} from "./IERC7943MultiToken.sol";
import {IOperations} from "./IOperations.sol";
import {IPlatformSecurityTokenErrors} from "./IPlatformSecurityTokenErrors.sol";
import {IERC1155} from "@openzeppelin/contracts/token/ERC1155/IERC1155.sol";

/// @title IPlatformSecurityToken7518
/// @notice The security token of one offering: ERC-1155 with the rules of ERC-7518 and the interface of ERC-7943.
/// A partition is an ERC-1155 id; ids are 1..n without gaps, n ≤ 32.
/// @dev A page line is a `bytes32`: the holder's address in the high 20 bytes and the units in the low 12 (`uint96`), as
/// `abi.encodePacked(address, uint96)`. A page is all or nothing.
///
/// Kinds of operations (see `IOperations`): `mint_page` mintPage, `mint` batchMint, `lock_page` batchLockTokens, `lock`
/// lockTokens with opId, `force_transfer` forceTransfer with opId in data, `recovery` recoveryAddress, `payout` payout
/// with opId, `payout_page` batchPayout with opId, `redeem` redeem, `release_lock` releaseLock, `reinstate`
/// reinstateAddress.
///
/// Units and caps are at most `type(uint96).max`. Voluntary transfers call the receiver's ERC-1155 hook. Mint, forced
/// transfer and recovery do not, because one receiver must not block a page or a recovery.
interface IPlatformSecurityToken7518 is
    IERC1155,
    IERC7518,
    IERC7943MultiToken,
    IOperations,
    IAgentGated,
    IPlatformSecurityTokenErrors
{
    /// @notice The terms of a new partition.
    /// @param cap Limit of the partition's units.
    /// @param restricted Whether voluntary transfers are stopped from the start.
    /// @param rule144 Whether transfers ask the Rule 144 module. This never changes.
    struct PartitionTerms {
        uint256 cap;
        bool restricted;
        bool rule144;
    }

    /// @notice A partition as it is now.
    /// @param supply Units issued.
    /// @param cap Limit of the partition's units.
    /// @param restricted Whether voluntary transfers are stopped.
    /// @param rule144 Whether transfers ask the Rule 144 module.
    struct Partition {
        uint256 supply;
        uint256 cap;
        bool restricted;
        bool rule144;
    }

    /// @notice Units that are locked until one time.
    /// @param units The units.
    /// @param releaseAt When they become free, in Unix seconds.
    struct Tranche {
        uint256 units;
        uint256 releaseAt;
    }

    /// @notice The token was initialised.
    /// @param offeringId keccak256 of the platform's text id of the offering.
    /// @param symbol The token's symbol.
    /// @param totalCap Limit of units over all partitions.
    /// @param partitions The number of partitions.
    event TokenInitialized(bytes32 indexed offeringId, string symbol, uint256 totalCap, uint256 partitions);
    /// @notice A partition was added.
    /// @param partition Its id.
    /// @param cap Limit of its units.
    /// @param restricted Whether voluntary transfers are stopped.
    /// @param rule144 Whether transfers ask the Rule 144 module.
    event PartitionAdded(uint256 indexed partition, uint256 cap, bool restricted, bool rule144);
    /// @notice A cap was set.
    /// @param partition The partition, or 0 for the whole token.
    /// @param cap The new limit of units.
    event CapChanged(uint256 indexed partition, uint256 cap);
    /// @notice `batchWhitelist` put a holder on the whitelist of a partition or took it off. Emitted even if nothing
    /// changed. `mintPage` lists its holders without this event: each `TransferSingle` from zero implies it.
    /// @param holder The holder.
    /// @param partition The partition.
    /// @param allowed Whether the holder may receive units.
    event HolderWhitelisted(address indexed holder, uint256 indexed partition, bool allowed);
    /// @notice A forced transfer or a redemption cut the latest locks of a holder.
    /// @param holder The holder.
    /// @param partition The partition.
    /// @param units Locked units that were taken.
    event LocksCut(address indexed holder, uint256 indexed partition, uint256 units);
    /// @notice Balances, locks, whitelist entries and freeze moved from a lost wallet to another wallet. The lost wallet
    /// stays frozen forever.
    /// @dev `TokensLocked`, `HolderWhitelisted` and `AddressFrozen(lost)` are not emitted for what moved.
    /// @param lost The lost wallet.
    /// @param replacement The wallet that replaces it.
    event AddressRecovered(address indexed lost, address indexed replacement);
    /// @notice The retirement of a wallet was taken back. It is still frozen, and what was moved stays where it is.
    /// @param account The wallet.
    /// @param formerSuccessor The wallet that had replaced it.
    event AddressReinstated(address indexed account, address indexed formerSuccessor);
    /// @notice Units of a lock were freed, or become free earlier.
    /// @param account The holder.
    /// @param partition The partition.
    /// @param units The units.
    /// @param releaseAt When they would have become free, in Unix seconds.
    /// @param newReleaseAt When they become free now; not later than the block if they are free.
    event LockReleased(
        address indexed account, uint256 indexed partition, uint256 units, uint256 releaseAt, uint256 newReleaseAt
    );
    /// @notice The token is paused. Emitted even if it was paused before.
    /// @param agent The agent that paused it.
    event Paused(address indexed agent);
    /// @notice The token is not paused. Emitted even if it was not paused before.
    /// @param agent The agent that ended the pause.
    event Unpaused(address indexed agent);
    /// @notice The issuer allowed holders to redeem, or ended it.
    /// @param allowed Whether holders may redeem.
    event HolderRedemptionChanged(bool allowed);
    /// @notice The Rule 144 module was set.
    /// @param module The module, or zero.
    event Rule144Changed(address indexed module);
    /// @notice The asset of the ERC forms of `payout` and `batchPayout` was set.
    /// @param asset The asset, or zero.
    event PayoutAssetChanged(address indexed asset);

    /// @notice Sets up a new token. The factory calls this once, in the transaction that makes the clone.
    /// @param symbol 1 to 31 bytes.
    /// @param cap Limit of units over all partitions.
    /// @param partitions 1 to 32 partitions; the n-th one becomes partition id n, counted from 1.
    function initialize(string calldata symbol, uint256 cap, PartitionTerms[] calldata partitions) external;

    // --- Issuing -------------------------------------------------------------------------------------------------

    /// @notice Puts holders on the whitelist of a partition or takes them off. Idempotent. Roles: issuer, compliance.
    /// @param partition The partition.
    /// @param holders The holders.
    /// @param allowed Whether they may receive units.
    function batchWhitelist(uint256 partition, address[] calldata holders, bool allowed) external;

    /// @notice Whitelists, mints and, if `releaseAt` is not 0, locks a page of holders. Kind `mint_page`. Role: issuer.
    /// @dev A holder may be on several lines. Each line emits `TransferSingle` from zero.
    /// @param opId The operation number.
    /// @param partition The partition.
    /// @param releaseAt When the units become free, in Unix seconds; 0 for no lock.
    /// @param lines The page.
    function mintPage(uint256 opId, uint256 partition, uint256 releaseAt, bytes32[] calldata lines) external;

    /// @notice Mints to a page of holders that are on the whitelist already. Kind `mint`. Role: issuer.
    /// @param opId The operation number.
    /// @param partition The partition.
    /// @param lines The page.
    function batchMint(uint256 opId, uint256 partition, bytes32[] calldata lines) external;

    /// @notice Locks units of a page of holders. Kind `lock_page`. Roles: issuer, compliance.
    /// @param opId The operation number.
    /// @param partition The partition.
    /// @param releaseAt When the units become free, in Unix seconds.
    /// @param lines The page.
    function batchLockTokens(uint256 opId, uint256 partition, uint256 releaseAt, bytes32[] calldata lines) external;

    /// @notice Locks units of a holder, with an operation number. Kind `lock`. Roles: issuer, compliance.
    /// @param opId The operation number.
    /// @param account The holder.
    /// @param partition The partition.
    /// @param amount The units to lock.
    /// @param releaseAt When they become free, in Unix seconds.
    /// @return Always true.
    function lockTokens(uint256 opId, address account, uint256 partition, uint256 amount, uint256 releaseAt)
        external
        returns (bool);

    /// @notice Adds the next partition. Role: issuer.
    /// @param partition Must be `partitionCount() + 1`, so that a repeated call is refused.
    /// @param terms The terms of the partition.
    function addPartition(uint256 partition, PartitionTerms calldata terms) external;

    /// @notice Sets the cap of a partition or of the whole token. Idempotent. Role: issuer.
    /// @param partition The partition, or 0 for the whole token.
    /// @param cap The limit of units; not below the units already issued.
    function setCap(uint256 partition, uint256 cap) external;

    // --- Custody -------------------------------------------------------------------------------------------------

    /// @notice Moves everything from a lost wallet to another one and retires the lost one. Kind `recovery`.
    /// Role: custody.
    /// @dev Moves balances, every lock with its release time, frozen units, whitelist entries and freeze, so a recovery
    /// never ends a freeze or a lock. What the new wallet has is added to. Reverts `TooManyLocks` if it would have more
    /// than 16 release times in a partition. Emits `AddressRecovered` and one `TransferSingle` per partition that holds
    /// units.
    /// @param lost The lost wallet.
    /// @param replacement The new wallet.
    /// @param opId The operation number, at most 80 bits; stored with the lost wallet, see `lastRecoveryOf`.
    function recoveryAddress(address lost, address replacement, uint256 opId) external;

    /// @notice Takes the retirement of a wallet back, for a recovery that named the wrong one. Kind `reinstate`.
    /// Role: custody.
    /// @dev What was moved stays with the successor; a forced transfer or another recovery brings it back. The wallet
    /// stays frozen until compliance ends the freeze.
    /// @param account The wallet that was recovered.
    /// @param opId The operation number.
    function reinstateAddress(address account, uint256 opId) external;

    /// @notice Burns units of a holder: a redemption, a buy-back or a mint by mistake. Kind `redeem`.
    /// Roles: compliance, custody.
    /// @dev Ignores freeze, restriction, pause and locks: unlocked units go first, then the latest locks are cut. Lowers
    /// the supplies, so that the caps have room again. Emits `TransferSingle` to zero.
    /// @param opId The operation number.
    /// @param holder The holder.
    /// @param partition The partition.
    /// @param amount The units.
    function redeem(uint256 opId, address holder, uint256 partition, uint256 amount) external;

    /// @notice Frees units of a lock, or brings their release time forward. Kind `release_lock`. Role: compliance.
    /// @param opId The operation number.
    /// @param account The holder.
    /// @param partition The partition.
    /// @param amount The units.
    /// @param releaseAt The release time of the lock, exactly as `tranchesOf` returns it.
    /// @param newReleaseAt When the units become free instead, in Unix seconds: earlier than `releaseAt`; 0 for now.
    function releaseLock(
        uint256 opId,
        address account,
        uint256 partition,
        uint256 amount,
        uint256 releaseAt,
        uint256 newReleaseAt
    ) external;

    /// @notice Stops voluntary transfers, redemptions by holders and mints of the whole token. Idempotent.
    /// Roles: compliance, custody.
    /// @dev Forced transfers, recoveries, redemptions by an agent and payouts go on.
    function pause() external;

    /// @notice Ends the pause. Idempotent. Role: compliance.
    function unpause() external;

    // --- Holders -------------------------------------------------------------------------------------------------

    /// @notice Burns units of the caller, if the issuer allows holders to redeem.
    /// @dev The rules of a voluntary transfer apply, but for whitelist and Rule 144. The money is paid elsewhere.
    /// @param partition The partition.
    /// @param amount The units.
    function redeemOwn(uint256 partition, uint256 amount) external;

    // --- Payouts -------------------------------------------------------------------------------------------------

    /// @notice Pays one payee, from the caller. Kind `payout`. Role: payout.
    /// @dev Calls `transferFrom`; the caller approves this token for the asset before.
    /// @param opId The operation number.
    /// @param asset The ERC-20 to pay in.
    /// @param to The payee.
    /// @param amount Units of the asset.
    /// @return Always true.
    function payout(uint256 opId, address asset, address to, uint256 amount) external returns (bool);

    /// @notice Pays a page of payees, from the caller; all or nothing. Kind `payout_page`. Role: payout.
    /// @dev Only the first line is checked to arrive whole, which finds an asset that takes a fee from everybody. The
    /// proof of a payment is the asset's `Transfer`; `PayoutDelivered` would only repeat it, for 1,900 gas a payee.
    /// @param opId The operation number.
    /// @param asset The ERC-20 to pay in.
    /// @param lines The page.
    /// @return Always true.
    function batchPayout(uint256 opId, address asset, bytes32[] calldata lines) external returns (bool);

    // --- Settings ------------------------------------------------------------------------------------------------

    /// @notice Sets the module that partitions with the Rule 144 flag ask. Role: compliance.
    /// @dev The address must have code. With a contract that is no module, transfers and `canTransfer` of flagged
    /// partitions revert.
    /// @param module The module; zero stops voluntary transfers and mints of flagged partitions.
    function setRule144(address module) external;

    /// @notice Sets the asset of the ERC forms of `payout`. Role: issuer.
    /// @param asset The asset; zero switches these forms off.
    function setPayoutAsset(address asset) external;

    /// @notice Sets whether holders may redeem by themselves. They may not at first. Idempotent. Role: issuer.
    /// @param allowed Whether they may.
    function setHolderRedemption(bool allowed) external;

    // --- Reads ---------------------------------------------------------------------------------------------------

    /// @notice Returns the id of the offering.
    /// @return keccak256 of the platform's text id.
    function offeringId() external view returns (bytes32);

    /// @notice Returns the token's symbol.
    /// @return The symbol.
    function tokenSymbol() external view returns (string memory);

    /// @notice Returns the units issued over all partitions.
    /// @return The units.
    function totalSupply() external view returns (uint256);

    /// @notice Returns the units issued of a partition.
    /// @param partition The partition.
    /// @return The units, 0 for an unknown partition.
    function totalSupply(uint256 partition) external view returns (uint256);

    /// @notice Returns the limit of units over all partitions.
    /// @return The limit.
    function totalCap() external view returns (uint256);

    /// @notice Returns the number of partitions; their ids are 1..count.
    /// @return The number.
    function partitionCount() external view returns (uint256);

    /// @notice Returns a partition. Reverts `UnknownPartition` if it does not exist.
    /// @param partition The partition.
    /// @return Its supply, cap and flags.
    function partitionOf(uint256 partition) external view returns (Partition memory);

    /// @notice Returns whether voluntary transfers of a partition are stopped.
    /// @param partition The partition.
    /// @return True if they are.
    function isRestricted(uint256 partition) external view returns (bool);

    /// @notice Returns whether an address is frozen.
    /// @param holder The address.
    /// @return True if it is.
    function isFrozen(address holder) external view returns (bool);

    /// @notice Returns which accounts of a page are frozen.
    /// @param lines The page, at most 256 lines.
    /// @return bits Bit i is set if the account of `lines[i]` is frozen.
    function frozenAmong(bytes32[] calldata lines) external view returns (uint256 bits);

    /// @notice Returns the wallet that a lost wallet was recovered to.
    /// @dev Wallets form chains (A to B, later B to C) but never cycles.
    /// @param lost The lost wallet.
    /// @return Its replacement, zero if it was not recovered.
    function successorOf(address lost) external view returns (address);

    /// @notice Returns the operation number of the last recovery of a wallet. It stays when the wallet is reinstated.
    /// @param lost The lost wallet.
    /// @return The number, 0 if it was never recovered.
    function lastRecoveryOf(address lost) external view returns (uint256);

    /// @notice Returns whether the token is paused.
    /// @return True if it is.
    function paused() external view returns (bool);

    /// @notice Returns whether holders may redeem by themselves.
    /// @return True if they may.
    function holderRedemption() external view returns (bool);

    /// @notice Returns whether a holder is on the whitelist of a partition.
    /// @param holder The holder.
    /// @param partition The partition.
    /// @return True if the holder may receive units.
    function isWhitelisted(address holder, uint256 partition) external view returns (bool);

    /// @notice Returns the stored locks of a holder, earliest first. Due ones may be among them.
    /// @param holder The holder.
    /// @param partition The partition.
    /// @return The locks, one per release time.
    function tranchesOf(address holder, uint256 partition) external view returns (Tranche[] memory);

    /// @notice Returns the Rule 144 module.
    /// @return The module, zero if none is set.
    function rule144() external view returns (address);

    /// @notice Returns the asset of the ERC forms of `payout`.
    /// @return The asset, zero if none is set.
    function payoutAsset() external view returns (address);
}
