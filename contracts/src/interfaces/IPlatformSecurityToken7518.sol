// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAgentGated} from "./IAgentGated.sol";
import {IERC7518} from "./IERC7518.sol";
import {IERC7943MultiToken} from "./IERC7943MultiToken.sol";
import {IOperations} from "./IOperations.sol";
import {IERC1155} from "@openzeppelin/contracts/token/ERC1155/IERC1155.sol";

/// @title The security token of one offering
/// @notice ERC-1155 with ERC-7518 rules and an ERC-7943 face. A partition is an ERC-1155 id; ids are dense, 1..n, n ≤ 32.
/// @dev A PAGE LINE is a `bytes32`: the holder's address in the high 20 bytes, the units in the low 12 (`uint96`), as
/// `abi.encodePacked(address, uint96)`. A page is all or nothing.
///
/// OPERATION KINDS (see `IOperations` for ids and the payload hash): `mint_page` mintPage, `mint` batchMint, `lock_page`
/// batchLockTokens, `lock` lockTokens with opId, `force_transfer` forceTransfer with opId in data, `recovery`
/// recoveryAddress, `payout` payout with opId, `payout_page` batchPayout with opId.
///
/// Amounts and caps are at most `type(uint96).max`. Mint, forced transfer and recovery do not call the receiver's
/// ERC-1155 hook (an agent put the holder on the list; one receiver must not block a page or a recovery); voluntary
/// transfers do.
interface IPlatformSecurityToken7518 is IERC1155, IERC7518, IERC7943MultiToken, IOperations, IAgentGated {
    /// @notice What a partition starts with.
    /// @param cap most units of the partition.
    /// @param restricted whether voluntary transfers are stopped from the start.
    /// @param rule144 whether transfers ask the Rule 144 module; fixed for the partition's life.
    struct PartitionTerms {
        uint256 cap;
        bool restricted;
        bool rule144;
    }

    /// @notice What a partition is now.
    struct Partition {
        uint256 supply;
        uint256 cap;
        bool restricted;
        bool rule144;
    }

    /// @notice Units that are locked until `releaseAt` (seconds; `type(uint40).max` is a freeze without end).
    struct Tranche {
        uint256 units;
        uint256 releaseAt;
    }

    /// @notice The token came to life.
    event TokenInitialized(bytes32 indexed offeringId, string symbol, uint256 totalCap, uint256 partitions);
    /// @notice Partition `partition` exists.
    event PartitionAdded(uint256 indexed partition, uint256 cap, bool restricted, bool rule144);
    /// @notice The cap of `partition`, or of the whole token when `partition` is 0, is now `cap`.
    event CapChanged(uint256 indexed partition, uint256 cap);
    /// @notice Whether `holder` may receive units of `partition`. `batchWhitelist` emits it for a no-op too.
    event HolderWhitelisted(address indexed holder, uint256 indexed partition, bool allowed);
    /// @notice A forced transfer took `units` off the latest locks of `holder` in `partition`.
    event LocksCut(address indexed holder, uint256 indexed partition, uint256 units);
    /// @notice Everything of `lost` (balances, locks, whitelist, freeze) is now of `replacement`; `lost` is retired.
    event AddressRecovered(address indexed lost, address indexed replacement);
    /// @notice The Rule 144 module of the token.
    event Rule144Changed(address indexed module);
    /// @notice The asset that the ERC forms of `payout` and `batchPayout` pay in.
    event PayoutAssetChanged(address indexed asset);

