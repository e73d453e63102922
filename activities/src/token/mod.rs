//! The security token of an offering: calls and reads.
pub mod event;
pub mod factory;
pub mod force_transfer;
pub mod freeze;
pub mod lock;
pub mod mint;
pub mod pause;
pub mod recover;
pub mod redeem;
pub mod reinstate;
pub mod release_lock;
pub mod restrict;
pub mod unfreeze;
pub mod unlock;
pub mod unpause;
pub mod unrestrict;
pub mod view;

use alloy::{
    primitives::{Address, B256, Bytes, U256},
    sol_types::SolCall,
};

use crate::{
    chain::{
        Chain,
        simulate::{At, Call},
    },
    contract::{
        bindings::token::PlatformSecurityToken7518 as Token,
        line::{Line, words},
        operation::view,
    },
    fault::Fault,
};

pub use crate::token::mint::mint_page;

/// One answer word of `frozenAmong` covers this number of lines.
const LINES_PER_ANSWER: usize = 256;

/// The state of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Units issued.
    pub supply: U256,
    /// The cap in units.
    pub cap: U256,
    /// Whether voluntary transfers are restricted.
    pub restricted: bool,
    /// Whether transfers consult the Rule 144 module.
    pub rule144: bool,
}

fn send(from: Address, token: Address, call: impl SolCall) -> Call {
    Call { from, to: Some(token), data: call.abi_encode().into() }
}

/// Locks units of a holder.
pub fn lock(from: Address, token: Address, op_id: u64, partition: u32, release_at: u64, line: Line) -> Call {
    let call = Token::lockTokens_0Call {
        opId: U256::from(op_id),
        account: line.holder(),
        partition: U256::from(partition),
        amount: U256::from(line.units()),
        releaseAt: U256::from(release_at),
    };
    send(from, token, call)
}

/// Removes expired locks of a holder.
pub fn unlock(from: Address, token: Address, account: Address, partition: u32) -> Call {
    send(from, token, Token::unlockTokenCall { account, id: U256::from(partition) })
}

/// Moves units of a frozen holder. The evidence is part of the payload hash.
pub fn force_transfer(
    from: Address,
    token: Address,
    op_id: u64,
    partition: u32,
    holder: Address,
    line: Line,
    evidence: &[u8],
    // The contract reads its operation number from the first word of the data.
) -> Call {
    let data = [U256::from(op_id).to_be_bytes::<32>().as_slice(), evidence].concat().into();
    let (id, amount) = (U256::from(partition), U256::from(line.units()));
    send(from, token, Token::forceTransferCall { from: holder, to: line.holder(), id, amount, data })
}

/// Freezes an address. The data is a reference of the agent.
pub fn freeze(from: Address, token: Address, account: Address, data: Bytes) -> Call {
    send(from, token, Token::freezeAddressCall { account, data })
}

/// Unfreezes an address.
pub fn unfreeze(from: Address, token: Address, account: Address, data: Bytes) -> Call {
    send(from, token, Token::unFreezeCall { account, data })
}

/// Restricts a partition: no voluntary transfers.
pub fn restrict(from: Address, token: Address, partition: u32) -> Call {
    send(from, token, Token::restrictTransferCall { id: U256::from(partition) })
}

/// Lifts the restriction of a partition.
pub fn unrestrict(from: Address, token: Address, partition: u32) -> Call {
    send(from, token, Token::removeRestrictionCall { id: U256::from(partition) })
}

/// Moves everything of a lost wallet to its replacement.
pub fn recover(from: Address, token: Address, lost: Address, replacement: Address, op_id: u64) -> Call {
    send(from, token, Token::recoveryAddressCall { lost, replacement, opId: U256::from(op_id) })
}

/// Takes the retirement of a recovered wallet back.
pub fn reinstate(from: Address, token: Address, account: Address, op_id: u64) -> Call {
    send(from, token, Token::reinstateAddressCall { account, opId: U256::from(op_id) })
}

/// Burns units of a holder.
pub fn redeem(from: Address, token: Address, op_id: u64, partition: u32, line: Line) -> Call {
    let (id, amount) = (U256::from(partition), U256::from(line.units()));
    send(from, token, Token::redeemCall { opId: U256::from(op_id), holder: line.holder(), partition: id, amount })
}

