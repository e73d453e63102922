//! The bench's own connection to the engine's database.

use std::str::FromStr;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{AssertSqlSafe, PgPool, SqlitePool};

/// Counts the confirmed operations.
pub const CONFIRMED: &str = "select count(*) from operations where status = 'confirmed'";

/// Connections of this program to a database.
pub enum View {
    Sqlite(SqlitePool),
    Postgres(PgPool),
}

/// Runs the same code on either database.
#[macro_export]
macro_rules! each {
    ($view:expr, $pool:ident => $body:expr) => {
        match $view {
            $crate::view::View::Sqlite($pool) => $body,
            $crate::view::View::Postgres($pool) => $body,
        }
    };
}

impl View {
    /// Opens it with the same durability as the engine's own connections.
    pub async fn open(url: &str) -> Self {
        if url.starts_with("postgres") {
            // The statements of the measurement itself are not counted.
            let options = PgConnectOptions::from_str(url).expect("a valid address");
            let options = options.options([("pg_stat_statements.track", "none")]);
            let pool = PgPoolOptions::new().max_connections(10).test_before_acquire(false).connect_with(options).await;
            return Self::Postgres(pool.expect("the server answers"));
        }
        let options = SqliteConnectOptions::from_str(url)
            .expect("a valid address")
            .foreign_keys(true)
            .busy_timeout(Duration::from_secs(10))
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full);
        let pool = SqlitePoolOptions::new().max_connections(1).test_before_acquire(false).connect_with(options).await;
        Self::Sqlite(pool.expect("the file opens"))
    }

    /// Runs a statement.
    pub async fn execute(&self, sql: &str) {
        let sql = AssertSqlSafe(sql.to_owned());
        let done = each!(self, pool => sqlx::raw_sql(sql).execute(pool).await.map(|_| ()));
        done.expect("the statement is valid");
    }

    /// Runs many statements in one commit, without checks of foreign keys.
    pub async fn bulk(&self, statements: &[String]) {
        let (before, after) = match self {
            Self::Sqlite(_) => ("pragma foreign_keys = off; begin", "commit; pragma foreign_keys = on"),
            Self::Postgres(_) => ("begin; set local session_replication_role = replica", "commit"),
        };
        self.execute(&format!("{before}; {}; {after}", statements.join("; "))).await;
        if matches!(self, Self::Postgres(_)) {
            // Otherwise the server does both in the background, and slows the measurement down.
            self.execute("vacuum analyze").await;
            self.execute("checkpoint").await;
        }
    }

    /// One number.
    pub async fn number(&self, sql: &str) -> i64 {
        let sql = AssertSqlSafe(sql.to_owned());
        each!(self, pool => sqlx::query_scalar::<_, i64>(sql).fetch_one(pool).await).expect("the statement is valid")
    }

    /// A column of numbers.
    pub async fn numbers(&self, sql: &str) -> Vec<i64> {
        let sql = AssertSqlSafe(sql.to_owned());
        each!(self, pool => sqlx::query_scalar::<_, i64>(sql).fetch_all(pool).await).expect("the statement is valid")
    }

    /// A column of texts.
    pub async fn texts(&self, sql: &str) -> Vec<String> {
        let sql = AssertSqlSafe(sql.to_owned());
        each!(self, pool => sqlx::query_scalar::<_, String>(sql).fetch_all(pool).await).expect("the statement is valid")
    }

    /// A column of times, in seconds.
    pub async fn times(&self, sql: &str) -> Vec<f64> {
        let sql = AssertSqlSafe(sql.to_owned());
        let found = each!(self, pool => sqlx::query_scalar::<_, DateTime<Utc>>(sql).fetch_all(pool).await);
        found.expect("the statement is valid").iter().map(|at| at.timestamp_micros() as f64 / 1e6).collect()
    }

    /// The number of confirmed operations.
    pub async fn confirmed(&self) -> i64 {
        self.number(CONFIRMED).await
    }

    /// Waits until a count is reached. Returns the time when it was; none after the time limit.
    pub async fn reached(&self, sql: &str, count: i64, patience: Duration) -> Option<Instant> {
        let start = Instant::now();
        while start.elapsed() < patience {
            if self.number(sql).await >= count {
                return Some(Instant::now());
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        None
    }
}
