//! The cost of an idle platform, and the time that it needs for new operations.

use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::installation::Installation;
use crate::process;
use crate::sample::median;
use crate::view::{CONFIRMED, View};

const PATIENCE: Duration = Duration::from_secs(90);
const SETTLE: Duration = Duration::from_secs(4);
/// 1 if every event is numbered and every audit entry is sealed, so that only idle work is left.
const IDLE: &str = "select cast(1 - sign((select count(*) from events where position is null) \
                     + (select count(*) from audit_unsealed)) as bigint)";
/// Operations that are requested together.
const NEW: u64 = 100;
const ROUNDS: u64 = 3;
/// The number of offerings that a measurement uses.
pub const OFFERINGS: u64 = ROUNDS * NEW;

/// The cost of an idle platform, and the time for new operations.
pub struct Cost {
    /// Processor time of the process, in percent of a core.
    pub process: f64,
    /// Processor time of the database server. 0 for SQLite.
    pub server: f64,
    /// The commits (PostgreSQL) or written kilobytes (SQLite) in a second, as text.
    written: String,
    /// Seconds from the first request of many to the last confirmation.
    pub confirmed: f64,
}

impl Cost {
    /// Measures both, with this offering and the next ones.
    pub async fn measured(site: &Installation, pid: u32, port: u16, first: u64, span: Duration) -> Self {
        site.view.reached(IDLE, 1, PATIENCE).await.expect("the queue is empty");
        if matches!(site.view, View::Postgres(_)) {
            // Otherwise the server does it in the background, during the measurement.
            site.view.execute("vacuum analyze").await;
        }
        sleep(SETTLE).await;
        let before = usage(site, pid).await;
        sleep(span).await;
        let after = usage(site, pid).await;
        let [process, server, written] = std::array::from_fn(|i| (after[i] - before[i]) / span.as_secs_f64());
        let (mut client, mut times) = (site.client(port).await, Vec::new());
        for round in 0..ROUNDS {
            let (asked, done) = (Instant::now(), site.view.confirmed().await + NEW.cast_signed());
            for number in 0..NEW {
                client.deploy(&site.series.offering(first + round * NEW + number)).await;
            }
            let all = site.view.reached(CONFIRMED, done, PATIENCE).await.expect("new operations are confirmed");
            times.push((all - asked).as_secs_f64());
        }
        let (process, server) = (process * 100.0, server * 100.0);
        let written = match site.view {
            View::Sqlite(_) => format!("{written:.1} kB/s written"),
            View::Postgres(_) => format!("server {server:.2} %, {written:.1} commits/s"),
        };
        Self { process, server, written, confirmed: median(&times) }
    }

    /// The cost as text.
    pub fn text(&self) -> String {
        let Self { process, written, confirmed, .. } = self;
        format!("{process:.2} % of a core, {written}; {NEW} new confirmed in {confirmed:.2} s")
    }
}

/// Processor seconds of the process and of the server, and the commits or written kilobytes.
pub async fn usage(site: &Installation, pid: u32) -> [f64; 3] {
    if matches!(site.view, View::Sqlite(_)) {
        return [process::seconds(pid), 0.0, process::written_kilobytes(pid)];
    }
    let backend = u32::try_from(site.view.number("select cast(pg_backend_pid() as bigint)").await).unwrap_or_default();
    let commits = "select xact_commit from pg_stat_database where datname = current_database()";
    [process::seconds(pid), process::server_seconds(backend), site.view.number(commits).await as f64]
}
