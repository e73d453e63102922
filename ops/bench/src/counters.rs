//! Counts what a run asks of the database, and its processor time.

use crate::installation::Installation;
use crate::operation_cost::OperationCost;
use crate::process;
use crate::view::View;

/// Statements that only begin or end a transaction.
const FRAME: &str = "query ~* '^(begin|commit|rollback|savepoint|release|set)'";
/// The number of this database.
const OWN: &str = "(select oid from pg_database where datname = current_database())";
/// What the server writes into its log when somebody has waited for a lock for a millisecond.
const WAIT: &str = " still waiting for ";

/// The counts of a PostgreSQL database so far. SQLite keeps no such counts.
#[derive(Clone, Copy)]
pub struct Counters {
    server: Option<Server>,
}

#[derive(Clone, Copy)]
struct Server {
    statements: i64,
    commits: i64,
    texts: i64,
    waits: usize,
    seconds: f64,
}

impl Counters {
    /// Starts to count, from zero.
    pub async fn start(site: &Installation) -> Self {
        if matches!(site.view, View::Postgres(_)) {
            site.view.execute(&format!("select pg_stat_statements_reset(0, {OWN}, 0)")).await;
        }
        Self::now(site).await
    }

    /// The counts so far.
    pub async fn now(site: &Installation) -> Self {
        let view = &site.view;
        if matches!(view, View::Sqlite(_)) {
            return Self { server: None };
        }
        let sum = async |what: &str, those: &str| {
            let of_these = format!("pg_stat_statements where dbid = {OWN} and {those}");
            view.number(&format!("select cast(coalesce({what}, 0) as bigint) from {of_these}")).await
        };
        let backend = u32::try_from(view.number("select cast(pg_backend_pid() as bigint)").await).unwrap_or_default();
        let server = Server {
            statements: sum("sum(calls)", &format!("not {FRAME}")).await,
            commits: sum("sum(calls)", "query ilike 'commit%'").await,
            texts: sum("count(*)", &format!("not {FRAME}")).await,
            waits: waits(view).await,
            seconds: process::server_seconds(backend),
        };
        Self { server: Some(server) }
    }

    /// The cost of each of these operations since the start. They were accepted in between.
    pub fn cost(start: Self, accepted: Self, end: Self, pid: u32, operations: usize) -> OperationCost {
        let each = |count: f64| count / operations as f64;
        let process = each(process::seconds(pid) * 1_000.0);
        let (Some(start), Some(accepted), Some(end)) = (start.server, accepted.server, end.server) else {
            return OperationCost { process, ..OperationCost::default() };
        };
        let statements = |to: Server| each((to.statements - start.statements) as f64);
        OperationCost {
            statements: Some((statements(end), statements(accepted))),
            commits: Some(each((end.commits - accepted.commits) as f64)),
            texts: Some(end.texts as f64),
            waits: Some(each((end.waits - accepted.waits) as f64 * 1_000.0)),
            process,
            server: Some(each((end.seconds - accepted.seconds) * 1_000.0)),
            ..OperationCost::default()
        }
    }

    /// The commits since then.
    pub fn commits_since(self, start: Self) -> Option<f64> {
        Some((self.server?.commits - start.server?.commits) as f64)
    }
}

/// The waits in the log of the server, which lies beside its data.
async fn waits(view: &View) -> usize {
    let data = view.texts("select setting from pg_settings where name = 'data_directory'").await;
    let log = std::path::Path::new(&data[0]).with_file_name("server.log");
    let text = std::fs::read(&log).unwrap_or_else(|why| panic!("{}: {why}", log.display()));
    String::from_utf8_lossy(&text).matches(WAIT).count()
}
