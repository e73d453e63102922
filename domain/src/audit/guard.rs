//! Triggers that make the audit tables append-only. They are created at every start: a migration has one text for both databases,
//! and no trigger does. A trigger that somebody dropped is created again.

use crate::Result;
use crate::db::{Conn, Db, Tx};
use crate::point::Point;
use crate::sql::sql;

/// The tables, and the condition for a row with the same key.
const TABLES: [(&str, &str); 3] = [
    ("audit_log", "id = new.id"),
    ("audit_seals", "position = new.position or audit_id = new.audit_id"),
    ("audit_anchors", "from_position = new.from_position or to_position = new.to_position"),
];
/// Advisory lock, so that two processes that start together do not create the triggers at the same time.
const LOCK: i64 = 0x6d75_6e69_6175_6469;

/// Creates the triggers.
pub(crate) async fn create_triggers(db: &Db) -> Result<()> {
    let mut tx = db.begin().await?;
    match tx.conn {
        Conn::Sqlite(..) => raise_on_sqlite(&mut tx).await?,
        Conn::Postgres(..) => raise_on_postgres(&mut tx).await?,
    }
    tx.commit(Point::Housekeeping).await
}

async fn raise_on_sqlite(tx: &mut Tx) -> Result<()> {
    let existing = sql("select count(*) from sqlite_master
         where type = 'trigger' and tbl_name in ('audit_log', 'audit_seals', 'audit_anchors')");
    if existing.scalar::<i64>(tx).await? == 9 {
        return Ok(());
    }
    for (table, same) in TABLES {
        // `insert or replace` deletes a row without firing the delete trigger, so it needs its own.
        let replaced = format!("insert on {table} when exists (select 1 from {table} where {same})");
        for (name, on) in [
            ("updated", format!("update on {table}")),
            ("deleted", format!("delete on {table}")),
            ("replaced", replaced),
        ] {
            sql("create trigger if not exists ")
                .push(format!("{table}_is_never_{name} before {on}"))
                .push(format!(" begin select raise(abort, '{table} only grows'); end"))
                .execute(tx)
                .await?;
        }
    }
    Ok(())
}

async fn raise_on_postgres(tx: &mut Tx) -> Result<()> {
    sql("select pg_advisory_xact_lock($1)").bind(LOCK).execute(tx).await?;
    let existing = sql("select count(*) from pg_trigger
         where tgname in ('only_grows', 'is_never_emptied') and tgenabled <> 'D'
             and tgrelid in ('audit_log'::regclass, 'audit_seals'::regclass, 'audit_anchors'::regclass)");
    if existing.scalar::<i64>(tx).await? == 6 {
        return Ok(());
    }
    sql("create or replace function only_grows() returns trigger language plpgsql as
         $$ begin raise exception '% only grows', tg_table_name; end $$")
    .execute(tx)
    .await?;
    for (table, _) in TABLES {
        for (name, on, each) in
            [("only_grows", "update or delete", "row"), ("is_never_emptied", "truncate", "statement")]
        {
            sql("drop trigger if exists ").push(format!("{name} on {table}")).execute(tx).await?;
            sql("create trigger ")
                .push(format!("{name} before {on} on {table} for each {each} execute function only_grows()"))
                .execute(tx)
                .await?;
        }
    }
    Ok(())
}