    /// @notice A second initialisation, or one of the implementation itself.
    error AlreadyInitialized();
    /// @notice The symbol must have 1 to 31 bytes.
    error SymbolLengthOutOfRange(uint256 length);
    /// @notice A token has 1 to 32 partitions.
    error PartitionCountOutOfRange(uint256 count);
    /// @notice `partition` is not one of 1..n.
    error UnknownPartition(uint256 partition);
    /// @notice Partitions are added in order: `expected` is next.
    error PartitionOutOfOrder(uint256 expected, uint256 given);
    /// @notice An address argument is zero.
    error ZeroAddress();
    /// @notice A page without lines.
    error EmptyPage();
    /// @notice `frozenAmong` answers one word, so a page of it has at most 256 lines.
    error PageTooLong(uint256 length);
    /// @notice A line or call with zero units to mint, lock or pay.
    error ZeroAmount(address account);
    /// @notice `amount` does not fit 96 bits.
    error AmountTooLarge(uint256 amount);
    /// @notice Two arrays of one call differ in length.
    error LengthMismatch(uint256 left, uint256 right);
    /// @notice A cap below what is already issued.
    error CapBelowSupply(uint256 partition, uint256 cap, uint256 supply);
    /// @notice A mint above the cap of the partition, or of the token when `partition` is 0.
    error CapExceeded(uint256 partition, uint256 cap, uint256 supplyAfter);
    /// @notice `holder` is frozen and can neither be minted to nor paid nor receive a forced transfer.
    error AddressIsFrozen(address holder);
    /// @notice A forced transfer from an address that is not frozen.
    error AddressNotFrozen(address holder);
    /// @notice `account` was recovered to `successor`; it stays frozen for ever.
    error AddressRetired(address account, address successor);
    /// @notice `holder` is not on the list of `partition`.
    error HolderNotWhitelisted(address holder, uint256 partition);
    /// @notice `removeRestriction` of a partition that is not restricted.
    error NotRestricted(uint256 partition);
    /// @notice The rules refuse the transfer; `reason` as in `canTransfer`.
    error TransferRefused(address from, address to, uint256 partition, uint256 amount, bytes32 reason);
    /// @notice More was asked for than `holder` has.
    error BalanceTooLow(address holder, uint256 partition, uint256 balance, uint256 needed);
    /// @notice All locks together would exceed the balance.
    error LockExceedsBalance(address holder, uint256 partition, uint256 balance, uint256 locked);
    /// @notice A release time in the past, or one that does not fit below `type(uint40).max`.
    error ReleaseTimeOutOfRange(uint256 releaseAt);
    /// @notice A holder has at most 16 release times per partition (one in the word, 15 beside it).
    error TooManyLocks(address holder, uint256 partition);
    /// @notice `unlockToken` when no lock is due.
    error NothingToUnlock(address holder, uint256 partition);
    /// @notice The data of a forced transfer is neither empty nor starts with a whole word.
    error MalformedData(uint256 length);
    /// @notice The new wallet of a recovery already holds units of `partition`.
    error WalletNotEmpty(address wallet, uint256 partition, uint256 balance);
    /// @notice A wallet cannot be recovered to itself.
    error RecoveryToItself(address wallet);
    /// @notice A partition asks for the Rule 144 module and none is set.
    error Rule144Unset(uint256 partition);
    /// @notice `asset` has no code, so nothing can be paid in it.
    error NotAContract(address asset);
    /// @notice A payee got another amount than was sent: the asset takes a fee, or rebases.
    error ReceivedDiffers(address payee, uint256 expected, uint256 received);
    /// @notice `payout` in the ERC form without a payout asset.
    error PayoutAssetUnset();

    /// @notice Called once by the factory in the transaction that makes the clone.
    function initialize(string calldata symbol, uint256 cap, PartitionTerms[] calldata partitions) external;

    // --- Issuing -------------------------------------------------------------------------------------------------

    /// @notice Puts holders on the list of `partition` or takes them off. Idempotent. Roles: issuer, compliance.
    function batchWhitelist(uint256 partition, address[] calldata holders, bool allowed) external;

    /// @notice Whitelists, mints and (when `releaseAt` is not 0) locks a page of holders. Kind `mint_page`. Role: issuer.
    /// @dev A holder may stand on several lines. Each line emits `TransferSingle` from zero.
    function mintPage(uint256 opId, uint256 partition, uint256 releaseAt, bytes32[] calldata lines) external;

    /// @notice Mints to holders that are on the list already. Kind `mint`. Role: issuer.
    function batchMint(uint256 opId, uint256 partition, bytes32[] calldata lines) external;

    /// @notice Locks units that the holders have. Kind `lock_page`. Roles: issuer, compliance.
    function batchLockTokens(uint256 opId, uint256 partition, uint256 releaseAt, bytes32[] calldata lines) external;

