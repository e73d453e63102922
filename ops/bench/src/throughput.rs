//! Confirmed operations a second, one lane and four, beside signed transactions of the same calls on the same node.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use alloy::primitives::{Address, B256};
use muniment_activities::token::factory::{self, Deployment, PartitionTerms};
use serde_json::json;
use tokio::time::sleep;
use world::{Engine, Mining};

use crate::arguments::Arguments;
use crate::bare_chain::{self, Call, IN_FLIGHT, Manner};
use crate::counters::Counters;
use crate::installation::{Installation, Link};
use crate::network::{LANES, Network};
use crate::node::NodeKind;
use crate::operation_cost::OperationCost;
use crate::profile::Profile;
use crate::progress::EngineRun;
use crate::recording_proxy::RecordingProxy;
use crate::runs::{Rate, Runs};
use crate::sample::{median, pace, since, spread};
use crate::seed::Series;
use crate::stall::{self, Stall};
use crate::table::{self, Line, Table, pair};
use crate::view::CONFIRMED;

/// The operations of a run. With fewer, a fast run would be a single commit, which has no rate.
const COUNT: usize = 1_000;
const CONFIRMED_AT: &str = "select confirmed_at from operations where confirmed_at is not null";

/// Three lines for each pair and each number of lanes: the rate, what an operation costs, and where the processor's time goes.
pub async fn measure(arguments: &Arguments, table: &mut Table) {
    let rounds = arguments.runs.unwrap_or_else(|| arguments.either(5, 2));
    for kind in &arguments.kinds {
        let mut alone: HashMap<&str, f64> = HashMap::new();
        for lanes in [1, LANES] {
            let mut all: Vec<Runs> = arguments.engines.iter().map(|_| Runs::default()).collect();
            let mut before = baseline(*kind, lanes, Manner::Unchecked).await;
            for _ in 0..rounds {
                // As long as the others, because anvil slows down with each block.
                let estimated = match arguments.quick {
                    true => None,
                    false => Some(baseline(*kind, lanes, Manner::Estimated).await),
                };
                for (engine, runs) in arguments.engines.iter().zip(&mut all) {
                    let ours = engine_run(*engine, *kind, lanes).await;
                    // Before and after: the machine may have other work in between.
                    let after = baseline(*kind, lanes, Manner::Unchecked).await;
                    runs.add(before, ours, &after, estimated.as_ref());
                    before = after;
                }
            }
            for (engine, runs) in arguments.engines.iter().zip(all) {
                let on = format!("{}, {lanes} lane{}", pair(*engine, *kind), if lanes == 1 { "" } else { "s" });
                let one = *alone.entry(table::engine(*engine)).or_insert(median(&runs.ours));
                table.add(rate(on.clone(), *kind, lanes, one, &runs));
                let watched = watched_run(*engine, *kind, lanes).await;
                let idle = idle_commits(*engine, *kind, lanes, &runs).await.map(|commits| commits / COUNT as f64);
                table.add(cost(on.clone(), &runs, &watched.calls, idle));
                table.add(Line {
                    row: "profile of the process",
                    on,
                    goal: "none: the first ten functions",
                    result: watched.profile,
                    baseline: "–".to_owned(),
                    ratio: "–".to_owned(),
                    met: None,
                });
            }
        }
    }
}

