//! Receipts: a missing receipt is a fault, a forged one is detected, and a quorum must agree.
use std::sync::Arc;

use alloy::primitives::{Address, U64};
use muniment_activities::{
    chain::{Tag, account::Counts, receipt::Agreement},
    config::ChainConfig,
    fault::{Fault, FaultClass},
};
use serde_json::{Value, json};

use crate::node::{FakeNode, chain, chain_with, receipt, tx};

const OF_BLOCK: &str = "eth_getBlockReceipts";
const ONE: &str = "eth_getTransactionReceipt";

#[tokio::test]
async fn only_our_receipts_are_returned_and_an_empty_list_costs_no_call() {
    let node = Arc::new(FakeNode::new());
    let chain = chain(vec![node.clone()]);
    let ours = chain.receipts_of_block(node.hash(5), &[tx(2)]).await.unwrap();
    assert_eq!(ours.iter().map(|receipt| receipt.tx_hash).collect::<Vec<_>>(), [tx(2)]);
    let posts = chain.posts();
    assert!(chain.receipts_of_block(node.hash(5), &[]).await.unwrap().is_empty());
    assert_eq!(chain.posts(), posts);
}

#[tokio::test]
async fn a_node_without_block_receipts_is_asked_by_hash_from_then_on() {
    let node = Arc::new(FakeNode::lying(|method, _| {
        (method == OF_BLOCK).then(|| Err(json!({ "code": -32601, "message": "Method not found" })))
    }));
    let chain = chain(vec![node.clone()]);
    for _ in 0..3 {
        assert_eq!(chain.receipts_of_block(node.hash(5), &[tx(1), tx(2)]).await.unwrap().len(), 2);
        assert_eq!(chain.receipts_of_block(node.hash(5), &[tx(1)]).await.unwrap().len(), 1);
    }
    assert_eq!(node.count(OF_BLOCK), 1);
}

#[tokio::test]
async fn a_missing_or_foreign_receipt_is_a_fault() {
    let block = FakeNode::new().hash(5);
    let answers = [
        Ok(Value::Null),
        Ok(json!([])),
        Ok(json!([receipt(tx(2), block)])),
        Ok(json!([receipt(tx(1), FakeNode::new().hash(6))])),
        Ok(json!("what")),
        Err(json!({ "code": -32000, "message": "header not found" })),
    ];
    for answer in answers {
        let said = answer.clone();
        let liar = Arc::new(FakeNode::lying(move |method, _| (method == OF_BLOCK).then(|| answer.clone())));
        let fault = chain(vec![liar.clone()]).receipts_of_block(block, &[tx(1)]).await.unwrap_err();
        assert_eq!(fault.class(), FaultClass::Transient, "{said:?}: {fault}");
        // Another endpoint with the right answer is used instead.
        let honest = Arc::new(FakeNode::new());
        assert_eq!(chain(vec![liar, honest]).receipts_of_block(block, &[tx(1)]).await.unwrap().len(), 1, "{said:?}");
    }
    let by_hash = |answer: Value| {
        chain(vec![Arc::new(FakeNode::lying(move |method, _| match method {
            OF_BLOCK => Some(Err(json!({ "code": -32601, "message": "Method not found" }))),
            ONE => Some(Ok(answer.clone())),
            _ => None,
        }))])
    };
    assert!(matches!(by_hash(Value::Null).receipts_of_block(block, &[tx(1)]).await, Err(Fault::Incomplete(_))));
    assert!(matches!(by_hash(Value::Null).receipts_of_block(block, &[tx(1), tx(2)]).await, Err(Fault::Incomplete(_))));
    assert!(by_hash(receipt(tx(9), block)).receipts_of_block(block, &[tx(1)]).await.is_err());
}

#[tokio::test]
async fn receipts_by_hash_are_none_if_missing_and_a_fault_if_of_another_transaction() {
    let node =
        FakeNode::lying(|method, params| (method == ONE && params[0] == json!(tx(2))).then_some(Ok(Value::Null)));
    let found = chain(vec![Arc::new(node)]).receipts(&[tx(1), tx(2)]).await.unwrap();
    assert!(found[0].is_some() && found[1].is_none());
    let forged = FakeNode::lying(|method, _| (method == ONE).then(|| Ok(receipt(tx(9), FakeNode::new().hash(5)))));
    assert!(matches!(chain(vec![Arc::new(forged)]).receipts(&[tx(1)]).await, Err(Fault::Malformed(_))));
}

