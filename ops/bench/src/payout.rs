//! Ten thousand entitlements, snapshotted, calculated and paid by each of the three routes, beside a loop that sends the same pages.

use std::time::{Duration, Instant};

use alloy::primitives::{Address, B256, U256, keccak256};
use alloy::signers::local::PrivateKeySigner;
use chrono::{DateTime, SecondsFormat};
use muniment_activities::chain::simulate::Call as EngineCall;
use muniment_activities::contract::line::Line as PayeeLine;
use muniment_activities::payout::coin;
use muniment_activities::payout::direct::{self, PayoutPage};
use muniment_activities::payout::distributor::{self, Declaration};
use serde_json::{Value, json};
use tokio::time::sleep;
use world::{Engine, Mining};

use crate::arguments::Arguments;
use crate::bare_chain::{self, Call, IN_FLIGHT, Manner};
use crate::client::Client;
use crate::installation::{EMAIL, Installation, PASSWORD};
use crate::mint::gas_of;
use crate::network::Network;
use crate::node::NodeKind;
use crate::progress::EngineRun;
use crate::sample::{TimeAndGas, median, spread};
use crate::seed;
use crate::stall::{self, Stall};
use crate::table::{Line, Table, pair};

const PAGE: usize = 200;
const PATIENCE: Duration = Duration::from_secs(900);
/// The engine takes five seconds without a block as the end of a record date on a chain that mines on demand.
const QUIET_TIME: Duration = Duration::from_secs(6);
/// Transactions in flight where each holder has a transaction of their own.
const IN_FLIGHT_SINGLE: usize = 250;
/// One euro a holder, in a coin of six decimals.
const UNITS: u128 = 1_000_000;
const GOAL: &str = "gas ≤ 1.05 × the contract's own; everybody paid once";

/// A way to pay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route {
    /// A transaction for each holder.
    Payout,
    /// Pages directly from the payer.
    BatchPayout,
    /// An escrow in the distributor contract, paid page by page.
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

/// A payout by the platform, and the baseline before it.
struct Payout {
    /// The seconds of each step.
    times: PayoutTimes,
    paid: TimeAndGas,
    bare: TimeAndGas,
}

/// The seconds of each step of a payout by the platform.
struct PayoutTimes {
    snapshot: f64,
    calculate: f64,
    accepted: f64,
    confirmed: f64,
}

/// A line for each database, each with another chain, and each route.
pub async fn measure(arguments: &Arguments, table: &mut Table) {
    let (holders, rounds) = (arguments.either(10_000, 1_000), arguments.runs.unwrap_or_else(|| arguments.either(5, 1)));
    for (engine, kind) in arguments.pairs() {
        let pages = [Route::BatchPayout, Route::Distributor];
        by(Setting { engine, kind, holders, mining: Mining::Mixed, in_flight: IN_FLIGHT }, &pages, rounds, table).await;
        // Anvil slows down with each block, so these ten thousand transactions share a block each second.
        let single = Setting { engine, kind, holders, mining: Mining::Every(1), in_flight: IN_FLIGHT_SINGLE };
        by(single, &[Route::Payout], rounds, table).await;
    }
}

/// Where payouts are measured.
#[derive(Clone, Copy)]
struct Setting {
    engine: Engine,
    kind: NodeKind,
    holders: usize,
    mining: Mining,
    in_flight: usize,
}

async fn by(setting: Setting, routes: &[Route], rounds: usize, table: &mut Table) {
    let (mut all, mut stalls) = (Vec::with_capacity(rounds), Vec::new());
    for _ in 0..rounds {
        match round(setting, routes).await {
            Ok(payouts) => all.push(payouts),
            Err(stall) => stalls.push(stall),
        }
    }
    for (number, route) in routes.iter().enumerate() {
        let payouts: Vec<&Payout> = all.iter().map(|payouts| &payouts[number]).collect();
        table.add(line(setting, *route, &payouts, &stalls));
    }
}

/// A payout by each route on a new chain. A round with a run that stood still does not count.
async fn round(setting: Setting, routes: &[Route]) -> Result<Vec<Payout>, Stall> {
    let Setting { engine, kind, holders, mining, in_flight } = setting;
    let network = Network::new(kind, mining).await;
    let mut site = Installation::new(engine, 1, network.platform).await;
    site.in_flight = in_flight;
    let offering = site.series.offering(0);
    seed::subscriptions(&site.view, site.series, &offering, holders as u64).await;
    mint(&site, &network, &offering, holders).await;
    let token = site.view.texts("select token_address from offerings").await[0].parse().expect("an address");
    fund(&network, token).await?;
    // A payment to somebody who already has the coin costs less gas. After this run everybody has it.
    baseline(&network, token, Route::BatchPayout, setting).await?;
    let mut payouts = Vec::with_capacity(routes.len());
    for route in routes {
        let bare = baseline(&network, token, *route, setting).await?;
        site.payout_page_holders = route.page();
        let (times, paid) = pay(&site, &network, &offering, *route, setting).await?;
        payouts.push(Payout { times, paid, bare });
    }
    Ok(payouts)
}

