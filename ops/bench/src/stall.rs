//! Tells a run that stands still from one that is slow. A run that stood still is no rate.

use std::fmt;
use std::time::{Duration, Instant};

use serde_json::json;
use world::Rpc;

/// A run that makes no progress for so long stands still: every chain here has a block each second, or with each transaction.
const STILL: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// A run that stood still, and for whom it waited.
#[derive(Clone, Debug)]
pub struct Stall {
    /// Whether the node made no block although it had transactions, or holds back the next one of an account.
    pub by_node: bool,
    text: String,
}

impl Stall {
    /// The same, with something else that was seen.
    pub fn with(mut self, seen: &str) -> Self {
        self.text += seen;
        self
    }
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Waits until so much is done. If nothing is done for too long, says who stood still: the node, if it has transactions and makes no
/// block or holds an account's next one back, or the one that was measured.
pub async fn until(
    rpc: &Rpc,
    who: &str,
    wanted: usize,
    mut done: impl AsyncFnMut() -> usize,
    node_has_work: impl AsyncFnOnce() -> bool,
) -> Result<Instant, Stall> {
    let (mut last, mut since) = (0, Instant::now());
    let mut head = (head_of(rpc).await, Instant::now());
    let mut looked = Instant::now();
    loop {
        let done = done().await;
        let now = Instant::now();
        if done >= wanted {
            return Ok(now);
        }
        if done > last {
            (last, since) = (done, now);
        }
        if looked.elapsed() > Duration::from_secs(1) {
            let number = head_of(rpc).await;
            looked = Instant::now();
            if number != head.0 {
                head = (number, looked);
            }
        }
        if since.elapsed() > STILL {
            let rests = head.1.elapsed().as_secs();
            let rested = head.1.elapsed() > STILL / 2;
            let held_back = held_back(rpc).await;
            let by_node = held_back.is_some() || rested && node_has_work().await;
            let what = match &held_back {
                Some(next) => format!("the node, which holds {next} back, with the head at {}", head.0),
                None if by_node => format!("the node, whose head rested at {} for {rests} s", head.0),
                None => format!("{who}, with the head at {}", head.0),
            } + &pool_of(rpc).await;
            return Err(Stall { by_node, text: format!("stall at {done} of {wanted}: it waited for {what}") });
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// What waits in the node's pool, as text. A node that does not know the question adds nothing.
async fn pool_of(rpc: &Rpc) -> String {
    let Ok(status) = rpc.try_call("txpool_status", json!([])).await else { return String::new() };
    let count = |of: &str| status[of].as_str().unwrap_or("0x0").trim_start_matches("0x").to_owned();
    let [pending, queued] = ["pending", "queued"].map(|of| i64::from_str_radix(&count(of), 16).unwrap_or_default());
    format!("; in its pool {pending} ready and {queued} behind a missing nonce")
}

/// A transaction that the node's pool holds as if one before it were missing, although its nonce is the account's next.
async fn held_back(rpc: &Rpc) -> Option<String> {
    let content = rpc.try_call("txpool_content", json!([])).await.ok()?;
    for (account, held) in content["queued"].as_object()? {
        let lowest = held.as_object()?.keys().filter_map(|nonce| nonce.parse::<u64>().ok()).min()?;
        if rpc.number("eth_getTransactionCount", json!([account, "latest"])).await == lowest {
            return Some(format!("nonce {lowest} of {account}"));
        }
    }
    None
}

async fn head_of(rpc: &Rpc) -> u64 {
    rpc.number("eth_blockNumber", json!([])).await
}
