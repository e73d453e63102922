//! The second wall, on PostgreSQL alone: what investors read of what is theirs is read in transactions that show their own rows and no others,
//! whatever a statement forgets to ask for. To everybody else the wall is open: to the engine, the staff, and whatever counts over all investors.

use std::sync::Arc;

use sqlx::AssertSqlSafe;

use crate::db::{Conn, Db, Pools};
use crate::point::Point;
use crate::{Result, id};

/// The tables, and the column that says whose a row is.
const TABLES: [(&str, &str); 4] = [
    ("subscriptions", "investor_id"),
    ("entitlements", "investor_id"),
    ("wallets", "investor_id"),
    ("webhook_endpoints", "owner"),
];
/// Held while it is put up, so that two processes that start at once do not.
const LOCK: i64 = 0x6d75_6e69_7761_6c6c;
/// Whoever has no id of an investor has no rows of one.
const NOBODY: &str = "nobody";

tokio::task_local! {
    static VIEWER: Arc<str>;
}

/// Does the work, every reading transaction of which sees the rows of this investor alone.
pub async fn seen_by<F: Future>(investor_id: Option<&str>, work: F) -> F::Output {
    let viewer = investor_id.filter(|investor_id| id::check("inv", investor_id).is_ok());
    VIEWER.scope(viewer.unwrap_or(NOBODY).into(), work).await
}

/// How a reading transaction begins where somebody's rows alone are to be seen: in one message, so that the wall costs no round trip.
pub(crate) fn begin() -> Option<String> {
    VIEWER.try_with(|viewer| format!("begin; set local app.investor_id = '{viewer}'")).ok()
}

/// Puts it up, as the triggers of the audit log are: a migration has one text for both engines.
pub(crate) async fn raise(db: &Db) -> Result<()> {
    let mut tx = db.begin().await?;
    let Conn::Postgres(conn) = &mut tx.conn else { return Ok(()) };
    sqlx::query("select pg_advisory_xact_lock($1)").bind(LOCK).execute(&mut **conn).await?;
    let stands = "select count(*) from pg_policy p join pg_class c on c.oid = p.polrelid where p.polname = 'seen_by_investor' \
                  and c.relrowsecurity and c.relforcerowsecurity and c.oid in ('subscriptions'::regclass, 'entitlements'::regclass, \
                  'wallets'::regclass, 'webhook_endpoints'::regclass)";
    if sqlx::query_scalar::<_, i64>(stands).fetch_one(&mut **conn).await? == 4 {
        return Ok(());
    }
    for (table, owner) in TABLES {
        // Written as what is hardly ever false: the planner believes that it leaves a table as it is, as for almost all it does.
        let seen = format!(
            "case when coalesce(current_setting('app.investor_id', true), '') in ('', {owner}) then 'seen' else 'hidden' end <> 'hidden'"
        );
        for sql in [
            format!("drop policy if exists seen_by_investor on {table}"),
            format!("create policy seen_by_investor on {table} using ({seen}) with check (true)"),
            // The server owns its tables, and no policy is for an owner unless it is forced.
            format!("alter table {table} enable row level security, force row level security"),
        ] {
            sqlx::query(AssertSqlSafe(sql)).execute(&mut **conn).await?;
        }
    }
    tx.commit(Point::Housekeeping).await
}

/// Whether it stands in the way of the role that is logged in: none does of a superuser. None where there is no such wall.
pub async fn stands(db: &Db) -> Result<Option<bool>> {
    let Pools::Postgres(pool) = db.pools() else { return Ok(None) };
    let free = "select rolsuper or rolbypassrls from pg_roles where rolname = current_user";
    Ok(Some(!sqlx::query_scalar::<_, bool>(free).fetch_one(pool).await?))
}
