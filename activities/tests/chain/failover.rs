//! A read succeeds as long as one honest endpoint is up, and another chain is never used.
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use muniment_activities::{
    chain::{Chain, Tag},
    config::ChainConfig,
    fault::{Fault, FaultClass},
};
use serde_json::{Value, json};

use crate::{
    node::{FakeNode, chain, chain_with},
    server::{Manner, Server},
};

fn over(servers: &[&Server]) -> Chain {
    let endpoints = servers.iter().map(|server| server.url.clone()).collect();
    Chain::http(ChainConfig { endpoints, request_timeout_seconds: 1, ..ChainConfig::default() }).unwrap()
}

#[tokio::test]
async fn the_second_endpoint_answers_for_every_failure_of_the_first() {
    let manners = [
        ("500", Manner::Status(500, "")),
        ("403", Manner::Status(403, "")),
        ("429", Manner::Status(429, "retry-after: 7\r\n")),
        ("hang", Manner::Hang),
        ("close", Manner::Close),
        ("garbage", Manner::Text("<html>it works!</html>")),
        ("no rpc", Manner::Text("[1, 2]")),
        ("null", Manner::Text("null")),
        ("huge", Manner::Endless),
    ];
    for (name, manner) in manners {
        let (bad, good) = (Server::start(manner).await, Server::start(Manner::Honest).await);
        let chain = over(&[&bad, &good]);
        let heads = chain.heads().await.unwrap_or_else(|fault| panic!("{name}: {fault}"));
        assert_eq!(heads.latest.number, 20, "{name}");
        assert!(bad.requests() > 0, "{name}: the fault was never met");
        let health = chain.health();
        assert!(!health[0].up && health[0].last_error.is_some() && health[1].up, "{name}: {health:?}");
        // While the bad endpoint cools down, it gets no requests.
        let (before, started) = (bad.requests(), Instant::now());
        chain.heads().await.unwrap();
        assert_eq!(bad.requests(), before, "{name}");
        assert!(started.elapsed().as_millis() < 900, "{name}");
    }
}

#[tokio::test]
async fn an_endpoint_cools_down_for_as_long_as_it_asks() {
    let (first, second) =
        (Server::start(Manner::Status(429, "retry-after: 60\r\n")).await, Server::start(Manner::Honest).await);
    let time = Arc::new(AtomicU64::new(1_000_000));
    let clock = time.clone();
    let chain = over(&[&first, &second]).with_clock(Arc::new(move || clock.load(Ordering::SeqCst)));
    chain.heads().await.unwrap();
    first.turns(Manner::Honest);
    time.fetch_add(59_000, Ordering::SeqCst);
    chain.heads().await.unwrap();
    assert_eq!(first.requests(), 1);
    time.fetch_add(2_000, Ordering::SeqCst);
    chain.heads().await.unwrap();
    assert!(first.requests() > 1 && chain.health()[0].up);
}

#[tokio::test]
async fn all_endpoints_down_is_an_outage_and_shows_no_key() {
    let (one, two) = (Server::start(Manner::Status(502, "")).await, Server::start(Manner::Close).await);
    let chain = over(&[&one, &two]);
    let fault = chain.heads().await.unwrap_err();
    assert_eq!(fault.class(), FaultClass::Outage, "{fault}");
    let shown = format!("{fault} {fault:?} {:?} {:?}", chain.health(), chain.check_endpoints().await);
    assert!(shown.contains("127.0.0.1") && !shown.contains("secret"), "{shown}");
    // As soon as one endpoint is back, reads succeed, even before its cool-down ends.
    two.turns(Manner::Honest);
    chain.heads().await.unwrap();
}

