//! What a platform takes while it has nothing to do, and how long it takes for what it is asked then.

use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::process;
use crate::sample::median;
use crate::stand::Stand;
use crate::view::View;

const PATIENCE: Duration = Duration::from_secs(90);
const SETTLE: Duration = Duration::from_secs(4);
const CONFIRMED: &str = "select count(*) from operations where status = 'confirmed'";
/// Whether every event is numbered and every audit entry is chained: what is left of that is no cost of waiting.
const RESTS: &str = "select cast(1 - sign((select count(*) from events where position is null) \
                     + (select count(*) from audit_unsealed)) as bigint)";
/// Operations that are asked for together.
const NEW: u64 = 100;
const ROUNDS: u64 = 3;
/// How many offerings a measurement uses up.
pub const OFFERINGS: u64 = ROUNDS * NEW;

/// What the platform takes without work, and how long others take.
pub struct Cost {
    /// Of a core, in percent.
    pub process: f64,
    /// The same for the database server; a file has none.
    pub server: f64,
    /// Commits a second on a server; kilobytes written a second to a file.
    written: String,
    /// Seconds from the first request of many to the last confirmation.
    pub confirmed: f64,
}

impl Cost {
    /// Measures both, with this offering and those after it.
    pub async fn measured(stand: &Stand, pid: u32, port: u16, first: u64, span: Duration) -> Self {
        stand.view.reached(RESTS, 1, PATIENCE).await.expect("it comes to rest");
        if matches!(stand.view, View::Postgres(_)) {
            // A server does it by itself within minutes, and takes time for it meanwhile.
            stand.view.execute("vacuum analyze").await;
        }
        sleep(SETTLE).await;
        let before = taken(stand, pid).await;
        sleep(span).await;
        let after = taken(stand, pid).await;
        let [process, server, written] = std::array::from_fn(|i| (after[i] - before[i]) / span.as_secs_f64());
        let (mut client, mut times) = (stand.client(port).await, Vec::new());
        for round in 0..ROUNDS {
            let (asked, done) = (Instant::now(), stand.view.confirmed().await + NEW.cast_signed());
            for number in 0..NEW {
                client.deploy(&stand.series.offering(first + round * NEW + number)).await;
            }
            let all = stand.view.reached(CONFIRMED, done, PATIENCE).await.expect("others are confirmed");
            times.push((all - asked).as_secs_f64());
        }
        let (process, server) = (process * 100.0, server * 100.0);
        let written = match stand.view {
            View::Sqlite(_) => format!("{written:.1} kB/s written"),
            View::Postgres(_) => format!("server {server:.2} %, {written:.1} commits/s"),
        };
        Self { process, server, written, confirmed: median(&times) }
    }

    /// All of it in words.
    pub fn words(&self) -> String {
        let Self { process, written, confirmed, .. } = self;
        format!("{process:.2} % of a core, {written}; {NEW} new confirmed in {confirmed:.2} s")
    }
}

/// Processor seconds of the process and of the server, and what was written.
async fn taken(stand: &Stand, pid: u32) -> [f64; 3] {
    if matches!(stand.view, View::Sqlite(_)) {
        return [process::seconds(pid), 0.0, process::written_kilobytes(pid)];
    }
    let backend = u32::try_from(stand.view.number("select cast(pg_backend_pid() as bigint)").await).unwrap_or_default();
    let commits = "select xact_commit from pg_stat_database where datname = current_database()";
    [process::seconds(pid), process::server_seconds(backend), stand.view.number(commits).await as f64]
}
