//! Rules of this chain that are stricter than those of the reference node.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod world;

use std::time::Duration;

use alloy::consensus::crypto::SECP256K1N_HALF;
use alloy::consensus::{SignableTransaction, TxEnvelope};
use alloy::eips::eip2718::{Decodable2718, Encodable2718};
use alloy::primitives::{Address, Bytes, Signature, TxKind, U256, address};
use muniment_devchain::{Config, Devchain};
use serde_json::{Value, json};
use world::contract::{self, command};
use world::http::{Client, serve};
use world::wallet::{GWEI, Raw, Tx, Wallet};

const NOBODY: Address = address!("00000000000000000000000000000000000ff1ce");

fn chain() -> Devchain {
    Devchain::open(Config::default()).unwrap()
}

fn ask(chain: &Devchain, method: &str, params: Value) -> Value {
    chain.handle(json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }))
}

fn send(chain: &Devchain, raw: &Raw) -> Value {
    ask(chain, "eth_sendRawTransaction", raw.params())
}

#[test]
fn a_signature_with_the_higher_s_is_refused() {
    let (chain, wallet) = (chain(), Wallet::new(0));
    let accepted = wallet.sign_legacy(Tx::transfer(0, NOBODY, 1));
    let envelope = TxEnvelope::decode_2718(&mut &accepted.bytes[..]).unwrap();
    let (tx, low, _) = envelope.as_legacy().unwrap().clone().into_parts();
    let order = SECP256K1N_HALF * U256::from(2) + U256::from(1);
    let high = Signature::new(low.r(), order - low.s(), !low.v());
    assert_eq!(high.recover_address_from_prehash(&tx.signature_hash()).unwrap(), wallet.address());
    let raw: Bytes = TxEnvelope::from(tx.into_signed(high)).encoded_2718().into();
    assert_eq!(ask(&chain, "eth_sendRawTransaction", json!([raw]))["error"]["message"], "invalid sender");
    assert_eq!(send(&chain, &accepted)["result"], json!(accepted.hash));
}

#[test]
fn a_replacement_must_raise_both_fees_by_a_tenth() {
    let chain = chain();
    ask(&chain, "evm_setAutomine", json!([false]));
    let wallet = Wallet::new(0);
    let offer = |fee, tip| wallet.sign(Tx::transfer(0, NOBODY, 1).fees(fee, tip));
    let first = offer(100 * GWEI, 10 * GWEI);
    assert_eq!(send(&chain, &first)["result"], json!(first.hash));
    for (fee, tip) in [(109, 11), (110, 10), (200, 10), (109, 20)] {
        let answer = send(&chain, &offer(fee * GWEI, tip * GWEI));
        assert_eq!(answer["error"]["message"], "replacement transaction underpriced", "{fee} {tip}");
    }
    let second = offer(110 * GWEI, 11 * GWEI);
    assert_eq!(send(&chain, &second)["result"], json!(second.hash));
    assert_eq!(send(&chain, &second)["error"]["message"], "already known");
    ask(&chain, "evm_mine", json!([]));
    assert!(ask(&chain, "eth_getTransactionReceipt", json!([first.hash]))["result"].is_null());
    assert_eq!(ask(&chain, "eth_getTransactionReceipt", json!([second.hash]))["result"]["status"], "0x1");
}

