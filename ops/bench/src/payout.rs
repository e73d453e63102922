//! Ten thousand entitlements, snapshotted, calculated and paid by each of the three routes, beside a loop that sends the same pages.

use std::time::{Duration, Instant};

use alloy::primitives::{Address, B256, U256, keccak256};
use alloy::signers::local::PrivateKeySigner;
use chrono::{DateTime, SecondsFormat};
use muniment_activities::chain::simulate::Call as Wish;
use muniment_activities::contract::line::Line as PayeeLine;
use muniment_activities::payout::coin;
use muniment_activities::payout::direct::{self, PayoutPage};
use muniment_activities::payout::distributor::{self, Declaration};
use serde_json::{Value, json};
use tokio::time::sleep;
use world::{Engine, Mining};

use crate::arguments::Arguments;
use crate::bare_chain::{self, Before, Call, IN_FLIGHT};
use crate::client::Client;
use crate::ground::Ground;
use crate::mint::gas_of;
use crate::node::Kind;
use crate::sample::since;
use crate::seed;
use crate::stand::{EMAIL, Link, PASSWORD, Stand};
use crate::table::{Line, Table, pair};

const PAGE: usize = 200;
const PATIENCE: Duration = Duration::from_secs(900);
/// A chain that mines at once is believed to have no more blocks of a record date after five seconds of silence.
const SILENCE: Duration = Duration::from_secs(6);
/// A lane's room where each holder has a transaction of his own.
const IN_FLIGHT_SINGLE: usize = 250;
/// One euro a holder, in a coin of six decimals.
const UNITS: u128 = 1_000_000;
const GOAL: &str = "gas ≤ 1.05 × the contract's own; everybody paid once";

/// How the money goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route {
    /// A transaction for each holder.
    Payout,
    /// Pages straight from the payer.
    BatchPayout,
    /// An escrow, and its pages in their order.
    Distributor,
}

impl Route {
    const fn name(self) -> &'static str {
        match self {
            Self::Payout => "payout",
            Self::BatchPayout => "batchPayout",
            Self::Distributor => "createDistribution + payoutForDistribution",
        }
    }

    const fn page(self) -> usize {
        if matches!(self, Self::Payout) { 1 } else { PAGE }
    }

    const fn method(self) -> &'static str {
        if matches!(self, Self::Distributor) { "distributor" } else { "direct_payout" }
    }
}

/// What one way of paying took.
struct Took {
    seconds: f64,
    gas: u64,
}

/// What the platform took, step by step, in seconds.
struct Ours {
    snapshot: f64,
    calculate: f64,
    accepted: f64,
    confirmed: f64,
    took: Took,
}

/// One line for each database, each with another chain, and each route.
pub async fn measure(arguments: &Arguments, table: &mut Table) {
    for (engine, kind) in arguments.pairs() {
        on(engine, kind, arguments.either(10_000, 1_000), table).await;
    }
}

async fn on(engine: Engine, kind: Kind, holders: usize, table: &mut Table) {
    let pages = [Route::BatchPayout, Route::Distributor];
    by(engine, kind, holders, (Mining::Mixed, IN_FLIGHT), &pages, table).await;
    // A block for each of ten thousand transactions makes anvil slower with every one: here they share a block a second.
    by(engine, kind, holders, (Mining::Every(1), IN_FLIGHT_SINGLE), &[Route::Payout], table).await;
}

async fn by(
    engine: Engine,
    kind: Kind,
    holders: usize,
    (mining, in_flight): (Mining, usize),
    routes: &[Route],
    table: &mut Table,
) {
    let ground = Ground::new(kind, mining).await;
    let mut stand = Stand::new(engine, 1, ground.platform).await;
    stand.in_flight = in_flight;
    let offering = stand.series.offering(0);
    seed::subscriptions(&stand.view, stand.series, &offering, holders as u64).await;
    minted(&stand, &ground, &offering, holders).await;
    let token = stand.view.texts("select token_address from offerings").await[0].parse().expect("an address");
    fund(&ground, token).await;
    // Who holds the coin already is paid for less: after this everybody does.
    bare(&ground, token, Route::BatchPayout, holders, in_flight).await;
    for route in routes {
        let bare = bare(&ground, token, *route, holders, in_flight).await;
        stand.payout_page_holders = route.page();
        let ours = ours(&stand, &ground, &offering, *route, holders).await;
        table.add(line(engine, kind, *route, holders, &ours, &bare));
    }
}

