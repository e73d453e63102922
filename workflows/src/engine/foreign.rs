//! Finds the transaction that used a nonce in blocks that were not followed. Only the transaction itself proves that it is foreign, never a
//! count.

use alloy_primitives::{Address, B256};
use muniment_activities::chain::Tag;
use muniment_activities::chain::block::{Block, BlockTx};
use muniment_activities::fault::Fault;

use crate::engine::Network;

/// Blocks that are read one by one if the node has pruned the counts between them.
const BLOCKS_READ_MAX: u64 = 4096;
const BLOCKS_PER_READ: u64 = 64;

/// The transaction that took a nonce above the first block and up to the last, with its block. None if the node has pruned too much state.
pub async fn find(
    network: &Network,
    signer: Address,
    nonce: u64,
    between: (u64, u64),
) -> Result<Option<(Block, BlockTx)>, Fault> {
    match block_of_nonce(network, signer, nonce, between).await {
        Ok(number) => read(network, signer, nonce, (number, number)).await,
        Err(Fault::Pruned(_)) if between.1 - between.0 <= BLOCKS_READ_MAX => {
            read(network, signer, nonce, (between.0 + 1, between.1)).await
        }
        Err(Fault::Pruned(why)) => {
            tracing::error!(lane.signer = %signer, lane.nonce = nonce, "the transaction that took the nonce was not found; use an archive node: {why}");
            Ok(None)
        }
        Err(fault) => Err(fault),
    }
}

/// A block up to which the nonce was not used, as near to the last block as a few questions find it.
pub async fn block_before(network: &Network, signer: Address, nonce: u64, last: u64) -> Result<u64, Fault> {
    let mut back = BLOCKS_PER_READ;
    while back < last {
        match network.chain.transaction_count(signer, Tag::Number(last - back)).await {
            Ok(count) if count <= nonce => return Ok(last - back),
            Ok(_) => back *= 4,
            // The blocks that may be read one by one are searched all the same.
            Err(Fault::Pruned(_)) => return Ok(last.saturating_sub(BLOCKS_READ_MAX)),
            Err(fault) => return Err(fault),
        }
    }
    Ok(0)
}

/// The block in which the count passed the nonce, found by binary search.
async fn block_of_nonce(network: &Network, signer: Address, nonce: u64, between: (u64, u64)) -> Result<u64, Fault> {
    let (mut low, mut high) = between;
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if network.chain.transaction_count(signer, Tag::Number(middle)).await? > nonce {
            high = middle;
        } else {
            low = middle;
        }
    }
    Ok(high)
}

async fn read(
    network: &Network,
    signer: Address,
    nonce: u64,
    blocks: (u64, u64),
) -> Result<Option<(Block, BlockTx)>, Fault> {
    let mut first = blocks.0;
    while first <= blocks.1 {
        let last = blocks.1.min(first + BLOCKS_PER_READ - 1);
        for block in network.chain.blocks(first, last).await? {
            for taken in block.transactions.iter().filter(|t| t.from == signer && t.nonce == nonce) {
                if is_signed(network, taken.hash, signer).await? {
                    return Ok(Some((block.clone(), taken.clone())));
                }
            }
        }
        first = last + 1;
    }
    // The count passed the nonce, so some block must contain it: the endpoints do not agree.
    Err(Fault::Incomplete(format!("no block up to {} shows nonce {nonce} of {signer}", blocks.1)))
}

/// Whether the account that a block names as the sender of a transaction signed it. One endpoint that names another sender stops no lane.
pub async fn is_signed(network: &Network, hash: B256, signer: Address) -> Result<bool, Fault> {
    // A form that cannot be read here has no signature to compare.
    let is_signed = network.chain.is_signed_by(hash, signer).await?.unwrap_or(true);
    if !is_signed {
        tracing::error!(
            chain.id = network.id(),
            tx.hash = %hash,
            "an endpoint showed a transaction as that of the signer {signer}, who has not signed it"
        );
    }
    Ok(is_signed)
}
