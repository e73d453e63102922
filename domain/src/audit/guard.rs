//! The triggers that keep the log as it was written. They are put up at every start, because a migration has one text for both engines and
//! no trigger has; one that somebody took away comes back.

use sqlx::AssertSqlSafe;

use crate::Result;
use crate::db::{Conn, Db};

/// The tables, and what a row of each is known by.
const TABLES: [(&str, &str); 3] = [
    ("audit_log", "id = new.id"),
    ("audit_seals", "position = new.position or audit_id = new.audit_id"),
    ("audit_anchors", "from_position = new.from_position or to_position = new.to_position"),
];
/// Held while the triggers are put up, so that two processes that start at once do not.
const LOCK: i64 = 0x6d75_6e69_6175_6469;

/// Puts them up.
pub(crate) async fn raise(db: &Db) -> Result<()> {
    let mut tx = db.begin().await?;
    match &mut tx.conn {
        Conn::Sqlite(conn) => {
            let there = "select count(*) from sqlite_master where type = 'trigger' and tbl_name in ('audit_log', 'audit_seals', 'audit_anchors')";
            if sqlx::query_scalar::<_, i64>(there).fetch_one(&mut **conn).await? == 9 {
                return Ok(());
            }
            for (table, same) in TABLES {
                // The third one, because `insert or replace` deletes without telling any trigger.
                let replaced = format!("insert on {table} when exists (select 1 from {table} where {same})");
                for (name, on) in [
                    ("updated", format!("update on {table}")),
                    ("deleted", format!("delete on {table}")),
                    ("replaced", replaced),
                ] {
                    let sql = format!(
                        "create trigger if not exists {table}_is_never_{name} before {on} begin select raise(abort, '{table} only grows'); end"
                    );
                    sqlx::query(AssertSqlSafe(sql)).execute(&mut **conn).await?;
                }
            }
        }
        Conn::Postgres(conn) => {
            sqlx::query("select pg_advisory_xact_lock($1)").bind(LOCK).execute(&mut **conn).await?;
            let enabled = "select count(*) from pg_trigger where tgname in ('only_grows', 'is_never_emptied') and tgenabled <> 'D' \
                           and tgrelid in ('audit_log'::regclass, 'audit_seals'::regclass, 'audit_anchors'::regclass)";
            if sqlx::query_scalar::<_, i64>(enabled).fetch_one(&mut **conn).await? == 6 {
                return Ok(());
            }
            let function = "create or replace function only_grows() returns trigger language plpgsql as \
                            $$ begin raise exception '% only grows', tg_table_name; end $$";
            sqlx::query(function).execute(&mut **conn).await?;
            for (table, _) in TABLES {
                for (name, on) in [("only_grows", "update or delete"), ("is_never_emptied", "truncate")] {
                    let each = if on == "truncate" { "statement" } else { "row" };
                    for sql in [
                        format!("drop trigger if exists {name} on {table}"),
                        format!(
                            "create trigger {name} before {on} on {table} for each {each} execute function only_grows()"
                        ),
                    ] {
                        sqlx::query(AssertSqlSafe(sql)).execute(&mut **conn).await?;
                    }
                }
            }
        }
    }
    tx.commit(crate::point::Point::Housekeeping).await
}
