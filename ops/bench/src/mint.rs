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
use crate::bare_chain::{self, Call, IN_FLIGHT, Manner, Run};
use crate::installation::Installation;
use crate::network::Network;
use crate::node::NodeKind;
use crate::progress::EngineRun;
use crate::sample::{TimeAndGas, median, spread};
use crate::seed::{self, Series};
use crate::stall::{self, Stall};
use crate::table::{Line, Table, pair};
use crate::throughput::deployment;

const PAGE: usize = 200;
const PATIENCE: Duration = Duration::from_secs(120);
/// The release time of all locks: in seconds, and as text.
const RELEASE_AT: (u64, &str) = (1_893_456_000, "2030-01-01T00:00:00Z");
const GOAL: &str = "gas ≤ 1.05 × the contract's own; ≤ 10 % over the node's own time";

/// One line for each database, each with another chain, and one more where anvil mines every second.
pub async fn measure(arguments: &Arguments, table: &mut Table) {
    let (holders, rounds) = (arguments.either(10_000, 2_000), arguments.runs.unwrap_or_else(|| arguments.either(5, 2)));
    for (engine, kind) in arguments.pairs() {
        // Anvil leaves the last transactions of a mint to its timer, which would cost a second here and there.
        table.add(by(engine, kind, holders, (Mining::Quick, ""), rounds).await);
        if kind == NodeKind::Anvil && !arguments.quick {
            // Its runs hardly differ, and each takes more than a minute.
            table.add(by(engine, kind, holders, (Mining::Every(1), ", a block every second"), 1).await);
        }
    }
}

async fn by(engine: Engine, kind: NodeKind, holders: usize, (mining, how): (Mining, &str), rounds: usize) -> Line {
    let (mut all, mut stalls) = (Vec::with_capacity(rounds), Vec::new());
    for _ in 0..rounds {
        match round(engine, kind, mining, holders).await {
            Ok(round) => all.push(round),
            Err(stall) => stalls.push(stall),
        }
    }
    line(&format!("{}{how}", pair(engine, kind)), holders, &all, &stalls)
}

/// One mint by the engine, and the baselines around it.
struct Round {
    ours: TimeAndGas,
    /// The seconds until the 202, and until everything is confirmed.
    accepted: f64,
    confirmed: f64,
    sent: TimeAndGas,
    /// The seconds of the baselines that simulate each page, and that send the pages in order.
    tried: f64,
    in_order: f64,
}

/// Each baseline runs before and after the engine, at the same distance: every mint makes the node slower for the next one. A round with a run
/// that stood still, or waited for the node, does not count.
async fn round(engine: Engine, kind: NodeKind, mining: Mining, holders: usize) -> Result<Round, Stall> {
    let network = Network::new(kind, mining).await;
    let bare = async |manner| {
        let run = baseline(&network, holders, manner).await?;
        without_node(mining, run)
    };
    let in_order_before = bare(Manner::InOrder).await?;
    let tried_before = bare(Manner::Simulated).await?;
    let sent_before = bare(Manner::Unchecked).await?;
    let (ours, accepted, confirmed) = mint(engine, kind, &network, holders).await?;
    let ours = without_node(mining, ours)?;
    let sent_after = bare(Manner::Unchecked).await?;
    let tried_after = bare(Manner::Simulated).await?;
    let in_order_after = bare(Manner::InOrder).await?;
    let mean = |one: &TimeAndGas, other: &TimeAndGas| f64::midpoint(one.seconds, other.seconds);
    Ok(Round {
        ours,
        accepted,
        confirmed,
        sent: TimeAndGas { seconds: mean(&sent_before, &sent_after), ..sent_before },
        tried: mean(&tried_before, &tried_after),
        in_order: mean(&in_order_before, &in_order_after),
    })
}

/// Where a block is made every second, a run waits for each.
fn without_node(mining: Mining, run: TimeAndGas) -> Result<TimeAndGas, Stall> {
    let pause = if mining == Mining::Quick { stall::unless_by_node(run.pause)? } else { None };
    Ok(TimeAndGas { pause, ..run })
}

