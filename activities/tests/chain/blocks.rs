//! Heads, block ranges and logs.
use std::sync::{Arc, atomic::Ordering};

use alloy::primitives::{Address, B256};
use muniment_activities::{
    chain::logs::LogFilter,
    config::{ChainConfig, Finality},
    fault::{Fault, FaultClass},
};
use serde_json::{Value, json};

use crate::node::{FakeNode, chain, chain_with};

#[tokio::test]
async fn heads_are_read_by_tag_and_by_number_of_confirmations() {
    let node = Arc::new(FakeNode::new());
    let heads = chain(vec![node.clone()]).heads().await.unwrap();
    assert_eq!((heads.latest.number, heads.finalized.unwrap().number), (20, 18));
    assert_eq!(heads.latest.transactions[0].nonce, 3);
    let config = ChainConfig { finality: Finality::Confirmations(12), ..ChainConfig::default() };
    let counted = chain_with(config, vec![node.clone()]);
    assert_eq!(counted.heads().await.unwrap().finalized.unwrap().number, 8);
    node.head.store(5, Ordering::SeqCst);
    assert_eq!(counted.heads().await.unwrap().finalized.unwrap().number, 0);
}

#[tokio::test]
async fn a_node_without_a_final_block_reports_none() {
    for answer in [Ok(Value::Null), Err(json!({ "code": -39001, "message": "Unknown block" }))] {
        let node = FakeNode::lying(move |_, params: &Value| (params[0] == "finalized").then(|| answer.clone()));
        assert_eq!(chain(vec![Arc::new(node)]).heads().await.unwrap().finalized, None);
    }
}

#[tokio::test]
async fn a_range_of_any_length_is_in_order_and_linked() {
    let node = Arc::new(FakeNode::new());
    node.head.store(100, Ordering::SeqCst);
    let chain = chain(vec![node.clone()]);
    let blocks = chain.blocks(1, 50).await.unwrap();
    assert_eq!(blocks.iter().map(|block| block.number).collect::<Vec<_>>(), (1..=50).collect::<Vec<_>>());
    assert!(blocks.windows(2).all(|pair| pair[1].parent_hash == pair[0].hash));
    assert_eq!(chain.blocks(90, 101).await.unwrap_err().class(), FaultClass::Transient);
    assert_eq!(chain.header(101).await.unwrap(), None);
    assert_eq!(chain.header(7).await.unwrap().unwrap().hash, node.hash(7));
}

#[tokio::test]
async fn blocks_that_are_not_linked_are_a_fault() {
    let other = FakeNode { seed: 9, ..FakeNode::new() }.hash(7);
    let broken = FakeNode::lying(move |_, params: &Value| {
        (params[0] == "0x7").then(|| {
            Ok(json!({ "number": "0x7", "hash": other, "parentHash": other, "timestamp": "0x1", "gasLimit": "0x1", "transactions": [] }))
        })
    });
    assert!(matches!(chain(vec![Arc::new(broken)]).blocks(5, 9).await, Err(Fault::Incomplete(_))));
    let misplaced = FakeNode::lying(|_, params: &Value| {
        (params[0] == "0x7").then(|| Ok(json!({ "number": "0x8", "hash": B256::ZERO, "parentHash": B256::ZERO, "timestamp": "0x1", "gasLimit": "0x1" })))
    });
    assert!(chain(vec![Arc::new(misplaced)]).header(7).await.is_err());
}

#[tokio::test]
async fn a_log_range_that_is_too_wide_is_halved_and_stays_in_order() {
    let node = FakeNode::lying(|method, params: &Value| {
        let number =
            |key: &str| params[0][key].as_str().and_then(|hex| u64::from_str_radix(hex.strip_prefix("0x")?, 16).ok());
        let (from, to) = (number("fromBlock"), number("toBlock").unwrap_or(20));
        (method == "eth_getLogs").then(|| match (from, to) {
            (Some(from), to) if to - from < 4 => Ok((from..=to).map(log).collect()),
            _ => Err(json!({ "code": -32005, "message": "query returned more than 10000 results" })),
        })
    });
    let logs = chain(vec![Arc::new(node)]).logs(&LogFilter { from_block: 1, ..LogFilter::default() }).await.unwrap();
    assert_eq!(logs.iter().map(|log| log.block_number).collect::<Vec<_>>(), (1..=20).collect::<Vec<_>>());
}

fn log(number: u64) -> Value {
    json!({
        "address": Address::ZERO, "topics": [], "data": "0x", "blockNumber": format!("{number:#x}"), "blockHash": B256::ZERO,
        "transactionHash": B256::ZERO, "logIndex": "0x0", "removed": false,
    })
}
