//! The mint of ten thousand holders with lockup, beside a loop that signs and sends the same pages.

use std::time::{Duration, Instant};

use alloy::primitives::Address;
use muniment_activities::contract::line::Line as HolderLine;
use muniment_activities::token;
use muniment_activities::token::factory::{offering_id, predict_token};
use muniment_activities::token::mint::MintPage;
use serde_json::json;
use world::{Engine, Mining, Rpc};

use crate::arguments::Arguments;
use crate::bare_chain::{self, Before, Call, IN_FLIGHT};
use crate::ground::Ground;
use crate::node::Kind;
use crate::sample::since;
use crate::seed::{self, Series};
use crate::stand::{Link, Stand};
use crate::table::{Line, Table, pair};
use crate::throughput::deployment;

const PAGE: usize = 200;
const PATIENCE: Duration = Duration::from_secs(120);
/// Until when every token is locked: in seconds, and as a request says it.
const RELEASE_AT: (u64, &str) = (1_893_456_000, "2030-01-01T00:00:00Z");
const GOAL: &str = "gas ≤ 1.05 × the contract's own; ≤ 10 % over the node's own time";

/// One line for each database, each with another chain.
pub async fn measure(arguments: &Arguments, table: &mut Table) {
    for (engine, kind) in arguments.pairs() {
        table.add(one(engine, kind, arguments.either(10_000, 2_000)).await);
    }
}

/// What one way of minting took.
struct Took {
    seconds: f64,
    gas: u64,
}

impl Took {
    fn mean(&self, other: &Self) -> Self {
        Self { seconds: f64::midpoint(self.seconds, other.seconds), gas: self.gas }
    }
}

async fn one(engine: Engine, kind: Kind, holders: usize) -> Line {
    let ground = Ground::new(kind, Mining::Mixed).await;
    let tried_before = bare(&ground, holders, Before::Trial).await;
    let sent_before = bare(&ground, holders, Before::Nothing).await;
    let (ours, accepted, confirmed) = ours(engine, &ground, holders).await;
    let sent = sent_before.mean(&bare(&ground, holders, Before::Nothing).await);
    let tried = tried_before.mean(&bare(&ground, holders, Before::Trial).await);
    let per_holder = |took: &Took| took.gas as f64 / holders as f64;
    let gas = per_holder(&ours) / per_holder(&sent);
    let of = |bare: &Took| ours.seconds / bare.seconds;
    Line {
        row: "mint",
        on: format!("{}, {holders} holders in {} pages, locked", pair(engine, kind), holders.div_ceil(PAGE)),
        goal: GOAL,
        ours: format!(
            "{:.0} gas a holder; {:.1} s from the request to the last page on the chain (202 after {accepted:.1} s, all confirmed after \
             {confirmed:.1} s)",
            per_holder(&ours),
            ours.seconds
        ),
        bare: format!(
            "{:.0} gas a holder; {:.1} s to send them; {:.1} s where each is tried first, as the engine must",
            per_holder(&sent),
            sent.seconds,
            tried.seconds
        ),
        ratio: format!("gas × {gas:.3}; time × {:.2}; × {:.2} where each is tried", of(&sent), of(&tried)),
        met: Some(gas <= 1.05 && of(&sent) <= 1.1),
    }
}

/// The engine's way, the seconds until the 202 and those until everything was confirmed.
async fn ours(engine: Engine, ground: &Ground, holders: usize) -> (Took, f64, f64) {
    let stand = Stand::new(engine, 1, ground.platform).await;
    let offering = stand.series.offering(0);
    seed::subscriptions(&stand.view, stand.series, &offering, holders as u64).await;
    let (url, platform, keys) = (ground.node.url.as_str(), ground.platform, &ground.keys[..1]);
    let link = Link { url, platform, keys, poll_milliseconds: 250, block_seconds: 1 };
    let (_binary, port) = stand.start("run", Some(&link)).await;
    let mut client = stand.client(port).await;
    client.deploy(&offering).await;
    let deployed = "select count(*) from offerings where token_status = 'deployed'";
    stand.view.reached(deployed, 1, PATIENCE).await.expect("the token is deployed");
    let start = Instant::now();
    let body = json!({ "offering_id": offering, "lockup": { "release_at": RELEASE_AT.1 } }).to_string();
    let (status, answer) = client.post("/blockchain/trigger-mint", "mint-all", &body).await;
    assert_eq!(status, 202, "{answer}");
    let accepted = start.elapsed().as_secs_f64();
    let pages = holders.div_ceil(PAGE) as i64;
    let on_chain = "select count(*) from operation_steps where name = 'mintPage' and state in ('included', 'final')";
    let included = stand.view.reached(on_chain, pages, PATIENCE).await.expect("all pages are on the chain");
    let minted = "select count(*) from subscriptions where status = 'minted'";
    let confirmed = stand.view.reached(minted, holders as i64, PATIENCE).await.expect("all pages are confirmed");
    let hashes = stand.view.texts("select tx_hash from operation_steps where name = 'mintPage'").await;
    let gas = gas_of(&ground.node.rpc(), &hashes).await;
    let took = Took { seconds: (included - start).as_secs_f64(), gas };
    (took, accepted, (confirmed - start).as_secs_f64())
}

/// The gas of so many transactions together.
pub async fn gas_of(rpc: &Rpc, hashes: &[String]) -> u64 {
    let mut sum = 0;
    for hash in hashes {
        let receipt = rpc.call("eth_getTransactionReceipt", json!([hash])).await;
        let gas = receipt["gasUsed"].as_str().unwrap_or_default().trim_start_matches("0x").to_owned();
        sum += u64::from_str_radix(&gas, 16).unwrap_or_default();
    }
    sum
}

/// The same pages on a token of their own, by one signer.
async fn bare(ground: &Ground, holders: usize, before: Before) -> Took {
    let (rpc, key, offering) = (ground.node.rpc(), ground.bare_keys[0], Series::fresh().offering(0));
    let platform = ground.platform;
    bare_chain::run(&rpc, vec![(key, vec![deployment(platform.factory, &offering)])], Before::Nothing, IN_FLIGHT).await;
    let token = predict_token(platform.factory, platform.implementation, offering_id(&offering));
    let run = bare_chain::run(&rpc, vec![(key, pages(token, holders))], before, IN_FLIGHT).await;
    let last = since(run.started, &run.included).into_iter().fold(0.0, f64::max);
    Took { seconds: last, gas: run.gas.iter().sum() }
}

fn pages(token: Address, holders: usize) -> Vec<Call> {
    let line = |number: usize| HolderLine::new(seed::wallet(number), 100_000).expect("few units");
    let all: Vec<HolderLine> = (0..holders).map(line).collect();
    let page = |(op_id, lines): (u64, &[HolderLine])| {
        let page = MintPage { op_id, partition: 1, release_at: RELEASE_AT.0, lines: lines.to_vec() };
        Call { to: token, data: token::mint_page(Address::ZERO, token, &page).data }
    };
    (1..).zip(all.chunks(PAGE)).map(page).collect()
}
