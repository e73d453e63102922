//! Operations that wait for a paused signer: their cost while they wait, the delay of other operations, and the time to resume.

use std::time::{Duration, Instant};

use world::{Engine, Mining};

use crate::arguments::Arguments;
use crate::cost::{Cost, OFFERINGS};
use crate::installation::Installation;
use crate::network::Network;
use crate::node::NodeKind;
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
    let network = Network::new(NodeKind::Devchain, Mining::Instant).await;
    let site = Installation::new(engine, count + 2 * OFFERINGS, network.platform).await;
    let link = network.link(2);
    let (mut binary, port) = site.start("run", Some(&link)).await;
    site.view.reached("select count(*) from lanes", 2, PATIENCE).await.expect("both signers have their lanes");
    let lane = site.view.texts("select id from lanes order by id limit 1").await.concat();
    command(&site, port, &lane, "pause").await;
    let bare = Cost::measured(&site, binary.pid(), port, 0, span).await;
    binary.terminate(PATIENCE);
    site.accept_deployments(2 * OFFERINGS..2 * OFFERINGS + count).await;
    park(&site, engine, &lane).await;
    let (binary, port) = site.start("run", Some(&link)).await;
    let ours = Cost::measured(&site, binary.pid(), port, OFFERINGS, span).await;
    let left = site.view.number(WAITING).await;
    assert_eq!(left.cast_unsigned(), count, "all operations wait");
    let resumed = Instant::now();
    command(&site, port, &lane, "resume").await;
    let none = format!("select cast(1 - sign(({WAITING})) as bigint)");
    let released = site.view.reached(&none, 1, PATIENCE).await;
    let released = released.map_or("not all".to_owned(), |at| format!("{:.1} s", (at - resumed).as_secs_f64()));
    let more = ours.process - bare.process + ours.server - bare.server;
    Line {
        row: "parked",
        on: format!("{}, {count} wait", table::engine(engine)),
        goal: "≤ 1 % of a core more; others take ≤ 1.3 × as long",
        result: format!("{}; all go on {released} after the signer is resumed", ours.text()),
        baseline: format!("none wait: {}", bare.text()),
        ratio: format!("{more:+.2} % of a core; confirmed × {:.2}", ours.confirmed / bare.confirmed),
        met: Some(more <= 1.0 && ours.confirmed <= 1.3 * bare.confirmed),
    }
}

async fn command(site: &Installation, port: u16, lane: &str, word: &str) {
    let path = format!("/blockchain/signers/{lane}/{word}");
    let (status, answer) = site.client(port).await.post(&path, word, "{\"reason\":\"a measurement\"}").await;
    assert_eq!(status, 200, "{answer}");
}

/// Parks the operations as a worker does: with a cause, and without a next time or a job.
async fn park(site: &Installation, engine: Engine, lane: &str) {
    let cause = format!("(select 'lane_paused: ' || mode_reason from lanes where id = '{lane}')");
    let set = format!("lane_id = '{lane}', blocked_reason = {cause}, next_action_at = null");
    site.view.execute(&format!("update operations set {set} where status = 'pending'")).await;
    let jobs = if engine == Engine::Sqlite { "Jobs" } else { "apalis.jobs" };
    site.view.execute(&format!("delete from {jobs}")).await;
}