fn line(setting: Setting, route: Route, payouts: &[&Payout], stalls: &[Stall]) -> Line {
    let of = |value: &dyn Fn(&Payout) -> f64| payouts.iter().map(|payout| value(payout)).collect::<Vec<_>>();
    let seconds = |value: &dyn Fn(&Payout) -> f64| spread(&of(value), 1);
    let per_holder = |gas: &dyn Fn(&Payout) -> u64| median(&of(&|payout| gas(payout) as f64 / setting.holders as f64));
    let gas = median(&of(&|payout| payout.paid.gas as f64 / payout.bare.gas as f64));
    let time = of(&|payout| payout.paid.seconds / payout.bare.seconds);
    let still: String = stalls.iter().map(|stall| format!("; {stall}")).collect();
    Line {
        row: "payout",
        on: format!("{}, {} entitlements by {}", pair(setting.engine, setting.kind), setting.holders, route.name()),
        goal: GOAL,
        result: format!(
            "{:.0} gas a holder; {} s from the request to the last page on the chain, in {} runs (snapshot {} s, calculated in {} s, 202 after \
             {} s, all paid after {} s){still}",
            per_holder(&|payout| payout.paid.gas),
            seconds(&|payout| payout.paid.seconds),
            payouts.len(),
            seconds(&|payout| payout.times.snapshot),
            seconds(&|payout| payout.times.calculate),
            seconds(&|payout| payout.times.accepted),
            seconds(&|payout| payout.times.confirmed),
        ),
        baseline: format!(
            "{:.0} gas a holder; {} s",
            per_holder(&|payout| payout.bare.gas),
            seconds(&|payout| payout.bare.seconds)
        ),
        ratio: format!("gas × {gas:.3}; time × {}", spread(&time, 2)),
        // A stall of the node is nobody's time.
        met: Some(gas <= 1.05 && stalls.iter().all(|stall| stall.by_node)),
    }
}

async fn mint(site: &Installation, network: &Network, offering: &str, holders: usize) {
    let (_binary, port) = site.start("run", Some(&network.link(1))).await;
    let mut client = site.client(port).await;
    site.deploy_token(&mut client, offering).await;
    site.mint_all(&mut client, offering, holders).await;
}

/// Gives both payers more coins than they pay, and approves the contracts for the payer of the baseline.
async fn fund(network: &Network, token: Address) -> Result<(), Stall> {
    let (platform, bare) = (network.platform, network.bare_keys[0]);
    let amount = U256::from(1_000_000_000_000_000u64);
    let engine_calls = vec![
        coin::mint_play_money(Address::ZERO, platform.coin, address(network.keys[0]), amount),
        coin::mint_play_money(Address::ZERO, platform.coin, address(bare), amount),
        coin::approve(Address::ZERO, platform.coin, token),
        coin::approve(Address::ZERO, platform.coin, platform.distributor),
    ];
    let lanes = vec![(bare, calls(engine_calls))];
    bare_chain::run(&network.node.rpc(), lanes, Manner::Estimated, IN_FLIGHT).await.map(drop)
}

fn address(key: B256) -> Address {
    PrivateKeySigner::from_bytes(&key).expect("a hash is a key").address()
}

fn calls(engine_calls: Vec<EngineCall>) -> Vec<Call> {
    engine_calls.into_iter().map(|call| Call { to: call.to.expect("a contract"), data: call.data }).collect()
}

/// The same pages from another payer, by one signer.
async fn baseline(network: &Network, token: Address, route: Route, setting: Setting) -> Result<TimeAndGas, Stall> {
    let Setting { holders, in_flight, .. } = setting;
    let (rpc, key, platform) = (network.node.rpc(), network.bare_keys[0], network.platform);
    let lines: Vec<_> = (0..holders).map(|n| PayeeLine::new(seed::wallet(n), UNITS).expect("few units")).collect();
    // Operation numbers and ids that the engine never uses.
    let first = keccak256(format!("{route:?} {:?}", Instant::now()));
    let number = u64::from_be_bytes(first[..8].try_into().expect("eight bytes")) >> 8;
    let mut gas = 0;
    let engine_calls: Vec<EngineCall> = match route {
        Route::Payout | Route::BatchPayout => (number..)
            .zip(lines.chunks(route.page()))
            .map(|(op_id, page)| {
                let page = PayoutPage { op_id, asset: platform.coin, lines: page.to_vec() };
                direct::pay(Address::ZERO, token, &page)
            })
            .collect(),
        Route::Distributor => {
            let declaration = Declaration {
                id: first,
                token,
                asset: platform.coin,
                total: UNITS * holders as u128,
                count: holders as u64,
                commitment: distributor::commitment(&lines),
            };
            let create = distributor::create(Address::ZERO, platform.distributor, &declaration);
            let created = bare_chain::run(&rpc, vec![(key, calls(vec![create]))], Manner::Unchecked, IN_FLIGHT);
            gas += created.await?.total().gas;
            let pages = distributor::pages(first, &lines, PAGE);
            pages.iter().map(|page| distributor::pay(Address::ZERO, platform.distributor, page)).collect()
        }
    };
    let run = bare_chain::run(&rpc, vec![(key, calls(engine_calls))], Manner::Unchecked, in_flight).await?.total();
    Ok(TimeAndGas { gas: gas + run.gas, ..run })
}