#[test]
fn a_batch_of_transactions_is_one_block_and_each_gets_its_own_answer() {
    let chain = chain();
    let wallet = Wallet::new(0);
    let raws: Vec<Raw> = (0..5).map(|nonce| wallet.sign(Tx::transfer(nonce, NOBODY, 1))).collect();
    let call = |id: usize, raw: &Raw| json!({ "jsonrpc": "2.0", "id": id, "method": "eth_sendRawTransaction", "params": raw.params() });
    let mut batch: Vec<Value> = raws.iter().enumerate().map(|(id, raw)| call(id, raw)).collect();
    batch.insert(2, json!({ "jsonrpc": "2.0", "id": 9, "method": "eth_sendRawTransaction", "params": ["0x00"] }));
    batch.push(json!({ "jsonrpc": "2.0", "id": 10, "method": "eth_blockNumber" }));
    let answers = chain.handle(Value::Array(batch));
    let ids: Vec<u64> = answers.as_array().unwrap().iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
    assert_eq!(ids, [0, 1, 9, 2, 3, 4, 10]);
    assert_eq!(answers[2]["error"]["code"], -32602);
    assert_eq!(answers[6]["result"], "0x1", "a batch is one block");
    for (raw, answer) in raws.iter().zip([0, 1, 3, 4, 5]) {
        assert_eq!(answers[answer]["result"], json!(raw.hash));
        assert_eq!(ask(&chain, "eth_getTransactionReceipt", json!([raw.hash]))["result"]["blockNumber"], "0x1");
    }
}

#[test]
fn a_block_holds_no_more_gas_than_its_limit() {
    let chain = chain();
    ask(&chain, "evm_setAutomine", json!([false]));
    let wallet = Wallet::new(0);
    for nonce in 0..4 {
        let spin = Tx::new(nonce, TxKind::Create, vec![0x5b, 0x5f, 0x56]).gas(11_000_000);
        assert!(send(&chain, &wallet.sign(spin)).get("error").is_none());
    }
    ask(&chain, "evm_mine", json!([]));
    let block = ask(&chain, "eth_getBlockByNumber", json!(["latest", false]))["result"].clone();
    assert_eq!(block["transactions"].as_array().unwrap().len(), 2);
    let nonce = |tag: &str| ask(&chain, "eth_getTransactionCount", json!([wallet.address(), tag]))["result"].clone();
    assert_eq!((nonce("latest"), nonce("pending")), (json!("0x2"), json!("0x4")));
}

#[test]
fn a_batch_that_is_too_large_for_one_block_is_mined_in_several() {
    let chain = chain();
    let wallet = Wallet::new(0);
    let call = |nonce| {
        let raw = wallet.sign(Tx::new(nonce, TxKind::Call(NOBODY), vec![]).gas(9_000_000));
        json!({ "jsonrpc": "2.0", "id": nonce, "method": "eth_sendRawTransaction", "params": raw.params() })
    };
    chain.handle((0..1_500).map(call).collect());
    let count = ask(&chain, "eth_getTransactionCount", json!([wallet.address(), "latest"]));
    assert_eq!(count["result"], "0x5dc");
    assert_eq!(ask(&chain, "eth_blockNumber", json!([]))["result"], "0x2", "30 million gas hold about 1,000 transfers");
}

#[test]
fn a_transaction_that_can_no_longer_pay_leaves_the_pool() {
    let chain = chain();
    ask(&chain, "evm_setAutomine", json!([false]));
    let wallet = Wallet::new(0);
    let most = Tx { value: U256::from(9_999) * U256::from(10).pow(U256::from(18)), ..Tx::transfer(0, NOBODY, 0) };
    let second = wallet.sign(Tx { value: most.value, ..Tx::transfer(1, NOBODY, 0) });
    assert!(send(&chain, &wallet.sign(most)).get("error").is_none());
    assert!(send(&chain, &second).get("error").is_none());
    ask(&chain, "evm_mine", json!([]));
    assert!(ask(&chain, "eth_getTransactionByHash", json!([second.hash]))["result"].is_null());
    let block = ask(&chain, "eth_getBlockByNumber", json!(["latest", false]))["result"].clone();
    assert_eq!(block["transactions"].as_array().unwrap().len(), 1);
    ask(&chain, "evm_setAutomine", json!([true]));
    assert_eq!(ask(&chain, "eth_blockNumber", json!([]))["result"], "0x1", "nothing is left to mine");
}

