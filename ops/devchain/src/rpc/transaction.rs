//! Transactions: taking them in, and showing them with their receipts.

use alloy::consensus::Transaction;
use alloy::consensus::transaction::TransactionInfo;
use alloy::primitives::{B256, Bytes};
use alloy::rpc::types::{Log, Transaction as RpcTransaction, TransactionReceipt};
use serde_json::{Value, json};

use super::params::Params;
use crate::Inner;
use crate::block::{Block, Signed};
use crate::chain::Chain;
use crate::fault::Fault;
use crate::transaction::decode;
use crate::writer::{Answer, Command};

/// `eth_sendRawTransaction`, for consecutive calls of a batch.
pub(crate) fn send(inner: &Inner, calls: &[&Value]) -> Vec<Answer> {
    // Signatures are recovered here, where requests run side by side, not behind the writer's lock.
    let decoded: Vec<Result<Signed, Fault>> = calls.iter().map(|params| raw(params)).collect();
    let good = decoded.iter().flatten().cloned().collect();
    let mut taken = inner.write_queue.submit(&inner.chain, Command::Send(good)).into_iter();
    let answer = |decoded: Result<Signed, Fault>| decoded.and_then(|_| taken.next().unwrap_or(Err(Fault::internal())));
    decoded.into_iter().map(answer).collect()
}

fn raw(params: &Value) -> Result<Signed, Fault> {
    let raw: Bytes = Params::new(params)?.get(0)?;
    decode(&raw)
}

/// `eth_getTransactionByHash`, mined or waiting.
pub(crate) fn by_hash(chain: &Chain, params: &Params<'_>) -> Answer {
    let hash: B256 = params.get(0)?;
    if let Some((block, index)) = chain.place(&hash) {
        return Ok(json!(super::block::transaction(block, index)));
    }
    // Until it is mined, its price is told as if it were in the next block.
    let info = TransactionInfo { base_fee: Some(chain.next_base_fee(chain.head())), ..Default::default() };
    let waiting =
        chain.pool.by_hash(&hash).map(|signed| RpcTransaction::from_transaction(signed.as_ref().clone(), info));
    Ok(json!(waiting))
}

/// `eth_getTransactionReceipt`.
pub(crate) fn receipt(chain: &Chain, params: &Params<'_>) -> Answer {
    let place = chain.place(&params.get(0)?);
    Ok(json!(place.and_then(|(block, index)| mined(block, index))))
}

/// The receipt of the transaction at `index` of a block.
pub(crate) fn mined(block: &Block, index: usize) -> Option<TransactionReceipt> {
    let transaction = block.transactions.get(index)?;
    let first_log = block.receipts.iter().take(index).map(|receipt| receipt.logs().len() as u64).sum::<u64>();
    let mut next_log = first_log;
    let inner = block.receipts.get(index)?.clone().map_logs(|log| {
        next_log += 1;
        placed(block, index, next_log - 1, log)
    });
    let sender = transaction.signer();
    Some(TransactionReceipt {
        inner,
        transaction_hash: *transaction.inner().tx_hash(),
        transaction_index: Some(index as u64),
        block_hash: Some(block.hash),
        block_number: Some(block.header.number),
        gas_used: block.gas_used(index),
        effective_gas_price: transaction.effective_gas_price(Some(block.base_fee())),
        blob_gas_used: None,
        blob_gas_price: None,
        from: sender,
        to: transaction.to(),
        contract_address: transaction.is_create().then(|| sender.create(transaction.nonce())),
    })
}

/// A log with the place where it was written.
pub(crate) fn placed(block: &Block, index: usize, log_index: u64, log: alloy::primitives::Log) -> Log {
    Log {
        inner: log,
        block_hash: Some(block.hash),
        block_number: Some(block.header.number),
        block_timestamp: Some(block.header.timestamp),
        transaction_hash: block.transactions.get(index).map(|transaction| *transaction.inner().tx_hash()),
        transaction_index: Some(index as u64),
        log_index: Some(log_index),
        removed: false,
    }
}
