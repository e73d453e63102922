//! The proxy between engine and node follows its rules and counts what it changed.

use std::time::{Duration, Instant};

use alloy::consensus::{SignableTransaction, TxEip1559, TxEnvelope};
use alloy::eips::eip2718::Encodable2718;
use alloy::primitives::{Address, TxKind, U256, hex};
use alloy::signers::SignerSync;
use alloy::signers::local::PrivateKeySigner;
use serde_json::{Value, json};
use world::{Anvil, Fate, Fault, FaultProxy, KEYS, Mining, Rpc, Rule};

const GWEI: u128 = 1_000_000_000;

struct Bench {
    anvil: Anvil,
    proxy: FaultProxy,
    through: Rpc,
}

fn bench(mining: Mining) -> Bench {
    let anvil = Anvil::start(mining);
    let proxy = FaultProxy::start(anvil.url(), 7);
    let through = Rpc::new(proxy.url());
    Bench { anvil, proxy, through }
}

fn sender() -> Address {
    KEYS[0].parse::<PrivateKeySigner>().unwrap().address()
}

fn transfer(nonce: u64, gwei: u128) -> Value {
    let signer: PrivateKeySigner = KEYS[0].parse().unwrap();
    let to = TxKind::Call(Address::repeat_byte(7));
    let (max_fee_per_gas, max_priority_fee_per_gas) = (gwei * GWEI, gwei * GWEI);
    let unsigned = TxEip1559 {
        chain_id: 31337,
        nonce,
        gas_limit: 21_000,
        max_fee_per_gas,
        max_priority_fee_per_gas,
        to,
        value: U256::from(1),
        ..Default::default()
    };
    let signature = signer.sign_hash_sync(&unsigned.signature_hash()).unwrap();
    let envelope = TxEnvelope::from(unsigned.into_signed(signature));
    json!([hex::encode_prefixed(envelope.encoded_2718())])
}

impl Bench {
    async fn send(&self, nonce: u64, gwei: u128) -> Result<Value, String> {
        self.through.try_call("eth_sendRawTransaction", transfer(nonce, gwei)).await
    }