fn line(engine: Engine, kind: Kind, route: Route, holders: usize, ours: &Ours, bare: &Took) -> Line {
    let per_holder = |took: &Took| took.gas as f64 / holders as f64;
    let (gas, time) = (per_holder(&ours.took) / per_holder(bare), ours.took.seconds / bare.seconds);
    Line {
        row: "payout",
        on: format!("{}, {holders} entitlements by {}", pair(engine, kind), route.name()),
        goal: GOAL,
        ours: format!(
            "{:.0} gas a holder; {:.1} s from the request to the last page on the chain (snapshot {:.1} s, calculated in {:.1} s, 202 after \
             {:.1} s, all paid after {:.1} s)",
            per_holder(&ours.took),
            ours.took.seconds,
            ours.snapshot,
            ours.calculate,
            ours.accepted,
            ours.confirmed
        ),
        bare: format!("{:.0} gas a holder; {:.1} s", per_holder(bare), bare.seconds),
        ratio: format!("gas × {gas:.3}; time × {time:.2}"),
        met: Some(gas <= 1.05),
    }
}

fn link(ground: &Ground) -> Link<'_> {
    let (url, platform, keys) = (ground.node.url.as_str(), ground.platform, &ground.keys[..1]);
    Link { url, platform, keys, poll_milliseconds: 250, block_seconds: 1 }
}

async fn minted(stand: &Stand, ground: &Ground, offering: &str, holders: usize) {
    let (_binary, port) = stand.start("run", Some(&link(ground))).await;
    let mut client = stand.client(port).await;
    client.deploy(offering).await;
    let deployed = "select count(*) from offerings where token_status = 'deployed'";
    stand.view.reached(deployed, 1, PATIENCE).await.expect("the token is deployed");
    let (status, answer) =
        client.post("/blockchain/trigger-mint", "mint-all", &json!({ "offering_id": offering }).to_string()).await;
    assert_eq!(status, 202, "{answer}");
    let minted = "select count(*) from subscriptions where status = 'minted'";
    stand.view.reached(minted, holders as i64, PATIENCE).await.expect("all is minted");
}

/// Gives the engine's payer and the bare one more than they pay, and lets the contracts pull from the bare one.
async fn fund(ground: &Ground, token: Address) {
    let (platform, bare) = (ground.platform, ground.bare_keys[0]);
    let amount = U256::from(1_000_000_000_000_000u64);
    let wishes = vec![
        coin::mint_play_money(Address::ZERO, platform.coin, address(ground.keys[0]), amount),
        coin::mint_play_money(Address::ZERO, platform.coin, address(bare), amount),
        coin::approve(Address::ZERO, platform.coin, token),
        coin::approve(Address::ZERO, platform.coin, platform.distributor),
    ];
    bare_chain::run(&ground.node.rpc(), vec![(bare, calls(wishes))], Before::Estimate, IN_FLIGHT).await;
}

fn address(key: B256) -> Address {
    PrivateKeySigner::from_bytes(&key).expect("a hash is a key").address()
}

fn calls(wishes: Vec<Wish>) -> Vec<Call> {
    wishes.into_iter().map(|wish| Call { to: wish.to.expect("a contract"), data: wish.data }).collect()
}

/// The same pages out of another pocket, by one signer.
async fn bare(ground: &Ground, token: Address, route: Route, holders: usize, in_flight: usize) -> Took {
    let (rpc, key, platform) = (ground.node.rpc(), ground.bare_keys[0], ground.platform);
    let lines: Vec<_> = (0..holders).map(|n| PayeeLine::new(seed::wallet(n), UNITS).expect("few units")).collect();
    // Numbers and ids that the engine never gives.
    let first = keccak256(format!("{route:?} {:?}", Instant::now()));
    let number = u64::from_be_bytes(first[..8].try_into().expect("eight bytes")) >> 8;
    let mut gas = 0;
    let wishes: Vec<Wish> = match route {
        Route::Payout | Route::BatchPayout => (number..)
            .zip(lines.chunks(route.page()))
            .map(|(op_id, page)| {
                let page = PayoutPage { op_id, asset: platform.coin, lines: page.to_vec() };
                direct::pay(Address::ZERO, token, &page)
            })
            .collect(),
        Route::Distributor => {
            let declared = Declaration {
                id: first,
                token,
                asset: platform.coin,
                total: UNITS * holders as u128,
                count: holders as u64,
                commitment: distributor::commitment(&lines),
            };
            let create = distributor::create(Address::ZERO, platform.distributor, &declared);
            gas += bare_chain::run(&rpc, vec![(key, calls(vec![create]))], Before::Nothing, IN_FLIGHT)
                .await
                .gas
                .iter()
                .sum::<u64>();
            let pages = distributor::pages(first, &lines, PAGE);
            pages.iter().map(|page| distributor::pay(Address::ZERO, platform.distributor, page)).collect()
        }
    };
    let run = bare_chain::run(&rpc, vec![(key, calls(wishes))], Before::Nothing, in_flight).await;
    let seconds = since(run.started, &run.included).into_iter().fold(0.0, f64::max);
    Took { seconds, gas: gas + run.gas.iter().sum::<u64>() }
}

