// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title IPlatformSecurityTokenErrors
/// @notice The reasons for which a security token refuses a call.
interface IPlatformSecurityTokenErrors {
    /// @notice The token was initialised before, or it is the implementation itself.
    error AlreadyInitialized();
    /// @notice The symbol must have 1 to 31 bytes.
    /// @param length Its length in bytes.
    error SymbolLengthOutOfRange(uint256 length);
    /// @notice A token has 1 to 32 partitions.
    /// @param count The number requested.
    error PartitionCountOutOfRange(uint256 count);
    /// @notice The partition does not exist.
    /// @param partition The id given.
    error UnknownPartition(uint256 partition);
    /// @notice Partitions are added in order of their ids.
    /// @param expected The next id.
    /// @param given The id given.
    error PartitionOutOfOrder(uint256 expected, uint256 given);
    /// @notice An address argument is zero.
    error ZeroAddress();
    /// @notice The page has no lines.
    error EmptyPage();
    /// @notice A page for `frozenAmong` has at most 256 lines, because the answer is one word.
    /// @param length Its number of lines.
    error PageTooLong(uint256 length);
    /// @notice The amount to mint, lock, move or pay is zero.
    /// @param account The holder or payee.
    error ZeroAmount(address account);
    /// @notice The amount does not fit 96 bits.
    /// @param amount The amount.
    error AmountTooLarge(uint256 amount);
    /// @notice Two arrays differ in length.
    /// @param left The length of the first.
    /// @param right The length of the second.
    error LengthMismatch(uint256 left, uint256 right);
    /// @notice The cap is below the units already issued.
    /// @param partition The partition, or 0 for the whole token.
    /// @param cap The cap requested.
    /// @param supply Units issued.
    error CapBelowSupply(uint256 partition, uint256 cap, uint256 supply);
    /// @notice The mint exceeds a cap.
    /// @param partition The partition, or 0 for the whole token.
    /// @param cap The limit.
    /// @param supplyAfter Units that would be issued after the mint.
    error CapExceeded(uint256 partition, uint256 cap, uint256 supplyAfter);
    /// @notice A frozen address cannot be minted to, be paid or receive a forced transfer.
    /// @param holder The frozen address.
    error AddressIsFrozen(address holder);
    /// @notice A forced transfer takes units from a frozen address only.
    /// @param holder The address, which is not frozen.
    error AddressNotFrozen(address holder);
    /// @notice The account was recovered and stays frozen forever.
    /// @param account The lost wallet.
    /// @param successor The wallet that replaced it.
    error AddressRetired(address account, address successor);
    /// @notice The account was not recovered, so there is nothing to take back.
    /// @param account The account.
    error AddressNotRetired(address account);
    /// @notice The number of a recovery must be higher than that of the wallet's last one, and fit 80 bits.
    /// @param account The lost wallet.
    /// @param last The number of its last recovery.
    /// @param given The number given.
    error RecoveryOutOfOrder(address account, uint256 last, uint256 given);
    /// @notice The token is paused, so nothing can be minted.
    error TokenPaused();
    /// @notice The issuer does not allow holders to redeem.
    error RedemptionNotAllowed();
    /// @notice The lock with this release time does not exist, or holds fewer units.
    /// @param holder The holder.
    /// @param partition The partition.
    /// @param releaseAt The release time, in Unix seconds.
    /// @param held Units that it has.
    error LockTooSmall(address holder, uint256 partition, uint256 releaseAt, uint256 held);
    /// @notice Money sent to the token itself would stay there for ever.
    error PayeeIsToken();
    /// @notice The holder is not on the whitelist of the partition.
    /// @param holder The holder.
    /// @param partition The partition.
    error HolderNotWhitelisted(address holder, uint256 partition);
    /// @notice The partition is not restricted, so no restriction can be removed.
    /// @param partition The partition.
    error NotRestricted(uint256 partition);
    /// @notice A rule refuses the transfer.
    /// @param from The sender.
    /// @param to The receiver.
    /// @param partition The partition.
    /// @param amount The units.
    /// @param reason The reason, as `canTransfer` returns it.
    error TransferRefused(address from, address to, uint256 partition, uint256 amount, bytes32 reason);
    /// @notice The holder has fewer units than requested.
    /// @param holder The holder.
    /// @param partition The partition.
    /// @param balance Units of the holder.
    /// @param needed Units requested.
    error BalanceTooLow(address holder, uint256 partition, uint256 balance, uint256 needed);
    /// @notice All locks together would exceed the balance.
    /// @param holder The holder.
    /// @param partition The partition.
    /// @param balance Units of the holder.
    /// @param locked Units that would be locked.
    error LockExceedsBalance(address holder, uint256 partition, uint256 balance, uint256 locked);
    /// @notice The release time is not in the future, or more than 20 years ahead. A new one must also be earlier than the
    /// one that it replaces.
    /// @param releaseAt The release time, in Unix seconds.
    error ReleaseTimeOutOfRange(uint256 releaseAt);
    /// @notice A holder has at most 16 release times per partition.
    /// @param holder The holder.
    /// @param partition The partition.
    error TooManyLocks(address holder, uint256 partition);
    /// @notice No lock of the holder is due.
    /// @param holder The holder.
    /// @param partition The partition.
    error NothingToUnlock(address holder, uint256 partition);
    /// @notice The data of a forced transfer must be empty or have at least 32 bytes.
    /// @param length Its length in bytes.
    error MalformedData(uint256 length);
    /// @notice A wallet cannot be recovered to itself.
    /// @param wallet The wallet.
    error RecoveryToItself(address wallet);
    /// @notice The partition needs a Rule 144 module and none is set.
    /// @param partition The partition.
    error Rule144Unset(uint256 partition);
    /// @notice An asset or a module has no code.
    /// @param account The address given.
    error NotAContract(address account);
    /// @notice A payee received another amount than was sent: the asset takes a fee, or it rebases.
    /// @param payee The payee.
    /// @param expected The amount sent.
    /// @param received The amount received.
    error ReceivedDiffers(address payee, uint256 expected, uint256 received);
    /// @notice No payout asset is set for the ERC forms of `payout`.
    error PayoutAssetUnset();
}
