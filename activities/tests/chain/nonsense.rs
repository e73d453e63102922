//! Invalid answers of every kind are faults, never panics, and are never believed.
use std::sync::Arc;

use alloy::primitives::{Address, B256};
use muniment_activities::{
    chain::{
        Tag,
        simulate::{At, Call},
    },
    rpc::classify::{classify_read, classify_send},
};
use serde_json::{Value, json};

use crate::node::{FakeNode, chain, tx};

fn nonsense() -> Vec<Value> {
    let deep = (0..100).fold(json!(1), |inner, _| json!([inner]));
    vec![
        json!(null),
        json!(0),
        json!(-1),
        json!(1.5),
        json!(true),
        json!(""),
        json!("0x"),
        json!("0xzz"),
        json!("latest"),
        json!([]),
        json!({}),
        json!([null]),
        json!([{}]),
        json!({ "number": "0xffffffffffffffffff" }),
        json!("0x".to_owned() + &"f".repeat(200)),
        json!({ "number": "0x1", "hash": "0x1", "transactions": "none" }),
        json!({ "baseFeePerGas": [], "reward": [[]] }),
        deep,
    ]
}

#[tokio::test]
async fn no_invalid_answer_makes_a_read_panic() {
    let call = Call { from: Address::ZERO, to: Some(Address::ZERO), data: Default::default() };
    let mut faults = 0;
    for answer in nonsense() {
        for as_error in [false, true] {
            let said = answer.clone();
            let node = FakeNode::lying(move |method, params| {
                let is_contact = method == "eth_chainId" || (method == "eth_getBlockByNumber" && params[0] == "0x0");
                (!is_contact).then(|| if as_error { Err(said.clone()) } else { Ok(said.clone()) })
            });
            let chain = chain(vec![Arc::new(node)]);
            assert!(chain.heads().await.is_err(), "{answer}");
            assert!(chain.blocks(1, 3).await.is_err(), "{answer}");
            assert!(chain.receipts_of_block(B256::ZERO, &[tx(1)]).await.is_err(), "{answer}");
            assert!(!matches!(chain.receipts(&[tx(1)]).await, Ok(found) if found[0].is_some()), "{answer}");
            assert!(!matches!(chain.header(4).await, Ok(Some(_))), "{answer}");
            let others = [
                chain.fees().await.is_err(),
                chain.logs(&Default::default()).await.is_err(),
                chain.transaction_count(Address::ZERO, Tag::Pending).await.is_err(),
                chain.code(Address::ZERO, Tag::Latest).await.is_err(),
                chain.simulate(&call, At::Latest).await.is_err(),
                chain.simulate(&call, At::Hash(B256::ZERO)).await.is_err(),
                chain.call(&call, At::Latest).await.is_err(),
            ];
            faults += others.iter().filter(|is_fault| **is_fault).count();
            chain.send(&[vec![1].into()]).await;
        }
    }
    assert!(faults > 100, "{faults}");
}

#[test]
fn no_error_text_makes_the_classifier_panic() {
    for text in ["", "\u{0}", "é\u{10ffff}", "İ", &"x".repeat(1 << 16)] {
        for code in [i64::MIN, -32000, 0, 3, i64::MAX] {
            classify_send(code, text);
            classify_read(code, text);
        }
    }
}