#[tokio::test]
async fn a_rate_limit_on_every_endpoint_is_an_outage() {
    let one = Server::start(Manner::Status(429, "retry-after: 3\r\n")).await;
    let fault = over(&[&one]).balance(Default::default(), Tag::Latest).await.unwrap_err();
    assert!(matches!(fault, Fault::RateLimited { retry_after_seconds: Some(3), .. }), "{fault:?}");
    assert_eq!(fault.class(), FaultClass::Outage);
    let limit = |method: &str, _: &Value| {
        (method == "eth_getBalance")
            .then(|| Err(json!({ "code": -32005, "message": "project ID request rate exceeded" })))
    };
    let fault =
        chain(vec![Arc::new(FakeNode::lying(limit))]).balance(Default::default(), Tag::Latest).await.unwrap_err();
    assert_eq!(fault.class(), FaultClass::Outage, "{fault:?}");
}

#[tokio::test]
async fn an_endpoint_of_another_chain_is_reported_and_never_used() {
    let (wrong, right) = (Arc::new(FakeNode::new()), Arc::new(FakeNode::new()));
    wrong.chain_id.store(1, Ordering::SeqCst);
    let chain = chain(vec![wrong.clone(), right.clone()]);
    for _ in 0..5 {
        assert_eq!(chain.heads().await.unwrap().latest.number, 20);
    }
    chain.send(&[vec![1, 2, 3].into()]).await;
    assert_eq!(wrong.count("eth_chainId"), 1);
    assert_eq!(wrong.count("eth_sendRawTransaction"), 0);
    assert!(chain.health()[0].wrong_chain.as_ref().is_some_and(|text| text.contains("chain id 1")));
    let fault = chain.check_endpoints().await.unwrap_err();
    assert!(
        matches!(&fault, Fault::WrongChain { expected, found, .. } if expected == "chain id 31337" && found == "chain id 1"),
        "{fault:?}"
    );
    assert_eq!(fault.class(), FaultClass::Fatal);
}

#[tokio::test]
async fn two_chains_with_the_same_id_are_told_apart_by_their_genesis() {
    let (one, other) = (Arc::new(FakeNode::new()), Arc::new(FakeNode { seed: 9, ..FakeNode::new() }));
    let both = chain(vec![one.clone(), other.clone()]);
    assert!(matches!(both.check_endpoints().await, Err(Fault::WrongChain { .. })));
    let pinned = chain(vec![other]);
    pinned.expect_genesis(one.hash(0)).unwrap();
    assert!(matches!(pinned.heads().await, Err(Fault::WrongChain { .. })));
}

#[tokio::test]
async fn the_chain_of_an_endpoint_is_checked_again_after_an_outage() {
    let node = Arc::new(FakeNode::new());
    let chain = chain(vec![node.clone()]);
    chain.heads().await.unwrap();
    *node.is_down.lock().unwrap() = Some("connection refused".into());
    assert_eq!(chain.heads().await.unwrap_err().class(), FaultClass::Outage);
    *node.is_down.lock().unwrap() = None;
    node.chain_id.store(5, Ordering::SeqCst);
    assert!(matches!(chain.heads().await, Err(Fault::WrongChain { .. })));
    // It stays excluded until the next contact.
    node.chain_id.store(31337, Ordering::SeqCst);
    assert!(matches!(chain.heads().await, Err(Fault::WrongChain { .. })));
    chain.check_endpoints().await.unwrap();
    chain.heads().await.unwrap();
}

#[tokio::test]
async fn contact_skips_endpoints_that_are_down_as_long_as_one_answers() {
    let (down, up) = (Arc::new(FakeNode::new()), Arc::new(FakeNode::new()));
    *down.is_down.lock().unwrap() = Some("connection refused".into());
    let contact = chain(vec![down, up.clone()]).check_endpoints().await.unwrap();
    assert_eq!((contact.chain_id, contact.genesis), (31337, up.hash(0)));
    assert_eq!((contact.answered.len(), contact.failed.len()), (1, 1));
}

