//! Confirmed operations a second, one lane and four, beside signed transactions of the same calls on the same node.

use std::collections::HashMap;
use std::time::Duration;

use alloy::primitives::{Address, B256};
use muniment_activities::token::factory::{self, Deployment, PartitionTerms};
use world::{Engine, Mining};

use crate::arguments::Arguments;
use crate::bare_chain::{self, Call, IN_FLIGHT, Precheck};
use crate::installation::Installation;
use crate::network::{LANES, Network};
use crate::node::NodeKind;
use crate::sample::{pace, since};
use crate::seed::Series;
use crate::table::{self, Line, Table, pair, percent};
use crate::view::CONFIRMED;

const PATIENCE: Duration = Duration::from_secs(90);
const CONFIRMED_AT: &str = "select confirmed_at from operations where confirmed_at is not null";

/// A line for each pair and each number of lanes.
pub async fn measure(arguments: &Arguments, table: &mut Table) {
    let count = arguments.either(1_000, 200);
    for kind in &arguments.kinds {
        let mut alone: HashMap<&str, f64> = HashMap::new();
        for lanes in [1, LANES] {
            let with_estimate =
                if arguments.quick { None } else { Some(baseline(*kind, lanes, count / 3, Precheck::Estimate).await) };
            let mut before = baseline(*kind, lanes, count, Precheck::Skip).await;
            for engine in &arguments.engines {
                let ours = engine_rate(*engine, *kind, lanes, count).await;
                // Before and after: the machine may have other work in between.
                let after = baseline(*kind, lanes, count, Precheck::Skip).await;
                let plain = f64::midpoint(before, after);
                before = after;
                let one = *alone.entry(table::engine(*engine)).or_insert(ours);
                table.add(line(pair(*engine, *kind), lanes, Rates { ours, one, plain, with_estimate }));
            }
        }
    }
}

/// Operations a second.
struct Rates {
    ours: f64,
    /// The engine's with one lane.
    one: f64,
    plain: f64,
    /// With an estimate before each call; none in a quick run.
    with_estimate: Option<f64>,
}

fn line(on: String, lanes: usize, rates: Rates) -> Line {
    let Rates { ours, one, plain, with_estimate } = rates;
    let goal = if lanes == 1 {
        "≥ 80 % of the baseline"
    } else {
        "× 4 of one lane, or ≥ 80 % of what saturates the node"
    };
    Line {
        row: "confirmed /s",
        on: format!("{on}, {lanes} lane{}", if lanes == 1 { "" } else { "s" }),
        goal,
        result: format!("{ours:.0} /s"),
        baseline: format!(
            "{plain:.0} /s{}",
            with_estimate.map_or_else(String::new, |e| format!("; {e:.0} /s with an estimate before each"))
        ),
        ratio: format!(
            "{}{}; × {:.2} of one lane",
            percent(ours, plain),
            with_estimate.map_or_else(String::new, |e| format!("; {}", percent(ours, e))),
            ours / one
        ),
        // With more lanes than cores the baseline with as many signers shows the most that the node can do.
        met: Some(ours >= 0.8 * plain || lanes > 1 && ours >= lanes as f64 * one),
    }
}

async fn engine_rate(engine: Engine, kind: NodeKind, lanes: usize, count: usize) -> f64 {
    let network = fresh(kind).await;
    let site = Installation::new(engine, count as u64, network.platform).await;
    site.accept_deployments(0..count as u64).await;
    let link = network.link(lanes);
    let (_binary, _) = site.start("worker", Some(&link)).await;
    let all = site.view.reached(CONFIRMED, count as i64, PATIENCE).await;
    assert!(all.is_some(), "only {} of {count} were confirmed in {PATIENCE:?}", site.view.confirmed().await);
    pace(&site.view.times(CONFIRMED_AT).await)
}

async fn baseline(kind: NodeKind, lanes: usize, count: usize, precheck: Precheck) -> f64 {
    let network = fresh(kind).await;
    let series = Series::fresh();
    let all: Vec<Call> =
        (0..count as u64).map(|number| deployment(network.platform.factory, &series.offering(number))).collect();
    let lanes = lanes_of(&network.bare_keys[..lanes], all);
    let run = bare_chain::run(&network.node.rpc(), lanes, precheck, IN_FLIGHT).await;
    pace(&since(run.started, &run.included))
}

/// A new node for each figure, because anvil slows down with each block.
async fn fresh(kind: NodeKind) -> Network {
    Network::new(kind, Mining::Mixed).await
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
