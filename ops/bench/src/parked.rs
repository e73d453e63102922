//! Operations that wait for a paused signer: what they cost while they wait, what they cost others, and how soon they go on.

use std::time::{Duration, Instant};

use world::{Engine, Mining};

use crate::arguments::Arguments;
use crate::cost::{Cost, OFFERINGS};
use crate::ground::Ground;
use crate::node::Kind;
use crate::stand::{Link, Stand};
use crate::table::{self, Line, Table};

const PATIENCE: Duration = Duration::from_secs(240);
const WAITING: &str = "select count(*) from operations where blocked_reason like 'lane_paused%'";

/// A line for each database.
pub async fn measure(arguments: &Arguments, table: &mut Table) {
    let (count, span) = (arguments.either(50_000, 5_000) as u64, arguments.either(20, 6) as u64);
    for engine in &arguments.engines {
        table.add(one(*engine, count, Duration::from_secs(span)).await);
    }
}

async fn one(engine: Engine, count: u64, span: Duration) -> Line {
    let ground = Ground::new(Kind::Devchain, Mining::Instant).await;
    let stand = Stand::new(engine, count + 2 * OFFERINGS, ground.platform).await;
    let (url, platform, keys) = (ground.node.url.as_str(), ground.platform, &ground.keys[..2]);
    let link = Link { url, platform, keys, poll_milliseconds: 250, block_seconds: 1 };
    let (mut binary, port) = stand.start("run", Some(&link)).await;
    stand.view.reached("select count(*) from lanes", 2, PATIENCE).await.expect("both signers have their lanes");
    let lane = stand.view.texts("select id from lanes order by id limit 1").await.concat();
    order(&stand, port, &lane, "pause").await;
    let bare = Cost::measured(&stand, binary.pid(), port, 0, span).await;
    binary.terminate(PATIENCE);
    stand.accept_deployments(2 * OFFERINGS..2 * OFFERINGS + count).await;
    park(&stand, engine, &lane).await;
    let (binary, port) = stand.start("run", Some(&link)).await;
    let ours = Cost::measured(&stand, binary.pid(), port, OFFERINGS, span).await;
    let left = stand.view.number(WAITING).await;
    assert_eq!(left.cast_unsigned(), count, "all of them wait");
    let resumed = Instant::now();
    order(&stand, port, &lane, "resume").await;
    let none = format!("select cast(1 - sign(({WAITING})) as bigint)");
    let released = stand.view.reached(&none, 1, PATIENCE).await;
    let released = released.map_or("not all".to_owned(), |at| format!("{:.1} s", (at - resumed).as_secs_f64()));
    let more = ours.process - bare.process + ours.server - bare.server;
    Line {
        row: "parked",
        on: format!("{}, {count} wait", table::engine(engine)),
        goal: "≤ 1 % of a core more; others take ≤ 1.3 × as long",
        ours: format!("{}; all go on {released} after the signer is resumed", ours.words()),
        bare: format!("none wait: {}", bare.words()),
        ratio: format!("{more:+.2} % of a core; confirmed × {:.2}", ours.confirmed / bare.confirmed),
        met: Some(more <= 1.0 && ours.confirmed <= 1.3 * bare.confirmed),
    }
}

async fn order(stand: &Stand, port: u16, lane: &str, word: &str) {
    let path = format!("/blockchain/signers/{lane}/{word}");
    let (status, answer) = stand.client(port).await.post(&path, word, "{\"reason\":\"a measurement\"}").await;
    assert_eq!(status, 200, "{answer}");
}

/// As a worker leaves what waits for this lane: with its cause, and without a next time or a job.
async fn park(stand: &Stand, engine: Engine, lane: &str) {
    let cause = format!("(select 'lane_paused: ' || mode_reason from lanes where id = '{lane}')");
    let set = format!("lane_id = '{lane}', blocked_reason = {cause}, next_action_at = null");
    stand.view.execute(&format!("update operations set {set} where status = 'pending'")).await;
    let jobs = if engine == Engine::Sqlite { "Jobs" } else { "apalis.jobs" };
    stand.view.execute(&format!("delete from {jobs}")).await;
}
