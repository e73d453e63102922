//! Transactions a second over HTTP: one by one with many in flight, and in batches.
//!
//! `load [folder]`: with a folder every block is on the disk before it is answered.
#![allow(clippy::unwrap_used, reason = "a measurement that cannot go on should stop")]

#[path = "../tests/world/mod.rs"]
mod world;

use std::time::Instant;

use muniment_devchain::Config;
use serde_json::{Value, json};
use world::http::{Client, serve};
use world::wallet::{Raw, Tx, Wallet};

const TRANSACTIONS: u64 = 6_000;
const IN_FLIGHT: u64 = 16;

fn sign(wallet: &Wallet, from: u64, count: u64) -> Vec<Raw> {
    (from..from + count).map(|nonce| wallet.sign(Tx::transfer(nonce, Wallet::new(2).address(), 1))).collect()
}

fn body(raw: &Raw) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_sendRawTransaction", "params": raw.params() })
}

/// One sender whose nonces may arrive out of order: the pool puts them right.
fn single(address: &str, raws: &[Raw]) {
    std::thread::scope(|scope| {
        for lane in 0..IN_FLIGHT as usize {
            scope.spawn(move || {
                let Ok(mut client) = Client::connect(address) else { return };
                for raw in raws.iter().skip(lane).step_by(IN_FLIGHT as usize) {
                    let answer = client.post(&body(raw).to_string());
                    assert!(answer.is_ok_and(|answer| answer.get("result").is_some()));
                }
            });
        }
    });
}

fn batches(address: &str, raws: &[Raw], size: usize) {
    let Ok(mut client) = Client::connect(address) else { return };
    for raws in raws.chunks(size) {
        let batch: Value = raws.iter().map(body).collect();
        assert!(client.post(&batch.to_string()).is_ok());
    }
}

fn main() {
    let dir = std::env::args().nth(1).map(Into::into);
    println!("{}", if dir.is_some() { "on disk" } else { "in memory" });
    let served = serve(Config { dir, ..Config::default() });
    let wallet = Wallet::new(0);
    let mut nonce = 0;
    let mut run = |name: &str, send: &dyn Fn(&[Raw])| {
        let raws = sign(&wallet, nonce, TRANSACTIONS);
        nonce += TRANSACTIONS;
        let start = Instant::now();
        send(&raws);
        println!("{name}: {:.0} transactions a second", TRANSACTIONS as f64 / start.elapsed().as_secs_f64());
    };
    run("one by one, 16 in flight", &|raws| single(&served.address, raws));
    run("batches of 16", &|raws| batches(&served.address, raws, 16));
    run("batches of 50", &|raws| batches(&served.address, raws, 50));
    run("batches of 500", &|raws| batches(&served.address, raws, 500));
}
