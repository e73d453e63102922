//! Sends: every answer is kept, and no answer is trusted too much.
use std::sync::Arc;

use alloy::primitives::{B256, Bytes, keccak256};
use muniment_activities::{chain::send::SendResult, config::ChainConfig, rpc::classify::SendClass};
use serde_json::{Value, json};

use crate::node::{FakeNode, chain, chain_with};

const SEND: &str = "eth_sendRawTransaction";

fn raw(number: u8) -> Bytes {
    vec![2, number].into()
}

fn answering(answer: impl Fn(&Value) -> Option<Result<Value, Value>> + Send + Sync + 'static) -> Arc<FakeNode> {
    Arc::new(FakeNode::lying(move |method, params| if method == SEND { answer(&params[0]) } else { None }))
}

fn refusal(message: &'static str) -> Option<Result<Value, Value>> {
    Some(Err(json!({ "code": -32000, "message": message })))
}

#[tokio::test]
async fn each_transaction_of_a_batch_has_its_own_answer() {
    let node = answering(|raw| match raw.as_str().unwrap() {
        "0x0201" => None,
        "0x0202" => refusal("already known"),
        "0x0203" => refusal("ReplacementNotAllowed"),
        "0x0204" => Some(Ok(json!(B256::repeat_byte(9)))),
        _ => Some(Ok(json!("yes"))),
    });
    let chain = chain(vec![node.clone()]);
    let sent = chain.send(&[raw(1), raw(2), raw(3), raw(4), raw(5)]).await;
    assert_eq!(sent[0], SendResult::Accepted(keccak256(raw(1))));
    assert_eq!(sent[1], SendResult::AlreadyKnown);
    assert!(matches!(&sent[2], SendResult::Refused(refusal) if refusal.class == SendClass::Underpriced));
    assert!(matches!(&sent[3], SendResult::Unknown(text) if text.contains(&B256::repeat_byte(9).to_string())));
    assert!(matches!(&sent[4], SendResult::Unknown(_)));
    // One body to check the chain, and one for the batch.
    assert_eq!(chain.posts(), 2);
    assert!(chain.send(&[]).await.is_empty());
}

#[tokio::test]
async fn a_send_goes_to_the_next_endpoint_after_trouble_but_not_after_a_verdict() {
    let good = Arc::new(FakeNode::new());
    for trouble in ["txpool is full", "50/second request limit reached", "Internal error"] {
        let sent = chain(vec![answering(move |_| refusal(trouble)), good.clone()]).send(&[raw(1)]).await;
        assert_eq!(sent, [SendResult::Accepted(keccak256(raw(1)))], "{trouble}");
    }
    let before = good.count(SEND);
    let sent = chain(vec![answering(|_| refusal("OldNonce")), good.clone()]).send(&[raw(1)]).await;
    assert!(matches!(&sent[0], SendResult::Refused(refusal) if refusal.class == SendClass::NonceTooLow));
    assert_eq!(good.count(SEND), before);
}

#[tokio::test]
async fn a_send_without_an_answer_is_unknown_and_says_why() {
    let down = Arc::new(FakeNode::new());
    *down.is_down.lock().unwrap() = Some("connection reset by peer".into());
    let sent = chain(vec![down.clone()]).send(&[raw(1), raw(2)]).await;
    assert!(
        sent.iter().all(|sent| matches!(sent, SendResult::Unknown(text) if text.contains("reset by peer"))),
        "{sent:?}"
    );
    let sent = chain(vec![down, Arc::new(FakeNode::new())]).send(&[raw(1)]).await;
    assert_eq!(sent, [SendResult::Accepted(keccak256(raw(1)))]);
}

#[tokio::test]
async fn a_broadcast_reaches_every_endpoint_and_the_best_answer_counts() {
    let nodes = vec![
        answering(|_| refusal("txpool is full")),
        Arc::new(FakeNode::new()),
        answering(|_| refusal("already known")),
    ];
    let config = ChainConfig { broadcast_all: true, ..ChainConfig::default() };
    let sent = chain_with(config, nodes.clone()).send(&[raw(1)]).await;
    assert_eq!(sent, [SendResult::Accepted(keccak256(raw(1)))]);
    assert!(nodes.iter().all(|node| node.count(SEND) == 1));
}

#[tokio::test]
async fn what_one_endpoint_may_keep_to_itself_is_sent_to_all() {
    let nodes = [Arc::new(FakeNode::new()), Arc::new(FakeNode::new())];
    let chain = chain(nodes.to_vec());
    assert_eq!(chain.send(&[raw(1)]).await, [SendResult::Accepted(keccak256(raw(1)))]);
    assert_eq!(nodes.each_ref().map(|node| node.count(SEND)).iter().sum::<usize>(), 1);
    assert_eq!(chain.send_to_all(&[raw(2)]).await, [SendResult::Accepted(keccak256(raw(2)))]);
    let sent = nodes.each_ref().map(|node| node.count(SEND));
    assert!(sent.iter().all(|count| *count >= 1) && sent.iter().sum::<usize>() == 3, "{sent:?}");
}
