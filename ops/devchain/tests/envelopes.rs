//! Every answer is read by alloy's types, which is what a provider does with it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod world;

use alloy::primitives::{Address, B256, TxKind, U256, address};
use alloy::rpc::types::{Block, FeeHistory, Log, Transaction, TransactionReceipt};
use muniment_devchain::{Config, Devchain};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use world::contract::{self, command};
use world::wallet::{Tx, Wallet};

const NOBODY: Address = address!("00000000000000000000000000000000000ff1ce");

fn ask<T: DeserializeOwned>(chain: &Devchain, method: &str, params: Value) -> T {
    let answer = chain.handle(json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }));
    assert!(answer.get("error").is_none(), "{method}: {answer}");
    serde_json::from_value(answer["result"].clone()).unwrap()
}

#[test]
fn blocks_transactions_receipts_and_logs_are_read_by_alloy() {
    let chain = Devchain::open(Config::default()).unwrap();
    let wallet = Wallet::new(0);
    let deploy = wallet.sign(Tx::new(0, TxKind::Create, contract::init(&contract::runtime())));
    ask::<Value>(&chain, "eth_sendRawTransaction", deploy.params());
    let receipt: TransactionReceipt = ask(&chain, "eth_getTransactionReceipt", json!([deploy.hash]));
    let contract = receipt.contract_address.unwrap();
    assert_eq!(contract, wallet.address().create(0));
    let store = command(contract::STORE, &[U256::from(1), U256::from(7)]);
    let store = wallet.sign_legacy(Tx::new(1, TxKind::Call(contract), store));
    ask::<Value>(&chain, "eth_sendRawTransaction", store.params());
    let wait = wallet.sign(Tx::transfer(9, NOBODY, 1));
    ask::<Value>(&chain, "eth_sendRawTransaction", wait.params());

    let block: Block = ask(&chain, "eth_getBlockByNumber", json!(["latest", true]));
    assert_eq!(block.header.hash, block.header.inner.hash_slow(), "the hash is that of the header");
    let parent: Block = ask(&chain, "eth_getBlockByHash", json!([block.header.parent_hash, false]));
    assert_eq!(parent.header.number + 1, block.header.number);
    let mined: Transaction = ask(&chain, "eth_getTransactionByHash", json!([store.hash]));
    assert_eq!((mined.block_hash, mined.inner.signer()), (Some(block.header.hash), wallet.address()));
    let waiting: Transaction = ask(&chain, "eth_getTransactionByHash", json!([wait.hash]));
    assert_eq!(waiting.block_hash, None);
    let receipts: Vec<TransactionReceipt> = ask(&chain, "eth_getBlockReceipts", json!([block.header.hash]));
    let logs: Vec<Log> = ask(&chain, "eth_getLogs", json!([{ "blockHash": block.header.hash }]));
    assert_eq!(receipts[0].logs(), logs);
    assert_eq!(logs[0].topics()[1], B256::from(U256::from(1)));
    let history: FeeHistory = ask(&chain, "eth_feeHistory", json!(["0x3", "latest", [50.0]]));
    assert_eq!(history.base_fee_per_gas.len(), 4);
}
