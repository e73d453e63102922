//! Tells a run that stands still from one that is slow. A run that stood still is no rate.

use std::fmt;
use std::time::{Duration, Instant};

use serde_json::json;
use world::Rpc;

/// A run that makes no progress for so long stands still: every chain here has a block each second, or with each transaction.
const STILL: Duration = Duration::from_secs(10);
/// A shorter one is named too, because it decides the rate of a run of a few seconds.
const PAUSE: Duration = Duration::from_secs(1);
/// Each look costs the server a count of what is done.
const LOOK_AGAIN: Duration = Duration::from_millis(25);
const LOOK_AT_HEAD: Duration = Duration::from_millis(200);

/// A run that stood still, and for whom it waited.
#[derive(Clone, Debug)]
pub struct Stall {
    /// Whether the node made no block although it had transactions, or holds back the next one of an account.
    pub by_node: bool,
    lasted: Duration,
    at: usize,
    wanted: usize,
    what: String,
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, wanted, what, lasted, .. } = self;
        write!(f, "still for {:.1} s at {at} of {wanted}: it waited for {what}", lasted.as_secs_f64())
    }
}

impl Stall {
    /// Of two pauses the one that is not the node's counts for more, then the longer one.
    fn weight(&self) -> (bool, Duration) {
        (!self.by_node, self.lasted)
    }
}

/// The pause of a run that counts. One that waited for the node does not: its time is the node's.
pub fn unless_by_node(pause: Option<Stall>) -> Result<Option<Stall>, Stall> {
    match pause {
        Some(pause) if pause.by_node => Err(pause),
        pause => Ok(pause),
    }
}

/// A run that is measured.
pub trait Progress {
    /// Who stands still when the node does not.
    fn who(&self) -> &'static str;

    /// How much is done.
    async fn done(&self) -> usize;

    /// Whether something waits for the node: a transaction that it has, or a block that would make others final.
    async fn node_has_work(&self) -> bool;

    /// What else is worth knowing of a run that stands still.
    async fn details(&self) -> String;
}

/// Waits until so much is done. Returns the longest time of more than a second in which nothing was done; one of the node only if there is no
/// other. If nothing is done for too long, the run is ended. Both say who stood still: the node, if it has transactions and makes no block
/// or holds an account's next one back, or the one that was measured.
pub async fn until(rpc: &Rpc, wanted: usize, run: &impl Progress) -> Result<Option<Stall>, Stall> {
    let (mut last, mut since) = (0, Instant::now());
    let mut head = (head_of(rpc).await, Instant::now());
    let mut looked = Instant::now();
    // The longest pause so far, and the present one.
    let (mut longest, mut pause): (Option<Stall>, Option<Stall>) = (None, None);
    loop {
        let done = run.done().await;
        if done > last {
            if let Some(ended) = pause.take().map(|pause| Stall { lasted: since.elapsed(), ..pause })
                && longest.as_ref().is_none_or(|longest| longest.weight() < ended.weight())
            {
                longest = Some(ended);
            }
            (last, since) = (done, Instant::now());
        }
        if done >= wanted {
            return Ok(longest);
        }
        if looked.elapsed() > LOOK_AT_HEAD {
            let number = head_of(rpc).await;
            looked = Instant::now();
            if number != head.0 {
                head = (number, looked);
            }
        }
        let lasted = since.elapsed();
        if lasted > STILL || lasted > pause.as_ref().map_or(PAUSE, |pause| pause.lasted + PAUSE) {
            let (by_node, what) = waited_for(rpc, run, head, lasted).await;
            let stall = Stall { by_node, lasted, at: done, wanted, what };
            if lasted > STILL {
                return Err(stall);
            }
            // It is the node's only if it is so each time.
            pause = match pause {
                Some(earlier) if !earlier.by_node => Some(Stall { lasted, ..earlier }),
                _ => Some(stall),
            };
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// Whether a run waits for the node, and the one that it waits for, as text.
async fn waited_for(rpc: &Rpc, run: &impl Progress, head: (u64, Instant), lasted: Duration) -> (bool, String) {
    let rests = head.1.elapsed();
    let held_back = held_back(rpc).await;
    let by_node = held_back.is_some() || rests > lasted / 2 && run.node_has_work().await;
    let who = match &held_back {
        Some(next) => format!("the node, which holds {next} back, with the head at {}", head.0),
        None if by_node => format!("the node, whose head rested at {} for {:.1} s", head.0, rests.as_secs_f64()),
        None => format!("{}, with the head at {}", run.who(), head.0),
    };
    (by_node, who + &pool_of(rpc).await + &run.details().await)
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
