//! Confirmed operations a second, one lane and four, beside signed transactions of the same calls on the same node.

use std::collections::HashMap;
use std::time::Duration;

use alloy::primitives::{Address, B256};
use muniment_activities::token::factory::{self, Deployment, PartitionTerms};
use world::{Engine, Mining};

use crate::arguments::Arguments;
use crate::bare_chain::{self, Before, Call, IN_FLIGHT};
use crate::ground::{Ground, LANES};
use crate::node::Kind;
use crate::sample::{pace, since};
use crate::seed::Series;
use crate::stand::{Link, Stand};
use crate::table::{self, Line, Table, pair, percent};

const PATIENCE: Duration = Duration::from_secs(90);
const CONFIRMED_AT: &str = "select confirmed_at from operations where confirmed_at is not null";
const CONFIRMED: &str = "select count(*) from operations where status = 'confirmed'";

/// A line for each pair and each number of lanes.
pub async fn measure(arguments: &Arguments, table: &mut Table) {
    let count = arguments.either(1_000, 200);
    for kind in &arguments.kinds {
        let mut alone: HashMap<&str, f64> = HashMap::new();
        for lanes in [1, LANES] {
            let with_estimate =
                if arguments.quick { None } else { Some(bare(*kind, lanes, count / 3, Before::Estimate).await) };
            let mut before = bare(*kind, lanes, count, Before::Nothing).await;
            for engine in &arguments.engines {
                let ours = ours(*engine, *kind, lanes, count).await;
                // Before and after: the machine may have other work in between.
                let after = bare(*kind, lanes, count, Before::Nothing).await;
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
    let goal = if lanes == 1 { "≥ 80 % of bare" } else { "× 4 of one lane, or ≥ 80 % of what saturates the node" };
    Line {
        row: "confirmed /s",
        on: format!("{on}, {lanes} lane{}", if lanes == 1 { "" } else { "s" }),
        goal,
        ours: format!("{ours:.0} /s"),
        bare: format!(
            "{plain:.0} /s{}",
            with_estimate.map_or_else(String::new, |e| format!("; {e:.0} /s with an estimate before each"))
        ),
        ratio: format!(
            "{}{}; × {:.2} of one lane",
            percent(ours, plain),
            with_estimate.map_or_else(String::new, |e| format!("; {}", percent(ours, e))),
            ours / one
        ),
        // More lanes than cores: the bare loop with as many signers is what the node gives at most.
        met: Some(ours >= 0.8 * plain || lanes > 1 && ours >= lanes as f64 * one),
    }
}

async fn ours(engine: Engine, kind: Kind, lanes: usize, count: usize) -> f64 {
    let ground = fresh(kind).await;
    let stand = Stand::new(engine, count as u64, ground.platform).await;
    stand.accept_deployments(0..count as u64).await;
    let (url, platform, keys) = (ground.node.url.as_str(), ground.platform, &ground.keys[..lanes]);
    let link = Link { url, platform, keys, poll_milliseconds: 250, block_seconds: 1 };
    let (_binary, _) = stand.start("worker", Some(&link)).await;
    let all = stand.view.reached(CONFIRMED, count as i64, PATIENCE).await;
    assert!(all.is_some(), "only {} of {count} were confirmed in {PATIENCE:?}", stand.view.confirmed().await);
    pace(&stand.view.moments(CONFIRMED_AT).await)
}

async fn bare(kind: Kind, lanes: usize, count: usize, before: Before) -> f64 {
    let ground = fresh(kind).await;
    let series = Series::fresh();
    let all: Vec<Call> =
        (0..count as u64).map(|number| deployment(ground.platform.factory, &series.offering(number))).collect();
    let lanes = lanes_of(&ground.bare_keys[..lanes], all);
    let run = bare_chain::run(&ground.node.rpc(), lanes, before, IN_FLIGHT).await;
    pace(&since(run.started, &run.included))
}

/// A node of its own for every figure: anvil slows down with each block that it has made.
async fn fresh(kind: Kind) -> Ground {
    Ground::new(kind, Mining::Mixed).await
}

/// The calls, dealt to the signers.
pub fn lanes_of(keys: &[B256], calls: Vec<Call>) -> Vec<(B256, Vec<Call>)> {
    let share = calls.len().div_ceil(keys.len());
    keys.iter().copied().zip(calls.chunks(share).map(<[Call]>::to_vec)).collect()
}

/// The very call that the engine makes for an offering of this program.
pub fn deployment(factory: Address, offering: &str) -> Call {
    let cap = 500_000_000_000;
    let terms = PartitionTerms { cap, restricted: false, rule144: false };
    let offering_id = factory::offering_id(offering);
    let deployment = Deployment { offering_id, symbol: "BENCH".to_owned(), total_cap: cap, partitions: vec![terms] };
    Call { to: factory, data: factory::deploy_token(Address::ZERO, factory, &deployment).data }
}
