//! How a platform comes back after a fault: when it goes on, when all is confirmed, and what the chain says then.

use std::time::{Duration, Instant};

use alloy::signers::local::PrivateKeySigner;
use alloy::sol_types::SolEvent;
use muniment_activities::contract::bindings::factory::TokenFactory::TokenDeployed;
use serde_json::json;

use crate::ground::Ground;
use crate::stand::Stand;
use crate::table::Line;

const PATIENCE: Duration = Duration::from_secs(180);
/// Counts what is done.
pub const CONFIRMED: &str = "select count(*) from operations where status = 'confirmed'";
const GIVEN_UP: &str = "select count(*) from operations where status in ('failed', 'dead_letter')";

/// What was seen after a fault.
pub struct Recovered {
    since: Instant,
    unfinished: i64,
    progress: f64,
}

impl Recovered {
    /// Waits for the first progress.
    pub async fn wait(stand: &Stand, since: Instant, sql: &'static str) -> Self {
        let (before, confirmed) = (stand.view.number(sql).await, stand.view.confirmed().await);
        let all = stand.view.number("select count(*) from operations").await;
        let progress = stand.view.reached(sql, before + 1, PATIENCE).await.expect("it goes on");
        Self { since, unfinished: all - confirmed, progress: (progress - since).as_secs_f64() }
    }

    /// Waits for the end.
    pub async fn line(self, stand: &Stand, ground: &Ground, on: String, count: usize, limit: f64) -> Line {
        let all = stand.view.reached(CONFIRMED, count as i64, PATIENCE).await;
        let (lost, doubled, nonces) = compare(stand, ground, count).await;
        let given_up = stand.view.number(GIVEN_UP).await;
        let all = all.map_or("not all".to_owned(), |all| format!("{:.1} s", (all - self.since).as_secs_f64()));
        let Self { unfinished, progress, .. } = self;
        Line {
            row: "recovery",
            on,
            goal: "progress in time; lost, doubled, dead letters 0, 0, 0",
            ours: format!(
                "{unfinished} of {count} unfinished; progress after {progress:.2} s, all confirmed after {all}; lost {lost}, doubled {doubled}, \
                 dead letters {given_up}; nonces more than operations {nonces}"
            ),
            bare: "–".to_owned(),
            ratio: format!("progress within {limit:.0} s"),
            met: Some(progress <= limit && (lost, doubled, given_up, nonces) == (0, 0, 0, 0)),
        }
    }
}

/// The chain against the database: what is not confirmed, what took effect twice, and nonces that nobody accounts for.
async fn compare(stand: &Stand, ground: &Ground, count: usize) -> (i64, i64, i64) {
    let rpc = ground.node.rpc();
    let filter = json!([{ "fromBlock": "0x0", "toBlock": "latest", "address": ground.platform.factory,
        "topics": [TokenDeployed::SIGNATURE_HASH] }]);
    let deployed = rpc.call("eth_getLogs", filter).await.as_array().map_or(0, Vec::len) as i64;
    let signer = PrivateKeySigner::from_bytes(&ground.keys[0]).expect("a key").address();
    let nonces = rpc.number("eth_getTransactionCount", json!([signer, "latest"])).await.cast_signed();
    (count as i64 - stand.view.confirmed().await, deployed - count as i64, nonces - count as i64)
}