/// A distribution from its draft to the last receipt.
async fn ours(stand: &Stand, ground: &Ground, offering: &str, route: Route, holders: usize) -> Ours {
    let (_binary, port) = stand.start("run", Some(&link(ground))).await;
    let mut client = stand.client(port).await;
    client.log_in(EMAIL, PASSWORD).await;
    let draft = json!({ "offering_id": offering, "type": "dividend", "method": route.method(),
        "total_amount": format!("{holders}.00"), "record_date": head_time(ground).await, "payment_date": head_time(ground).await });
    let (status, drafted) = asked(&mut client, "/v1/distributions", &format!("{route:?}"), &draft).await;
    assert_eq!(status, 201, "{drafted}");
    let id = drafted["id"].as_str().expect("an id").to_owned();
    sleep(SILENCE).await;
    let begun = Instant::now();
    advance(&mut client, &id, "snapshot", 202).await;
    let taken = format!("select count(*) from distributions where id = '{id}' and status = 'snapshotted'");
    let taken = stand.view.reached(&taken, 1, PATIENCE).await.expect("the snapshot is taken");
    let calculating = Instant::now();
    advance(&mut client, &id, "calculate", 200).await;
    let calculate = calculating.elapsed().as_secs_f64();
    advance(&mut client, &id, "submit", 200).await;
    let start = Instant::now();
    advance(&mut client, &id, "execute", 202).await;
    let accepted = start.elapsed().as_secs_f64();
    let of = format!("operation_steps s join operations o on o.id = s.operation_id where o.subject_id = '{id}'");
    let steps = stand.view.number(&format!("select count(*) from {of}")).await;
    let on_chain = format!("select count(*) from {of} and s.state in ('included', 'final')");
    let included = stand.view.reached(&on_chain, steps, PATIENCE).await.expect("all pages are on the chain");
    let paid = format!("select count(*) from payout_receipts where distribution_id = '{id}'");
    let confirmed = stand.view.reached(&paid, holders as i64, PATIENCE).await.expect("everybody is paid");
    assert_eq!(stand.view.number(&paid).await, holders as i64, "one receipt each");
    let hashes = stand.view.texts(&format!("select s.tx_hash from {of}")).await;
    let took = Took { seconds: (included - start).as_secs_f64(), gas: gas_of(&ground.node.rpc(), &hashes).await };
    Ours {
        snapshot: (taken - begun).as_secs_f64(),
        calculate,
        accepted,
        confirmed: (confirmed - start).as_secs_f64(),
        took,
    }
}

async fn asked(client: &mut Client, path: &str, once: &str, body: &Value) -> (u16, Value) {
    let (status, answer) = client.post(path, once, &body.to_string()).await;
    (status, serde_json::from_str(&answer).unwrap_or(Value::String(answer)))
}

async fn advance(client: &mut Client, id: &str, verb: &str, wanted: u16) {
    let (status, answer) =
        asked(client, &format!("/v1/distributions/{id}/{verb}"), &format!("{verb}-{id}"), &json!({})).await;
    assert_eq!(status, wanted, "{verb}: {answer}");
}

async fn head_time(ground: &Ground) -> String {
    let head = ground.node.rpc().call("eth_getBlockByNumber", json!(["latest", false])).await;
    let seconds = head["timestamp"].as_str().unwrap_or_default().trim_start_matches("0x").to_owned();
    let at = DateTime::from_timestamp(i64::from_str_radix(&seconds, 16).unwrap_or_default(), 0);
    at.expect("a time").to_rfc3339_opts(SecondsFormat::Secs, true)
}
