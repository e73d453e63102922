//! Row security on PostgreSQL: a second protection behind the conditions of the statements.
//!
//! 1. A read for an investor runs in a transaction that sets `app.investor_id`. A policy on each table shows only that investor's
//!    rows, even if a statement lacks the condition.
//! 2. All other transactions set nothing and see everything: the engine, staff, and statistics over all investors, such as the
//!    caps.
//! 3. Policies apply to ordinary roles only. The server needs a role that owns its tables and is not a superuser; `muniment
//!    doctor` reports any other role. Such an owner backs up with `pg_dump --enable-row-security`.

use crate::Result;
use crate::db::{Conn, Db};
use crate::point::Point;
use crate::sql::sql;
pub use crate::viewer::limited_to;

/// The tables, and the column with the owner of a row.
const TABLES: [(&str, &str); 4] = [
    ("subscriptions", "investor_id"),
    ("entitlements", "investor_id"),
    ("wallets", "investor_id"),
    ("webhook_endpoints", "owner"),
];
/// Advisory lock, so that two processes that start together do not create the policies at the same time.
const LOCK: i64 = 0x6d75_6e69_7761_6c6c;

/// Creates the policies at every start, like the triggers of the audit log: a migration has one text for both databases.
pub(crate) async fn create_policies(db: &Db) -> Result<()> {
    let mut tx = db.begin().await?;
    if matches!(tx.conn, Conn::Sqlite(..)) {
        return Ok(());
    }
    sql("select pg_advisory_xact_lock($1)").bind(LOCK).execute(&mut tx).await?;
    let existing = sql("select count(*) from pg_policy p join pg_class c on c.oid = p.polrelid
         where p.polname = 'seen_by_investor' and c.relrowsecurity and c.relforcerowsecurity
             and c.oid in ('subscriptions'::regclass, 'entitlements'::regclass, 'wallets'::regclass,
                 'webhook_endpoints'::regclass)");
    if existing.scalar::<i64>(&mut tx).await? == 4 {
        return Ok(());
    }
    for (table, owner) in TABLES {
        sql("drop policy if exists seen_by_investor on ").push(table).execute(&mut tx).await?;
        // The form of the condition makes the planner estimate that it removes no rows, which is true for almost all reads.
        sql("create policy seen_by_investor on ")
            .push(table)
            .push(" using (case when coalesce(current_setting('app.investor_id', true), '') in ('', ")
            .push(owner)
            .push(") then 'seen' else 'hidden' end <> 'hidden') with check (true)")
            .execute(&mut tx)
            .await?;
        // Policies do not apply to the owner of a table unless forced, and the server is the owner.
        sql("alter table ")
            .push(table)
            .push(" enable row level security, force row level security")
            .execute(&mut tx)
            .await?;
    }
    tx.commit(Point::Housekeeping).await
}

/// Whether row security applies to the present role; it never does to a superuser. None on SQLite.
pub async fn applies(db: &Db) -> Result<Option<bool>> {
    if !db.is_shared() {
        return Ok(None);
    }
    let mut tx = db.read().await?;
    let exempt = sql("select rolsuper or rolbypassrls from pg_roles where rolname = current_user");
    Ok(Some(!exempt.scalar::<bool>(&mut tx).await?))
}
