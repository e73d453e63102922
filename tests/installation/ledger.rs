//! Direct reads and writes of the database, past the platform's code.

use std::collections::BTreeMap;

use sqlx::{AssertSqlSafe, Row};
use world::Database;

use super::Installation;

impl Installation {
    /// Returns every row of a statement, each column as text; other types need a cast. Null becomes an empty text.
    pub async fn rows(&self, sql: &str) -> Vec<Vec<String>> {
        rows(&self.database, sql).await
    }

    /// Counts rows.
    pub async fn count(&self, from: &str) -> i64 {
        let rows = self.rows(&format!("select cast(count(*) as text) from {from}")).await;
        rows[0][0].parse().unwrap()
    }

    /// Changes rows directly in the database.
    pub async fn write(&self, sql: &str) -> u64 {
        write(&self.database, sql).await
    }

    /// Operations that are pending or submitted.
    pub async fn unfinished(&self) -> i64 {
        self.count("operations where status in ('pending', 'submitted')").await
    }

    /// Counts operations by status.
    pub async fn statuses(&self) -> Vec<Vec<String>> {
        self.rows("select status, cast(count(*) as text) from operations group by status order by status").await
    }

    /// Summarises the database, for the message of a timeout.
    pub async fn overview(&self) -> String {
        let mut text = String::new();
        for sql in [
            "select id, kind, status, blocked_reason, error_code, error_message, cast(faults as text), cast(next_action_at as text) \
             from operations where status <> 'confirmed' order by id limit 20",
            "select operation_id, state, outcome, cast(nonce as text), cast(block_number as text) from operation_steps \
             where state <> 'final' limit 20",
            "select tx_hash, kind, cast(nonce as text), cast(sends as text), last_answer from attempts where open limit 20",
            "select signer, cast(next_nonce as text), mode, mode_reason from lanes",
            "select cast(chain_id as text), cast(head_number as text), cast(final_number as text), blocked_reason, halted_reason from chains",
        ] {
            for row in self.rows(sql).await {
                text.push_str(&format!("  {}\n", row.join(" | ")));
            }
        }
        text
    }
}

/// Returns every row of a statement, each column as text.
pub async fn rows(database: &Database, sql: &str) -> Vec<Vec<String>> {
    macro_rules! texts {
        ($database:expr) => {{
            let mut connection = $database.connect().await;
            // Not remembered by the connection: the schema may change before it is asked again.
            let statement = sqlx::query(AssertSqlSafe(sql.to_owned())).persistent(false);
            let rows = statement.fetch_all(&mut connection).await.unwrap();
            $database.keep(connection);
            let text = |row: &_, at: usize| -> String { Row::get::<Option<String>, _>(row, at).unwrap_or_default() };
            rows.iter().map(|row| (0..Row::len(row)).map(|at| text(row, at)).collect()).collect()
        }};
    }
    match database {
        Database::Sqlite(sqlite) => texts!(sqlite),
        Database::Postgres(postgres) => texts!(postgres),
    }
}

/// Returns every row of every table, except request logs, the audit log, stored responses and outgoing mail.
pub async fn dump(database: &Database) -> BTreeMap<String, Vec<String>> {
    let mut tables = everything(database).await;
    tables
        .retain(|name, _| !name.starts_with("audit_") && !["idempotency_keys", "email_links"].contains(&name.as_str()));
    tables
}

/// Returns every row of every table.
pub async fn everything(database: &Database) -> BTreeMap<String, Vec<String>> {
    let names = match database {
        Database::Sqlite(_) => "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'",
        Database::Postgres(_) => {
            "select cast(table_name as text) from information_schema.tables where table_schema = 'public'"
        }
    };
    let mut tables = BTreeMap::new();
    for table in rows(database, names).await.concat() {
        let row = match database {
            Database::Sqlite(_) => {
                let columns = format!("select 'quote(\"' || name || '\")' from pragma_table_info('{table}')");
                rows(database, &columns).await.concat().join(" || ' ' || ")
            }
            Database::Postgres(_) => "cast(t as text)".to_owned(),
        };
        let all = rows(database, &format!("select {row} from \"{table}\" t order by 1")).await.concat();
        tables.insert(table, all);
    }
    tables
}

/// Runs a statement that changes rows, or several between `begin` and `commit`.
pub async fn write(database: &Database, sql: &str) -> u64 {
    macro_rules! changed {
        ($database:expr) => {{
            let mut connection = $database.connect().await;
            let done = sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(&mut connection).await.unwrap();
            $database.keep(connection);
            done.rows_affected()
        }};
    }
    match database {
        Database::Sqlite(sqlite) => changed!(sqlite),
        Database::Postgres(postgres) => changed!(postgres),
    }
}