fn rate(on: String, kind: NodeKind, lanes: usize, one: f64, runs: &Runs) -> Line {
    let goal = match (lanes, kind) {
        (1, NodeKind::Devchain) => "≥ 1,000 /s",
        (1, NodeKind::Anvil) => "≥ 60 % of the baseline, ≥ 80 % of one with estimates",
        _ => "× 4 of one lane, or ≥ 80 % of what saturates the node",
    };
    let stalls: String = runs.stalls.iter().map(|stall| format!("; {stall}")).collect();
    let [ours, ratio, estimated] = [&runs.ours, &runs.ratios, &runs.estimated_ratios].map(|values| median(values));
    let slow = runs.ours.iter().filter(|rate| **rate < ours / 2.0).count();
    let slow_text = if slow > 0 { format!("; {slow} below half of the median") } else { String::new() };
    let pauses: String = runs.pauses.iter().map(|pause| format!("; {pause}")).collect();
    let percents = |ratios: &[f64]| spread(&ratios.iter().map(|ratio| ratio * 100.0).collect::<Vec<_>>(), 0);
    // A quick run has no baseline with estimates.
    let (estimates, estimates_ratio) = match runs.estimated.as_slice() {
        [] => (String::new(), String::new()),
        rates => (
            format!("; {} /s with an estimate before each", spread(rates, 0)),
            format!("; {} % with estimates", percents(&runs.estimated_ratios)),
        ),
    };
    let of_one = spread(&runs.ours.iter().map(|ours| ours / one).collect::<Vec<_>>(), 2);
    let is_reached = match (lanes, kind) {
        (1, NodeKind::Devchain) => ours >= 1_000.0,
        (1, NodeKind::Anvil) => ratio >= 0.6 && (estimated >= 0.8 || runs.estimated.is_empty()),
        // With more lanes than cores the baseline with as many signers shows the most that the node can do.
        _ => ratio >= 0.8 || ours >= lanes as f64 * one,
    };
    Line {
        row: "confirmed /s",
        on,
        goal,
        result: format!("{} /s in {} runs{slow_text}{pauses}{stalls}", spread(&runs.ours, 0), runs.ours.len()),
        baseline: format!("{} /s{estimates}", spread(&runs.plain, 0)),
        ratio: format!("{} %{estimates_ratio}; × {of_one} of one lane", percents(&runs.ratios)),
        // A stall of the node is nobody's rate, one of the engine is a missed goal.
        met: Some(!runs.engine_stalls && slow == 0 && is_reached),
    }
}

/// The idle commits are those that a process without work makes in the time of a run, for each operation.
fn cost(on: String, runs: &Runs, calls: &str, idle: Option<f64>) -> Line {
    let most = |of: fn(&OperationCost) -> Option<f64>| {
        let known: Vec<f64> = runs.costs.iter().filter_map(of).collect();
        (!known.is_empty()).then(|| median(&known))
    };
    let within = |of, limit| most(of).map(|middle| middle <= limit);
    let commits_max = 0.1 + idle.unwrap_or_default();
    let met = [within(|c| Some(c.statements?.0), 8.0), within(|c| c.commits, commits_max), within(|c| c.waits, 0.0)];
    let idle_text =
        idle.map_or_else(String::new, |idle| format!("; {idle:.2} of the commits are those of a process without work"));
    Line {
        row: "cost of an operation",
        on,
        goal: "≤ 8 statements, ≤ 0.1 commits, no lock wait",
        result: format!("{}{idle_text}; {calls}", OperationCost::text(&runs.costs)),
        baseline: "a send and a receipt".to_owned(),
        ratio: "–".to_owned(),
        // SQLite counts none of the three.
        met: met.into_iter().flatten().reduce(|one, other| one && other),
    }
}

/// Operations a second, and the cost of each.
async fn engine_run(engine: Engine, kind: NodeKind, lanes: usize) -> Result<(Rate, OperationCost), Stall> {
    let network = fresh(kind).await;
    let site = Installation::new(engine, COUNT as u64, network.platform).await;
    let start = Counters::start(&site).await;
    site.accept_deployments(0..COUNT as u64).await;
    let accepted = Counters::now(&site).await;
    let link = network.link(lanes);
    let started = Instant::now();
    let (binary, _) = site.start("worker", Some(&link)).await;
    let pause = stall::until(&network.node.rpc(), COUNT, &EngineRun { site: &site, kind, done: CONFIRMED }).await?;
    let (time, end) = (started.elapsed(), Counters::now(&site).await);
    let cost = OperationCost { time, ..Counters::cost(start, accepted, end, binary.pid(), COUNT) };
    let (pause, per_second) = (stall::unless_by_node(pause)?, pace(&site.view.times(CONFIRMED_AT).await));
    Ok((Rate { per_second, pause }, cost))
}