    /// @notice `lockTokens` with an operation id. Kind `lock`. Roles: issuer, compliance.
    function lockTokens(uint256 opId, address account, uint256 partition, uint256 amount, uint256 releaseAt)
        external
        returns (bool);

    /// @notice Adds the next partition. Role: issuer.
    /// @param partition must be `partitionCount() + 1`, so that a repetition is refused.
    function addPartition(uint256 partition, PartitionTerms calldata terms) external;

    /// @notice Sets the cap of `partition`, or of the whole token when `partition` is 0. Idempotent. Role: issuer.
    function setCap(uint256 partition, uint256 cap) external;

    // --- Custody -------------------------------------------------------------------------------------------------

    /// @notice Moves everything of `lost` to `replacement` and retires `lost`. Kind `recovery`. Role: custody.
    /// @dev Emits `AddressRecovered`, which implies that `lost` is frozen for ever, and one `TransferSingle` per partition.
    /// Moves balances, every lock with its release time, whitelist and freeze; `replacement` must hold nothing.
    /// If `lost` was frozen, `replacement` is frozen after it: a recovery never launders a freeze or a lock.
    function recoveryAddress(address lost, address replacement, uint256 opId) external;

    // --- Payouts -------------------------------------------------------------------------------------------------

    /// @notice Pays `amount` of `asset` from the caller to `to`. Kind `payout`. Role: payout.
    /// @dev Pulled from the caller by `transferFrom`; the caller approves this token before. The token never holds money.
    function payout(uint256 opId, address asset, address to, uint256 amount) external returns (bool);

    /// @notice Pays a page of lines in `asset` from the caller; all or nothing. Kind `payout_page`. Role: payout.
    /// @dev The first line is checked to arrive whole, which finds an asset that takes a fee from everybody.
    /// Evidence is one `Transfer` of the asset per line; `PayoutDelivered`, which would only repeat it for 1,900 gas
    /// a payee, is left to the other three forms.
    function batchPayout(uint256 opId, address asset, bytes32[] calldata lines) external returns (bool);

    // --- Settings ------------------------------------------------------------------------------------------------

    /// @notice Names the module that partitions with the Rule 144 flag ask. Role: compliance.
    function setRule144(address module) external;

    /// @notice Names the asset of the ERC forms of `payout`; zero switches them off. Role: issuer.
    function setPayoutAsset(address asset) external;

    // --- Reads ---------------------------------------------------------------------------------------------------

    /// @notice keccak256 of the platform's text id of the offering.
    function offeringId() external view returns (bytes32);

    /// @notice The token's symbol.
    function tokenSymbol() external view returns (string memory);

    /// @notice Units issued over all partitions.
    function totalSupply() external view returns (uint256);

    /// @notice Units issued of `partition`.
    function totalSupply(uint256 partition) external view returns (uint256);

    /// @notice The most units over all partitions.
    function totalCap() external view returns (uint256);

    /// @notice How many partitions there are; their ids are 1..count.
    function partitionCount() external view returns (uint256);

    /// @notice Supply, cap and flags of `partition`; reverts `UnknownPartition`.
    function partitionOf(uint256 partition) external view returns (Partition memory);

    /// @notice Whether voluntary transfers of `partition` are stopped.
    function isRestricted(uint256 partition) external view returns (bool);

    /// @notice Whether `holder` is frozen.
    function isFrozen(address holder) external view returns (bool);

    /// @notice Which accounts of a page are frozen: bit i is set if the account of `lines[i]` is. At most 256 lines.
    function frozenAmong(bytes32[] calldata lines) external view returns (uint256 bits);

    /// @notice The wallet that `lost` was recovered to, or zero. Chains are possible (A to B, later B to C), cycles not.
    function successorOf(address lost) external view returns (address);

    /// @notice Whether `holder` may receive units of `partition`.
    function isWhitelisted(address holder, uint256 partition) external view returns (bool);

    /// @notice The locks of `holder` in `partition` that are on the books, earliest first; due ones may be among them.
    function tranchesOf(address holder, uint256 partition) external view returns (Tranche[] memory);

    /// @notice The Rule 144 module, or zero.
    function rule144() external view returns (address);

    /// @notice The asset of the ERC forms of `payout`, or zero.
    function payoutAsset() external view returns (address);
}