/// A distribution from its draft to the last receipt.
async fn pay(
    site: &Installation,
    network: &Network,
    offering: &str,
    route: Route,
    setting: Setting,
) -> Result<(PayoutTimes, TimeAndGas), Stall> {
    let Setting { kind, holders, .. } = setting;
    let (_binary, port) = site.start("run", Some(&network.link(1))).await;
    let mut client = site.client(port).await;
    client.log_in(EMAIL, PASSWORD).await;
    let draft = json!({ "offering_id": offering, "type": "dividend", "method": route.method(),
        "total_amount": format!("{holders}.00"), "record_date": head_time(network).await, "payment_date": head_time(network).await });
    let (status, drafted) = post(&mut client, "/v1/distributions", &format!("{route:?}"), &draft).await;
    assert_eq!(status, 201, "{drafted}");
    let id = drafted["id"].as_str().expect("an id").to_owned();
    sleep(QUIET_TIME).await;
    let begun = Instant::now();
    advance(&mut client, &id, "snapshot", 202).await;
    let taken = format!("select count(*) from distributions where id = '{id}' and status = 'snapshotted'");
    let taken = site.view.reached(&taken, 1, PATIENCE).await.expect("the snapshot is taken");
    let calculating = Instant::now();
    advance(&mut client, &id, "calculate", 200).await;
    let calculate = calculating.elapsed().as_secs_f64();
    advance(&mut client, &id, "submit", 200).await;
    let start = Instant::now();
    advance(&mut client, &id, "execute", 202).await;
    let accepted = start.elapsed().as_secs_f64();
    let of = format!("operation_steps s join operations o on o.id = s.operation_id where o.subject_id = '{id}'");
    let steps = site.view.number(&format!("select count(*) from {of}")).await;
    let on_chain = format!("select count(*) from {of} and s.state in ('included', 'final')");
    let run = EngineRun { site, kind, done: &on_chain };
    let pause = stall::until(&network.node.rpc(), usize::try_from(steps).expect("few steps"), &run).await?;
    let seconds = start.elapsed().as_secs_f64();
    let paid = format!("select count(*) from payout_receipts where distribution_id = '{id}'");
    let confirmed = site.view.reached(&paid, holders as i64, PATIENCE).await.expect("everybody is paid");
    assert_eq!(site.view.number(&paid).await, holders as i64, "one receipt each");
    let hashes = site.view.texts(&format!("select s.tx_hash from {of}")).await;
    let gas = gas_of(&network.node.rpc(), &hashes).await;
    let times = PayoutTimes {
        snapshot: (taken - begun).as_secs_f64(),
        calculate,
        accepted,
        confirmed: (confirmed - start).as_secs_f64(),
    };
    Ok((times, TimeAndGas { seconds, gas, pause }))
}

async fn post(client: &mut Client, path: &str, key: &str, body: &Value) -> (u16, Value) {
    let (status, answer) = client.post(path, key, &body.to_string()).await;
    (status, serde_json::from_str(&answer).unwrap_or(Value::String(answer)))
}

async fn advance(client: &mut Client, id: &str, verb: &str, expected: u16) {
    let (status, answer) =
        post(client, &format!("/v1/distributions/{id}/{verb}"), &format!("{verb}-{id}"), &json!({})).await;
    assert_eq!(status, expected, "{verb}: {answer}");
}

async fn head_time(network: &Network) -> String {
    let head = network.node.rpc().call("eth_getBlockByNumber", json!(["latest", false])).await;
    let seconds = head["timestamp"].as_str().unwrap_or_default().trim_start_matches("0x").to_owned();
    let at = DateTime::from_timestamp(i64::from_str_radix(&seconds, 16).unwrap_or_default(), 0);
    at.expect("a time").to_rfc3339_opts(SecondsFormat::Secs, true)
}