    /// Waits until the node has mined this many; even with instant mining it answers before it mines.
    async fn mined(&self, count: u64) {
        let start = Instant::now();
        while self.count("latest").await != count {
            assert!(start.elapsed() < Duration::from_secs(10), "{count} transactions are not mined");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Counts of the node itself: mined and pending.
    async fn count(&self, block: &str) -> u64 {
        self.anvil.rpc().number("eth_getTransactionCount", json!([sender().to_string(), block])).await
    }
}

#[tokio::test]
async fn without_rules_nothing_changes_and_calls_are_counted() {
    let bench = bench(Mining::Instant);
    assert_eq!(bench.through.number("eth_chainId", json!([])).await, 31337);
    let batch = json!([
        { "jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": [] },
        { "jsonrpc": "2.0", "id": 2, "method": "eth_blockNumber", "params": [] },
    ]);
    let answers: Value = serde_json::from_str(&bench.through.post(batch.to_string()).await.unwrap()).unwrap();
    assert_eq!((&answers[0]["result"], &answers[1]["id"]), (&json!("0x7a69"), &json!(2)));
    let trace = bench.proxy.trace();
    assert_eq!((trace.requests, trace.calls["eth_chainId"], trace.calls["eth_blockNumber"]), (2, 2, 1));
    assert!(trace.hits.is_empty());
}

#[tokio::test]
async fn a_dropped_request_never_reaches_the_node() {
    let bench = bench(Mining::Instant);
    let rule = bench.proxy.add(Rule::new(Fault::DropRequest).on(&["eth_sendRawTransaction"]).times(1));
    bench.send(0, 5).await.unwrap_err();
    assert_eq!((bench.count("latest").await, bench.proxy.hits(rule)), (0, 1));
    bench.send(0, 5).await.unwrap();
    bench.mined(1).await;
    assert_eq!(bench.proxy.hits(rule), 1);
    let fates: Vec<_> = bench.proxy.trace().sent.into_iter().map(|sent| sent.fate).collect();
    assert_eq!(fates, [Fate::Lost, Fate::Taken]);
}

#[tokio::test]
async fn a_dropped_answer_leaves_the_transaction_on_the_chain() {
    let bench = bench(Mining::Instant);
    let rule = bench.proxy.add(Rule::new(Fault::DropResponse).on(&["eth_sendRawTransaction"]));
    bench.send(0, 5).await.unwrap_err();
    bench.mined(1).await;
    assert_eq!(bench.proxy.hits(rule), 1);
    let sent = &bench.proxy.trace().sent[0];
    assert_eq!((sent.signed.nonce, sent.signed.sender, &sent.fate), (0, sender(), &Fate::Taken));
}

#[tokio::test]
async fn a_duplicate_reaches_the_node_twice_and_is_answered_once() {
    let bench = bench(Mining::Instant);
    let rule = bench.proxy.add(Rule::new(Fault::Duplicate).on(&["evm_mine"]));
    bench.through.call("evm_mine", json!([])).await;
    assert_eq!(bench.anvil.rpc().number("eth_blockNumber", json!([])).await, 2);
    assert_eq!(bench.proxy.hits(rule), 1);
}

#[tokio::test]
async fn receipts_can_be_hidden_for_a_time_and_forged() {
    let bench = bench(Mining::Instant);
    let hash = bench.send(0, 5).await.unwrap();
    bench.mined(1).await;
    let receipt = async || bench.through.call("eth_getTransactionReceipt", json!([hash])).await;
    let hidden = bench.proxy.add(Rule::new(Fault::Null).lasting(Duration::from_millis(300)));
    assert_eq!(receipt().await, Value::Null);
    tokio::time::sleep(Duration::from_millis(400)).await;
    assert_eq!(receipt().await["status"], "0x1");
    let forged = bench.proxy.add(Rule::new(Fault::ForgedReceipt));
    assert_eq!(receipt().await["status"], "0x0");
    let block = bench.through.call("eth_getBlockReceipts", json!(["0x1"])).await;
    assert_eq!(block[0]["status"], "0x0");
    let unknown = bench.through.call("eth_getTransactionReceipt", json!([format!("0x{:064x}", 1)])).await;
    assert_eq!(unknown, Value::Null);
    assert_eq!((bench.proxy.hits(hidden), bench.proxy.hits(forged)), (1, 2), "a rule that changes nothing is no hit");
    bench.proxy.heal();
    assert_eq!(receipt().await["status"], "0x1");
}

#[tokio::test]
async fn counts_chain_heads_and_hashes_can_lie() {
    let bench = bench(Mining::Instant);
    let hash = bench.send(0, 5).await.unwrap();
    bench.mined(1).await;
    bench.anvil.mine(4).await;
    bench.proxy.add(Rule::new(Fault::StaleNonce(1)));
    bench.proxy.add(Rule::new(Fault::WrongChainId(1)));
    bench.proxy.add(Rule::new(Fault::StaleHead(2)));
    let other = bench.proxy.add(Rule::new(Fault::OtherHash));
    let count = bench.through.number("eth_getTransactionCount", json!([sender().to_string(), "latest"])).await;
    assert_eq!((count, bench.count("latest").await), (0, 1));
    assert_eq!(bench.through.number("eth_chainId", json!([])).await, 1);
    assert_eq!(bench.through.call("net_version", json!([])).await, "1");
    assert_eq!(bench.through.number("eth_blockNumber", json!([])).await, 3);
    let head = bench.through.call("eth_getBlockByNumber", json!(["latest", false])).await;
    assert_eq!(head["number"], "0x3");
    let lie = bench.send(1, 5).await.unwrap();
    let truth = bench.proxy.trace().sent[1].signed.hash.to_string();
    assert!(lie != truth && lie != hash && bench.proxy.hits(other) == 1);
}

#[tokio::test]
async fn busy_broken_and_slow_endpoints() {
    let bench = bench(Mining::Instant);
    let head = async || bench.through.try_call("eth_blockNumber", json!([])).await;
    for (fault, words) in [
        (Fault::Status(429), "429"),
        (Fault::Status(500), "500"),
        (Fault::Garbage, "<html>"),
        (Fault::Error(-32000, "txpool is full".to_owned()), "txpool is full"),
    ] {
        bench.proxy.add(Rule::new(fault).times(1));
        let error = head().await.unwrap_err();
        assert!(error.contains(words), "{error}");
    }
    bench.proxy.add(Rule::new(Fault::Delay(Duration::from_millis(200))).times(1));
    let start = Instant::now();
    head().await.unwrap();
    assert!(start.elapsed() >= Duration::from_millis(200));
    head().await.unwrap();
    let hits = bench.proxy.trace().hits;
    assert_eq!((hits["status"], hits["garbage"], hits["error"], hits["delay"]), (2, 1, 1, 1));
}

#[tokio::test]
async fn a_replacement_must_pay_a_tenth_more_as_at_geth() {
    let bench = bench(Mining::Manual);
    let rule = bench.proxy.add(Rule::new(Fault::ReplacementRule));
    bench.send(0, 100).await.unwrap();
    let refused = bench.send(0, 109).await.unwrap_err();
    assert_eq!(refused, "replacement transaction underpriced");
    let again = bench.send(0, 100).await.unwrap_err();
    assert_ne!(again, refused, "the same bytes are no replacement");
    bench.send(0, 110).await.unwrap();
    assert_eq!(bench.proxy.hits(rule), 1);
    assert_eq!(bench.proxy.trace().sent[1].fate, Fate::Refused(refused));
}

#[tokio::test]
async fn a_gap_in_the_nonces_is_refused() {
    let bench = bench(Mining::Manual);
    let rule = bench.proxy.add(Rule::new(Fault::GapRule));
    bench.send(0, 5).await.unwrap();
    assert_eq!(bench.send(2, 5).await.unwrap_err(), "nonce too high: next nonce 1, tx nonce 2");
    bench.send(1, 5).await.unwrap();
    bench.send(2, 5).await.unwrap();
    assert_eq!((bench.count("pending").await, bench.proxy.hits(rule)), (3, 1));
}

#[tokio::test]
async fn a_seed_gives_the_same_faults_again() {
    let anvil = Anvil::start(Mining::Manual);
    let mut runs = Vec::new();
    for seed in [1, 1, 2] {
        let proxy = FaultProxy::start(anvil.url(), seed);
        let rule = proxy.add(Rule::new(Fault::Status(500)).chance(0.5).after(4));
        let through = Rpc::new(proxy.url());
        let mut run = Vec::new();
        for _ in 0..64 {
            run.push(through.try_call("eth_chainId", json!([])).await.is_ok());
        }
        let failed = run.iter().filter(|ok| !**ok).count() as u64;
        assert!(failed == proxy.hits(rule) && (15..45).contains(&failed) && run[..4] == [true; 4]);
        runs.push(run);
    }
    assert_eq!(runs[0], runs[1]);
    assert_ne!(runs[0], runs[2]);
}
