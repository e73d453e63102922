//! The baseline on a chain: calls that are signed and sent without a database, with a limit of calls in flight for each signer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use alloy::consensus::{SignableTransaction, TxEip1559};
use alloy::eips::eip2718::Encodable2718;
use alloy::primitives::{Address, B256, Bytes, Signature, TxKind, U256, hex};
use alloy::signers::local::PrivateKeySigner;
use futures::FutureExt;
use secp256k1::{Message, SECP256K1, SecretKey};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use world::Rpc;

use crate::installation::CHAIN_ID;
use crate::sample::{TimeAndGas, since};
use crate::stall::{self, Progress, Stall};

/// Transactions in flight for each signer: the default of the configuration.
pub const IN_FLIGHT: usize = 16;
const FEE: u128 = 100_000_000_000;

/// A contract call.
#[derive(Clone)]
pub struct Call {
    /// The contract.
    pub to: Address,
    /// Selector and arguments.
    pub data: Bytes,
}

/// How calls are sent. All but the last send each call on its own, in any order: the node keeps those whose turn has not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// Without a check.
    Unchecked,
    /// After a simulation with their gas limit.
    Simulated,
    /// After an estimate of their gas.
    Estimated,
    /// Without a check, in the order of their nonces. The engine keeps this order, because not every node keeps a call before its turn.
    InOrder,
}

/// The result of a run.
pub struct Run {
    /// Before the first send.
    pub started: Instant,
    /// The time when each receipt was read.
    pub included: Vec<Instant>,
    /// The gas of each.
    pub gas: Vec<u64>,
    /// The longest time in which nothing was included, if it was long.
    pub pause: Option<Stall>,
}

impl Run {
    /// The time until the last receipt, and all gas.
    pub fn total(self) -> TimeAndGas {
        let seconds = since(self.started, &self.included).into_iter().fold(0.0, f64::max);
        TimeAndGas { seconds, gas: self.gas.iter().sum(), pause: self.pause }
    }
}

/// Sends each signer's calls, and waits for all receipts. A run that stands still is ended, and says what it waited for.
pub async fn run(rpc: &Rpc, lanes: Vec<(B256, Vec<Call>)>, manner: Manner, in_flight: usize) -> Result<Run, Stall> {
    let (mut ready, mut count) = (Vec::new(), 0);
    for (key, calls) in lanes {
        let signer = PrivateKeySigner::from_bytes(&key).expect("a key");
        let nonce = rpc.number("eth_getTransactionCount", json!([signer.address(), "latest"])).await;
        // Without an estimate all calls get the gas limit of the first, because they are alike.
        let limit = estimated(rpc, signer.address(), &calls[0]).await;
        count += calls.len();
        ready.push((signer, nonce, limit, calls));
    }
    let (started, seen) = (Instant::now(), Arc::new(Seen::default()));
    let mut senders = JoinSet::new();
    for (signer, nonce, limit, calls) in ready {
        senders.spawn(lane(rpc.clone(), signer, nonce, limit, calls, manner, in_flight, seen.clone()));
    }
    // Dropping the senders ends them.
    let pause = stall::until(rpc, count, &*seen).await?;
    let (included, gas) = senders.join_all().await.concat().into_iter().unzip();
    Ok(Run { started, included, gas, pause })
}

/// How many transactions the node has taken, and how many have a receipt.
#[derive(Default)]
struct Seen {
    sent: AtomicUsize,
    included: AtomicUsize,
}

impl Progress for Seen {
    fn who(&self) -> &'static str {
        "the bare loop"
    }

    async fn done(&self) -> usize {
        self.included.load(Ordering::Relaxed)
    }

    async fn node_has_work(&self) -> bool {
        self.sent.load(Ordering::Relaxed) > self.done().await
    }

    async fn details(&self) -> String {
        String::new()
    }
}