/// The commits of a process that has no work, in the time of these runs: it registers its workers and renews leases. None on SQLite.
async fn idle_commits(engine: Engine, kind: NodeKind, lanes: usize, runs: &Runs) -> Option<f64> {
    let times: Vec<f64> = runs.costs.iter().map(|cost| cost.time.as_secs_f64()).collect();
    if matches!(engine, Engine::Sqlite) || times.is_empty() {
        return None;
    }
    let network = fresh(kind).await;
    let site = Installation::new(engine, 1, network.platform).await;
    let (start, ends_at) = (Counters::start(&site).await, Instant::now() + Duration::from_secs_f64(median(&times)));
    let (_binary, _) = site.start("worker", Some(&network.link(lanes))).await;
    sleep(ends_at.saturating_duration_since(Instant::now())).await;
    Counters::now(&site).await.commits_since(start)
}

/// What a run shows that is watched.
struct Watched {
    calls: String,
    profile: String,
}

/// The calls to the node, and the functions that used the processor. A run of its own, because the proxy and the samples slow it down.
async fn watched_run(engine: Engine, kind: NodeKind, lanes: usize) -> Watched {
    let network = fresh(kind).await;
    let proxy = RecordingProxy::start(&network.node.url).await;
    let site = Installation::new(engine, COUNT as u64, network.platform).await;
    site.accept_deployments(0..COUNT as u64).await;
    let link = Link { url: &proxy.url, ..network.link(lanes) };
    let head = async || network.node.rpc().number("eth_blockNumber", json!([])).await;
    let from = head().await;
    let (binary, _) = site.start("worker", Some(&link)).await;
    let profile = Profile::of(binary.pid());
    let done = stall::until(&network.node.rpc(), COUNT, &EngineRun { site: &site, kind, done: CONFIRMED }).await;
    let (calls, blocks) = (proxy.traffic().calls.values().sum::<u64>() as f64, (head().await - from) as f64);
    drop(binary);
    let calls = match done {
        Ok(_) => format!("{:.1} calls to the node, {:.1} a block", calls / COUNT as f64, calls / blocks),
        Err(stall) => format!("calls to the node not counted: {stall}"),
    };
    Watched { calls, profile: profile.text().await }
}

async fn baseline(kind: NodeKind, lanes: usize, manner: Manner) -> Result<Rate, Stall> {
    let network = fresh(kind).await;
    let series = Series::fresh();
    let all: Vec<Call> =
        (0..COUNT as u64).map(|number| deployment(network.platform.factory, &series.offering(number))).collect();
    let lanes = lanes_of(&network.bare_keys[..lanes], all);
    let run = bare_chain::run(&network.node.rpc(), lanes, manner, IN_FLIGHT).await?;
    Ok(Rate { per_second: pace(&since(run.started, &run.included)), pause: stall::unless_by_node(run.pause)? })
}

/// A new node for each figure, because anvil slows down with each block. It leaves some transactions to its timer, which is a short one, so
/// that a run does not wait a second for its last blocks.
async fn fresh(kind: NodeKind) -> Network {
    Network::new(kind, Mining::Quick).await
}

/// Divides the calls among the signers.
pub fn lanes_of(keys: &[B256], calls: Vec<Call>) -> Vec<(B256, Vec<Call>)> {
    let share = calls.len().div_ceil(keys.len());
    keys.iter().copied().zip(calls.chunks(share).map(<[Call]>::to_vec)).collect()
}

/// The same call that the engine makes for an offering of this program.
pub fn deployment(factory: Address, offering: &str) -> Call {
    let cap = 500_000_000_000;
    let terms = PartitionTerms { cap, restricted: false, rule144: false };
    let offering_id = factory::offering_id(offering);
    let deployment = Deployment { offering_id, symbol: "BENCH".to_owned(), total_cap: cap, partitions: vec![terms] };
    Call { to: factory, data: factory::deploy_token(Address::ZERO, factory, &deployment).data }
}