#[test]
fn past_states_are_exact_inside_the_window_and_pruned_outside() {
    let chain = Devchain::open(Config { history_blocks: 5, ..Config::default() }).unwrap();
    let wallet = Wallet::new(0);
    let deploy = wallet.sign(Tx::new(0, TxKind::Create, contract::init(&contract::runtime())));
    send(&chain, &deploy);
    let contract = wallet.address().create(0);
    for nonce in 1..20 {
        // A slot is set, changed and cleared in turn.
        let store = command(contract::STORE, &[U256::from(1), U256::from(nonce % 3)]);
        send(&chain, &wallet.sign(Tx::new(nonce, TxKind::Call(contract), store)));
    }
    let load = json!({ "to": contract, "data": command(contract::LOAD, &[U256::from(1)]) });
    for number in 0..=20_u64 {
        let answer = ask(&chain, "eth_call", json!([load, format!("{number:#x}")]));
        if number < 15 {
            assert!(answer["error"]["message"].as_str().unwrap().starts_with("state pruned"), "{answer}");
        } else {
            assert_eq!(answer["result"], json!(format!("{:#066x}", (number - 1) % 3)), "block {number}");
        }
    }
}

#[test]
fn the_final_block_is_the_head_and_nothing_takes_it_back() {
    let chain = chain();
    ask(&chain, "evm_mine", json!([]));
    let latest = ask(&chain, "eth_getBlockByNumber", json!(["latest", false]));
    for tag in ["safe", "finalized"] {
        assert_eq!(ask(&chain, "eth_getBlockByNumber", json!([tag, false])), latest);
    }
    for method in ["evm_snapshot", "evm_revert"] {
        assert!(ask(&chain, method, json!([]))["error"]["message"].as_str().unwrap().contains("final"));
    }
}

#[test]
fn blocks_come_at_intervals_and_travel_in_time() {
    let served = serve(Config { block_time: Some(Duration::from_millis(50)), ..Config::default() });
    let mut client = Client::connect(&served.address).unwrap();
    let raw = Wallet::new(0).sign(Tx::transfer(0, NOBODY, 1));
    client.ok("eth_sendRawTransaction", raw.params());
    let mut tries = 0;
    while client.ok("eth_getTransactionReceipt", json!([raw.hash])).is_null() {
        std::thread::sleep(Duration::from_millis(10));
        tries += 1;
        assert!(tries < 500, "nothing is mined");
    }
    client.ok("evm_setAutomine", json!([true]));
    let time = |client: &mut Client| {
        client.ok("evm_mine", json!([]));
        let block = client.ok("eth_getBlockByNumber", json!(["latest", false]));
        u64::from_str_radix(&block["timestamp"].as_str().unwrap()[2..], 16).unwrap()
    };
    let before = time(&mut client);
    client.ok("evm_increaseTime", json!([3600]));
    assert!((before + 3600..before + 3700).contains(&time(&mut client)));
}

#[test]
fn many_readers_and_senders_do_not_wait_for_each_other_for_ever() {
    let chain = chain();
    std::thread::scope(|scope| {
        for sender in 0..3 {
            let chain = &chain;
            scope.spawn(move || {
                let wallet = Wallet::new(sender);
                for nonce in 0..60 {
                    let answer = send(chain, &wallet.sign(Tx::transfer(nonce, NOBODY, 1)));
                    assert!(answer["result"].is_string(), "{answer}");
                }
            });
            scope.spawn(move || {
                for _ in 0..200 {
                    ask(chain, "eth_getBlockByNumber", json!(["pending", true]));
                    ask(chain, "eth_call", json!([{ "to": NOBODY }, "pending"]));
                    ask(chain, "evm_increaseTime", json!([1]));
                    let pending =
                        ask(chain, "eth_getTransactionCount", json!([Wallet::new(sender).address(), "pending"]));
                    let latest =
                        ask(chain, "eth_getTransactionCount", json!([Wallet::new(sender).address(), "latest"]));
                    assert!(pending["result"].is_string() && latest["result"].is_string());
                }
            });
        }
    });
    for sender in 0..3 {
        let count = ask(&chain, "eth_getTransactionCount", json!([Wallet::new(sender).address(), "latest"]));
        assert_eq!(count["result"], "0x3c");
    }
}