#[allow(clippy::too_many_arguments)] // A task owns all that it needs.
async fn lane(
    rpc: Rpc,
    signer: PrivateKeySigner,
    nonce: u64,
    limit: u64,
    calls: Vec<Call>,
    manner: Manner,
    in_flight: usize,
    seen: Arc<Seen>,
) -> Vec<(Instant, u64)> {
    let (in_flight_slots, mut waiting) = (Arc::new(Semaphore::new(in_flight)), JoinSet::new());
    for (nonce, call) in (nonce..).zip(calls) {
        let slot = in_flight_slots.clone().acquire_owned().await.expect("the semaphore stays open");
        let (rpc, signer, seen) = (rpc.clone(), signer.clone(), seen.clone());
        let sent = send(rpc.clone(), signer, nonce, limit, call, manner, seen.clone()).shared();
        if manner == Manner::InOrder {
            sent.clone().await;
        }
        waiting.spawn(async move {
            let found = receipt(&rpc, &sent.await, in_flight, &seen).await;
            drop(slot);
            found
        });
    }
    waiting.join_all().await
}

/// The hash of a call that the node has taken.
async fn send(
    rpc: Rpc,
    signer: PrivateKeySigner,
    nonce: u64,
    limit: u64,
    call: Call,
    manner: Manner,
    seen: Arc<Seen>,
) -> Value {
    let limit = match manner {
        Manner::Unchecked | Manner::InOrder => limit,
        Manner::Estimated => estimated(&rpc, signer.address(), &call).await,
        Manner::Simulated => simulated(&rpc, signer.address(), &call, limit).await,
    };
    let hash = rpc.call("eth_sendRawTransaction", json!([sign(&signer, nonce, limit, call)])).await;
    seen.sent.fetch_add(1, Ordering::Relaxed);
    hash
}

async fn estimated(rpc: &Rpc, from: Address, call: &Call) -> u64 {
    let params = json!([{ "from": from, "to": call.to, "data": call.data }, "latest"]);
    rpc.number("eth_estimateGas", params).await * 12 / 10
}

async fn simulated(rpc: &Rpc, from: Address, call: &Call, limit: u64) -> u64 {
    rpc.call(
        "eth_call",
        json!([{ "from": from, "to": call.to, "data": call.data, "gas": format!("{limit:#x}") }, "latest"]),
    )
    .await;
    limit
}

fn sign(signer: &PrivateKeySigner, nonce: u64, gas_limit: u64, call: Call) -> String {
    let transaction = TxEip1559 {
        chain_id: CHAIN_ID,
        nonce,
        gas_limit,
        max_fee_per_gas: FEE,
        max_priority_fee_per_gas: FEE / 100,
        to: TxKind::Call(call.to),
        value: U256::ZERO,
        access_list: Default::default(),
        input: call.data,
    };
    // As the engine signs.
    let secret = SecretKey::from_byte_array(&signer.to_bytes().0).expect("a key");
    let message = Message::from_digest(transaction.signature_hash().0);
    let (id, bytes) = SECP256K1.sign_ecdsa_recoverable(&message, &secret).serialize_compact();
    let signature = Signature::from_bytes_and_parity(&bytes, i32::from(id) & 1 == 1);
    hex::encode_prefixed(transaction.into_signed(signature).encoded_2718())
}

async fn receipt(rpc: &Rpc, hash: &Value, in_flight: usize, seen: &Seen) -> (Instant, u64) {
    // With more calls in flight each polls less often, so that the node has time to mine.
    let (mut pause, longest) = (Duration::from_millis(2), Duration::from_millis(in_flight.max(20) as u64));
    loop {
        let found: Value = rpc.call("eth_getTransactionReceipt", json!([hash])).await;
        if !found.is_null() {
            assert_eq!(found["status"], "0x1", "a bare call reverted: {found}");
            let gas = found["gasUsed"].as_str().unwrap_or_default().trim_start_matches("0x");
            seen.included.fetch_add(1, Ordering::Relaxed);
            return (Instant::now(), u64::from_str_radix(gas, 16).unwrap_or_default());
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(longest);
    }
}