/// Frees units of a lock, or brings their release forward; a new release time of 0 is now.
pub fn release_lock(
    from: Address,
    token: Address,
    op_id: u64,
    partition: u32,
    line: Line,
    (release_at, new_release_at): (u64, u64),
) -> Call {
    let call = Token::releaseLockCall {
        opId: U256::from(op_id),
        account: line.holder(),
        partition: U256::from(partition),
        amount: U256::from(line.units()),
        releaseAt: U256::from(release_at),
        newReleaseAt: U256::from(new_release_at),
    };
    send(from, token, call)
}

/// Pauses the token.
pub fn pause(from: Address, token: Address) -> Call {
    send(from, token, Token::pauseCall {})
}

/// Ends the pause of the token.
pub fn unpause(from: Address, token: Address) -> Call {
    send(from, token, Token::unpauseCall {})
}

/// Whether the token is paused.
pub async fn is_paused(chain: &Chain, token: Address, at: At) -> Result<bool, Fault> {
    view(chain, token, &Token::pausedCall {}, at).await
}

/// The offering id that the token reports.
pub async fn offering_id(chain: &Chain, token: Address, at: At) -> Result<B256, Fault> {
    view(chain, token, &Token::offeringIdCall {}, at).await
}

/// The token's symbol.
pub async fn symbol(chain: &Chain, token: Address, at: At) -> Result<String, Fault> {
    view(chain, token, &Token::tokenSymbolCall {}, at).await
}

/// The state of a partition.
pub async fn partition(chain: &Chain, token: Address, partition: u32, at: At) -> Result<Partition, Fault> {
    let found = view(chain, token, &Token::partitionOfCall { partition: U256::from(partition) }, at).await?;
    Ok(Partition { supply: found.supply, cap: found.cap, restricted: found.restricted, rule144: found.rule144 })
}

/// The number of partitions.
pub async fn partition_count(chain: &Chain, token: Address, at: At) -> Result<u32, Fault> {
    Ok(view(chain, token, &Token::partitionCountCall {}, at).await?.saturating_to())
}

/// The units of a holder in a partition.
pub async fn balance_of(
    chain: &Chain,
    token: Address,
    account: Address,
    partition: u32,
    at: At,
) -> Result<U256, Fault> {
    view(chain, token, &Token::balanceOfCall { account, id: U256::from(partition) }, at).await
}

/// The units of a holder that are still locked.
pub async fn locked_balance_of(
    chain: &Chain,
    token: Address,
    account: Address,
    partition: u32,
    at: At,
) -> Result<U256, Fault> {
    view(chain, token, &Token::lockedBalanceOfCall { account, id: U256::from(partition) }, at).await
}

/// The units of a holder that can be transferred now.
pub async fn transferable_balance(
    chain: &Chain,
    token: Address,
    account: Address,
    partition: u32,
    at: At,
) -> Result<U256, Fault> {
    view(chain, token, &Token::transferableBalanceCall { account, id: U256::from(partition) }, at).await
}

/// Whether the address is frozen.
pub async fn is_frozen(chain: &Chain, token: Address, holder: Address, at: At) -> Result<bool, Fault> {
    view(chain, token, &Token::isFrozenCall { holder }, at).await
}

/// Whether the holder may receive units of the partition.
pub async fn is_whitelisted(
    chain: &Chain,
    token: Address,
    holder: Address,
    partition: u32,
    at: At,
) -> Result<bool, Fault> {
    view(chain, token, &Token::isWhitelistedCall { holder, partition: U256::from(partition) }, at).await
}

/// Which holders of a page are frozen, in the order of its lines.
pub async fn frozen_among(chain: &Chain, token: Address, lines: &[Line], at: At) -> Result<Vec<bool>, Fault> {
    let mut frozen = Vec::with_capacity(lines.len());
    // Bit n of the answer is line n.
    for part in lines.chunks(LINES_PER_ANSWER) {
        let bits = view(chain, token, &Token::frozenAmongCall { lines: words(part) }, at).await?;
        frozen.extend((0..part.len()).map(|index| bits.bit(index)));
    }
    Ok(frozen)
}
