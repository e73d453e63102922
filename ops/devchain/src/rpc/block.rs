//! Blocks as JSON-RPC shows them.

use std::sync::Arc;

use alloy::consensus::transaction::TransactionInfo;
use alloy::eips::{BlockId, BlockNumberOrTag};
use alloy::primitives::{B256, U256};
use alloy::rpc::types::{Block as RpcBlock, BlockTransactions, Header, Transaction};
use serde_json::{Value, json};

use super::params::{self, Params, quantity};
use super::transaction;
use crate::Inner;
use crate::block::Block;
use crate::chain::Chain;
use crate::fault::Fault;
use crate::mine::{Staged, build};
use crate::writer::{Answer, read};

/// `eth_getBlockByNumber`; `pending` is the block that would be mined now.
pub(crate) fn by_number(inner: &Inner, params: &Params<'_>) -> Answer {
    let tag: BlockNumberOrTag = params.get(0)?;
    let full = params.find(1)?.unwrap_or(false);
    let chain = &*read(&inner.chain);
    if tag == BlockNumberOrTag::Pending {
        let timestamp = chain.schedule.next((inner.clock)());
        return show(&build(chain, &mut Staged::default(), timestamp).block, full);
    }
    params::numbered(chain, tag).map_or(Ok(Value::Null), |block| show(block, full))
}

/// `eth_getBlockByHash`.
pub(crate) fn by_hash(chain: &Chain, params: &Params<'_>) -> Answer {
    let (hash, full): (B256, _) = (params.get(0)?, params.find(1)?.unwrap_or(false));
    chain.block_by_hash(&hash).map_or(Ok(Value::Null), |block| show(block, full))
}

/// `eth_getBlockReceipts`, by number, tag or hash.
pub(crate) fn receipts(chain: &Chain, params: &Params<'_>) -> Answer {
    let id: BlockId = params.get(0)?;
    let Some(block) = params::block(chain, &id) else { return Ok(Value::Null) };
    let receipts: Vec<_> = (0..block.transactions.len()).filter_map(|index| transaction::mined(block, index)).collect();
    Ok(json!(receipts))
}

/// `eth_getBlockTransactionCountByNumber`.
pub(crate) fn count(chain: &Chain, params: &Params<'_>) -> Answer {
    let block = params::numbered(chain, params.get(0)?);
    Ok(block.map_or(Value::Null, |block| quantity(block.transactions.len() as u64)))
}

/// The transaction at `index` of a block.
pub(crate) fn transaction(block: &Block, index: usize) -> Option<Transaction> {
    let transaction = block.transactions.get(index)?;
    let info = TransactionInfo {
        hash: Some(*transaction.inner().tx_hash()),
        index: Some(index as u64),
        block_hash: Some(block.hash),
        block_number: Some(block.header.number),
        base_fee: Some(block.base_fee()),
        block_timestamp: Some(block.header.timestamp),
    };
    Some(Transaction::from_transaction(Arc::unwrap_or_clone(transaction.clone()), info))
}

fn show(block: &Block, full: bool) -> Answer {
    let transactions = if full {
        let every = 0..block.transactions.len();
        BlockTransactions::Full(every.filter_map(|index| transaction(block, index)).collect())
    } else {
        BlockTransactions::Hashes(block.transactions.iter().map(|signed| *signed.inner().tx_hash()).collect())
    };
    let header = Header {
        hash: block.hash,
        inner: block.header.clone(),
        total_difficulty: Some(U256::ZERO),
        size: Some(U256::from(block.size())),
    };
    let shown = RpcBlock { header, uncles: Vec::new(), transactions, withdrawals: Some(Default::default()) };
    serde_json::to_value(shown).map_err(|_| Fault::internal())
}
