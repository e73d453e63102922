//! The recovery after a fault: the time until progress, the time until all is confirmed, and a comparison with the chain.

use std::time::{Duration, Instant};

use alloy::signers::local::PrivateKeySigner;
use alloy::sol_types::SolEvent;
use muniment_activities::contract::bindings::factory::TokenFactory::TokenDeployed;
use serde_json::json;

use crate::installation::Installation;
use crate::network::Network;
use crate::table::Line;
use crate::view::CONFIRMED;

const PATIENCE: Duration = Duration::from_secs(180);
const GIVEN_UP: &str = "select count(*) from operations where status in ('failed', 'dead_letter')";

/// A recovery after a fault.
pub struct Recovered {
    since: Instant,
    unfinished: i64,
    progress: f64,
}

impl Recovered {
    /// Waits for the first progress.
    pub async fn wait(site: &Installation, since: Instant, sql: &'static str) -> Self {
        let (before, confirmed) = (site.view.number(sql).await, site.view.confirmed().await);
        let all = site.view.number("select count(*) from operations").await;
        let progress = site.view.reached(sql, before + 1, PATIENCE).await.expect("there is progress");
        Self { since, unfinished: all - confirmed, progress: (progress - since).as_secs_f64() }
    }

    /// Waits until all operations are confirmed.
    pub async fn line(self, site: &Installation, network: &Network, on: String, count: usize, limit: f64) -> Line {
        let all = site.view.reached(CONFIRMED, count as i64, PATIENCE).await;
        let (lost, doubled, nonces) = compare(site, network, count).await;
        let given_up = site.view.number(GIVEN_UP).await;
        let all = all.map_or("not all".to_owned(), |all| format!("{:.1} s", (all - self.since).as_secs_f64()));
        let Self { unfinished, progress, .. } = self;
        Line {
            row: "recovery",
            on,
            goal: "progress in time; lost, doubled, dead letters 0, 0, 0",
            result: format!(
                "{unfinished} of {count} unfinished; progress after {progress:.2} s, all confirmed after {all}; lost {lost}, doubled {doubled}, \
                 dead letters {given_up}; nonces more than operations {nonces}"
            ),
            baseline: "–".to_owned(),
            ratio: format!("progress within {limit:.0} s"),
            met: Some(progress <= limit && (lost, doubled, given_up, nonces) == (0, 0, 0, 0)),
        }
    }
}

/// Compares chain and database. Returns the unconfirmed operations, the repeated effects and the unexplained nonces.
async fn compare(site: &Installation, network: &Network, count: usize) -> (i64, i64, i64) {
    let rpc = network.node.rpc();
    let filter = json!([{ "fromBlock": "0x0", "toBlock": "latest", "address": network.platform.factory,
        "topics": [TokenDeployed::SIGNATURE_HASH] }]);
    let deployed = rpc.call("eth_getLogs", filter).await.as_array().map_or(0, Vec::len) as i64;
    let signer = PrivateKeySigner::from_bytes(&network.keys[0]).expect("a key").address();
    let nonces = rpc.number("eth_getTransactionCount", json!([signer, "latest"])).await.cast_signed();
    (count as i64 - site.view.confirmed().await, deployed - count as i64, nonces - count as i64)
}