fn line(on: &str, holders: usize, rounds: &[Round], stalls: &[Stall]) -> Line {
    let of = |value: &dyn Fn(&Round) -> f64| rounds.iter().map(value).collect::<Vec<_>>();
    let seconds = |value: &dyn Fn(&Round) -> f64| spread(&of(value), 1);
    let per_holder = |total: &dyn Fn(&Round) -> u64| median(&of(&|round| total(round) as f64 / holders as f64));
    let gas = median(&of(&|round| round.ours.gas as f64 / round.sent.gas as f64));
    let time = of(&|round| round.ours.seconds / round.sent.seconds);
    let tried = of(&|round| round.ours.seconds / round.tried);
    let in_order = of(&|round| round.ours.seconds / round.in_order);
    let from_accepted = of(&|round| (round.ours.seconds - round.accepted) / round.sent.seconds);
    let pauses = rounds.iter().filter_map(|round| round.ours.pause.as_ref());
    let still: String = pauses.chain(stalls).map(|stall| format!("; {stall}")).collect();
    Line {
        row: "mint",
        on: format!("{on}, {holders} holders in {} pages, locked", holders.div_ceil(PAGE)),
        goal: GOAL,
        result: format!(
            "{:.0} gas a holder; {} s from the request to the last page on the chain, in {} runs (202 after {} s, all confirmed after {} s){still}",
            per_holder(&|round| round.ours.gas),
            seconds(&|round| round.ours.seconds),
            rounds.len(),
            seconds(&|round| round.accepted),
            seconds(&|round| round.confirmed),
        ),
        baseline: format!(
            "{:.0} gas a holder; {} s to send them; {} s where each is simulated first, as the engine does; {} s in the order of their nonces, as the engine does",
            per_holder(&|round| round.sent.gas),
            seconds(&|round| round.sent.seconds),
            seconds(&|round| round.tried),
            seconds(&|round| round.in_order),
        ),
        ratio: format!(
            "gas × {gas:.3}; time × {}, or × {} from the 202 on; × {} where each is simulated; × {} in order",
            spread(&time, 2),
            spread(&from_accepted, 2),
            spread(&tried, 2),
            spread(&in_order, 2)
        ),
        // A stall of the node is nobody's time.
        met: Some(gas <= 1.05 && median(&time) <= 1.1 && stalls.iter().all(|stall| stall.by_node)),
    }
}

/// The pages of the mint on the chain.
const ON_CHAIN: &str =
    "select count(*) from operation_steps where name = 'mintPage' and state in ('included', 'final')";

/// The engine's mint, the seconds until the 202, and the seconds until everything is confirmed.
async fn mint(
    engine: Engine,
    kind: NodeKind,
    network: &Network,
    holders: usize,
) -> Result<(TimeAndGas, f64, f64), Stall> {
    let site = Installation::new(engine, 1, network.platform).await;
    let offering = site.series.offering(0);
    seed::subscriptions(&site.view, site.series, &offering, holders as u64).await;
    if engine == Engine::Postgres {
        // As autovacuum does within a minute. Until then the plans are those of empty tables.
        site.view.execute("analyze").await;
    }
    let (_binary, port) = site.start("run", Some(&network.link(1))).await;
    let mut client = site.client(port).await;
    site.deploy_token(&mut client, &offering).await;
    let start = Instant::now();
    let body = json!({ "offering_id": offering, "lockup": { "release_at": RELEASE_AT.1 } }).to_string();
    let (status, answer) = client.post("/blockchain/trigger-mint", "mint-all", &body).await;
    assert_eq!(status, 202, "{answer}");
    let accepted = start.elapsed().as_secs_f64();
    let run = EngineRun { site: &site, kind, done: ON_CHAIN };
    let pause = stall::until(&network.node.rpc(), holders.div_ceil(PAGE), &run).await?;
    let seconds = start.elapsed().as_secs_f64();
    let minted = "select count(*) from subscriptions where status = 'minted'";
    let confirmed = site.view.reached(minted, holders as i64, PATIENCE).await.expect("all pages are confirmed");
    let hashes = site.view.texts("select tx_hash from operation_steps where name = 'mintPage'").await;
    let gas = gas_of(&network.node.rpc(), &hashes).await;
    Ok((TimeAndGas { seconds, gas, pause }, accepted, (confirmed - start).as_secs_f64()))
}

/// The gas of these transactions together.
pub async fn gas_of(rpc: &Rpc, hashes: &[String]) -> u64 {
    let mut sum = 0;
    for hash in hashes {
        let receipt = rpc.call("eth_getTransactionReceipt", json!([hash])).await;
        let gas = receipt["gasUsed"].as_str().unwrap_or_default().trim_start_matches("0x").to_owned();
        sum += u64::from_str_radix(&gas, 16).unwrap_or_default();
    }
    sum
}

/// The same pages on another token, by one signer.
async fn baseline(network: &Network, holders: usize, manner: Manner) -> Result<TimeAndGas, Stall> {
    let (rpc, key, offering) = (network.node.rpc(), network.bare_keys[0], Series::fresh().offering(0));
    let platform = network.platform;
    let deploy = vec![(key, vec![deployment(platform.factory, &offering)])];
    bare_chain::run(&rpc, deploy, Manner::Unchecked, IN_FLIGHT).await?;
    let token = predict_token(platform.factory, platform.implementation, offering_id(&offering));
    bare_chain::run(&rpc, vec![(key, pages(token, holders))], manner, IN_FLIGHT).await.map(Run::total)
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