#[tokio::test]
async fn an_endpoint_behind_the_head_is_asked_last() {
    let (slow, fast) = (Arc::new(FakeNode::new()), Arc::new(FakeNode::new()));
    let chain = chain(vec![slow.clone(), fast.clone()]);
    chain.heads().await.unwrap();
    *slow.is_down.lock().unwrap() = Some("restarting".into());
    fast.head.store(40, Ordering::SeqCst);
    chain.heads().await.unwrap();
    *slow.is_down.lock().unwrap() = None;
    assert_eq!(chain.heads().await.unwrap().latest.number, 40);
}

#[tokio::test]
async fn an_endpoint_that_refuses_batches_gets_single_calls_from_then_on() {
    let node = Arc::new(FakeNode { refuses_batches: true, ..FakeNode::new() });
    let chain = chain(vec![node]);
    assert_eq!(chain.blocks(3, 6).await.unwrap().len(), 4);
    let posts = chain.posts();
    chain.heads().await.unwrap();
    assert_eq!(chain.posts() - posts, 2);
}

#[tokio::test]
async fn a_temporary_error_does_not_end_batches() {
    let moment = Server::start(Manner::Text(r#"{"id":null,"error":{"code":-32603,"message":"internal error"}}"#)).await;
    let chain = over(&[&moment]);
    assert_eq!(chain.heads().await.unwrap_err().class(), FaultClass::Outage);
    moment.turns(Manner::Honest);
    chain.heads().await.unwrap();
    let posts = chain.posts();
    chain.heads().await.unwrap();
    assert_eq!(chain.posts() - posts, 1);
}

#[tokio::test]
async fn a_huge_unreadable_answer_gives_a_short_message() {
    let node = FakeNode::lying(|method, _| (method == "eth_getBalance").then(|| Ok(json!("z".repeat(1 << 20)))));
    let fault = chain(vec![Arc::new(node)]).balance(Default::default(), Tag::Latest).await.unwrap_err();
    assert!(matches!(fault, Fault::Malformed(_)) && fault.to_string().len() < 1_000);
}

#[test]
fn futures_of_all_reads_are_send() {
    fn sendable<T: Send>(_: &T) {}
    let chain = chain(vec![Arc::new(FakeNode::new())]);
    sendable(&chain.heads());
    sendable(&chain.blocks(1, 2));
    sendable(&chain.send(&[]));
    sendable(&chain.fees());
    sendable(&chain.check_endpoints());
    sendable(&chain.receipts_of_block(Default::default(), &[]));
    sendable(&chain.logs(&Default::default()));
    sendable(&chain);
}

#[tokio::test]
async fn calls_are_counted_by_method_and_a_head_costs_one_post() {
    let chain = chain_with(ChainConfig::default(), vec![Arc::new(FakeNode::new())]);
    chain.check_endpoints().await.unwrap();
    let (calls, posts) = (chain.calls(), chain.posts());
    chain.heads().await.unwrap();
    assert_eq!((chain.calls() - calls, chain.posts() - posts), (2, 1));
    assert_eq!(chain.calls_by_method()["eth_chainId"], 1);
}

#[test]
fn an_invalid_configuration_is_rejected_with_a_correction() {
    let config = |endpoints: &[&str], quorum, bump_percent| ChainConfig {
        endpoints: endpoints.iter().map(|url| (*url).to_owned()).collect(),
        quorum,
        bump_percent,
        ..ChainConfig::default()
    };
    let refused = |config| Chain::http(config).err().expect("refused").to_string();
    assert!(Chain::http(config(&["https://node.example/v3/key", "http://localhost:8545"], 2, 15)).is_ok());
    assert!(refused(config(&[], 1, 15)).contains("at least one URL"));
    assert!(refused(config(&["ftp://node/secret-key-123"], 1, 15)).contains("http://"));
    assert!(!refused(config(&["ftp://node/secret-key-123"], 1, 15)).contains("secret"));
    assert!(refused(config(&["http://node"], 2, 15)).contains("quorum"));
    assert!(refused(config(&["http://node"], 1, 10)).contains("13 or more"));
}