#[tokio::test]
async fn a_quorum_agrees_disputes_or_stays_pending() {
    let config = || ChainConfig { quorum: 2, ..ChainConfig::default() };
    let honest = || Arc::new(FakeNode::new());
    let says = |answer: Value| Arc::new(FakeNode::lying(move |method, _| (method == ONE).then(|| Ok(answer.clone()))));
    let block = FakeNode::new().hash(5);
    let receipt_of_ours = chain(vec![honest()]).receipts(&[tx(1)]).await.unwrap().remove(0).unwrap();
    let mut reverted = receipt(tx(1), block);
    reverted["status"] = json!("0x0");

    let agreed = chain_with(config(), vec![honest(), honest(), honest()]);
    assert_eq!(agreed.confirm_receipt(&receipt_of_ours).await.unwrap(), Agreement::Agreed);
    let waiting = chain_with(config(), vec![honest(), says(Value::Null)]);
    assert_eq!(waiting.confirm_receipt(&receipt_of_ours).await.unwrap(), Agreement::Pending);
    for other in [reverted, receipt(tx(1), FakeNode::new().hash(6))] {
        let disputed = chain_with(config(), vec![honest(), says(other)]);
        assert!(matches!(disputed.confirm_receipt(&receipt_of_ours).await.unwrap(), Agreement::Disputed(_)));
    }
    let mut other = receipt(tx(1), block);
    other["effectiveGasPrice"] = json!("0x0");
    let outvoted = chain_with(config(), vec![honest(), says(other), honest()]);
    assert_eq!(outvoted.confirm_receipt(&receipt_of_ours).await.unwrap(), Agreement::Agreed);
    let down = honest();
    *down.is_down.lock().unwrap() = Some("down".into());
    let outage = chain_with(config(), vec![honest(), down]);
    assert_eq!(outage.confirm_receipt(&receipt_of_ours).await.unwrap(), Agreement::Pending);
    let single = chain_with(ChainConfig::default(), vec![honest()]);
    assert_eq!(single.confirm_receipt(&receipt_of_ours).await.unwrap(), Agreement::Agreed);
}

#[tokio::test]
async fn a_foreign_transaction_is_proved_by_the_quorum_alone() {
    const BY_HASH: &str = "eth_getTransactionByHash";
    let (signer, block) = (Address::repeat_byte(7), FakeNode::new().hash(5));
    let shown = json!({ "hash": tx(1), "from": signer, "nonce": "0x3", "to": null, "input": "0x", "blockNumber": "0x5", "blockHash": block });
    let showing = || {
        let shown = shown.clone();
        Arc::new(FakeNode::lying(move |method, _| (method == BY_HASH).then(|| Ok(shown.clone()))))
    };
    let hiding = || Arc::new(FakeNode::lying(|method, _| (method == BY_HASH).then_some(Ok(Value::Null))));
    let config = || ChainConfig { quorum: 2, ..ChainConfig::default() };
    let one = chain_with(config(), vec![showing(), hiding()]);
    assert!(!one.is_taken_by(signer, 3, tx(1), block).await, "one endpoint is no proof");
    let both = chain_with(config(), vec![showing(), showing()]);
    assert!(both.is_taken_by(signer, 3, tx(1), block).await);
    assert!(!both.is_taken_by(signer, 4, tx(1), block).await, "of another nonce it is no proof");
}

#[tokio::test]
async fn one_endpoint_alone_raises_no_transaction_count() {
    let says = |count: u64| {
        let answer =
            move |method: &str, _: &Value| (method == "eth_getTransactionCount").then(|| Ok(json!(U64::from(count))));
        Arc::new(FakeNode::lying(answer))
    };
    let counted = async |quorum: usize, nodes: Vec<Arc<FakeNode>>| {
        let chain = chain_with(ChainConfig { quorum, ..ChainConfig::default() }, nodes);
        chain.transaction_counts(Address::repeat_byte(1), Tag::Latest).await
    };
    let counts = |highest, agreed| Ok(Counts { highest, agreed });
    assert_eq!(counted(2, vec![says(900), says(7), says(6)]).await, counts(900, Some(7)));
    assert_eq!(counted(3, vec![says(900), says(7), says(6)]).await, counts(900, Some(6)));
    assert_eq!(counted(1, vec![says(9), says(7)]).await, counts(9, Some(9)));
    let down = says(7);
    *down.is_down.lock().unwrap() = Some("down".into());
    assert_eq!(counted(2, vec![says(900), down]).await, counts(900, None));
}
