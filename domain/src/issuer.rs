//! Issuers: the organisations that make offerings.

use chrono::{DateTime, Utc};
use serde_json::json;

use crate::db::{Tx, expect_updated};
use crate::filter::CreatedBetween;
use crate::id::{IssuerId, of};
use crate::recorder::Facts;
use crate::sql::{Sql, insert_into, sql};
use crate::{Code, Error, Result, event};

crate::words! {
    /// The status of an issuer.
    Status {
        /// Registered; an operator has not approved it yet.
        Pending = "pending",
        /// May make offerings.
        Active = "active",
        /// May not make new offerings.
        Suspended = "suspended",
    }
}

/// One row of `issuers`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Issuer {
    pub id: IssuerId,
    pub name: String,
    pub status: Status,
    /// The reason of the suspension or reinstatement.
    pub status_reason: Option<String>,
    pub version: i64,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

/// Stores an active issuer.
pub async fn insert(tx: &mut Tx, id: &IssuerId, name: &str) -> Result<()> {
    store(tx, id, name, Status::Active).await
}

/// Stores an issuer that waits for approval.
pub async fn insert_pending(tx: &mut Tx, id: &IssuerId, name: &str) -> Result<()> {
    store(tx, id, name, Status::Pending).await
}

async fn store(tx: &mut Tx, id: &IssuerId, name: &str, status: Status) -> Result<()> {
    let now = tx.now();
    insert_into("issuers")
        .set("id", id)
        .set("name", name)
        .set("status", status)
        .set("version", 1)
        .set("created_at", now)
        .set("updated_at", now)
        .execute(tx)
        .await?;
    Ok(())
}

/// The issuer with this id, which can be malformed.
pub async fn find(tx: &mut Tx, id: &IssuerId) -> Result<Issuer> {
    sql("select * from issuers where id = $1")
        .bind(id)
        .optional::<Issuer>(tx)
        .await?
        .ok_or_else(|| Error::refused(Code::NotFound, format!("There is no issuer {id}.")))
}

/// The issuer with this id, if it is active.
pub async fn active(tx: &mut Tx, id: &IssuerId) -> Result<Issuer> {
    let issuer = find(tx, id).await?;
    if issuer.status == Status::Active {
        return Ok(issuer);
    }
    let detail = format!("The issuer {} is {}. An operator must approve it first.", issuer.name, issuer.status);
    Err(Error::refused(Code::InvalidState, detail))
}

/// Locks the issuer until the commit, so that parallel changes of its offerings are counted one after the other.
pub async fn lock_row(tx: &mut Tx, id: &IssuerId) -> Result<()> {
    let rows = sql("update issuers set version = version where id = $1").bind(id).execute(tx).await?;
    expect_updated(rows, "issuer", id)
}

/// The filter of a list. Empty means no restriction.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct Filter {
    pub statuses: Vec<Status>,
    pub created: CreatedBetween,
}

/// A page of issuers, newest first, and their number.
pub async fn page(tx: &mut Tx, f: &Filter, limit: i64, offset: i64) -> Result<(Vec<Issuer>, i64)> {
    let matching = |select: Sql| {
        select.push(" from issuers where 1 = 1").one_of("status", &f.statuses).created::<of::Issuer>(f.created, "")
    };
    let rows = matching(sql("select *")).push(" order by id desc").page(limit, offset).rows(tx).await?;
    let total = matching(sql("select count(*)")).scalar(tx).await?;
    Ok((rows, total))
}

/// Refuses changes by members of a suspended issuer.
pub async fn check_not_suspended(tx: &mut Tx, id: &IssuerId) -> Result<()> {
    let issuer = find(tx, id).await?;
    if issuer.status != Status::Suspended {
        return Ok(());
    }
    let detail = format!("The issuer {} is suspended. Its members can read but not change anything.", issuer.name);
    Err(Error::refused(Code::InvalidState, detail))
}

/// Approves an issuer.
pub async fn approve(tx: &mut Tx, id: &IssuerId, actor: &str) -> Result<Issuer> {
    moved(tx, id, (Status::Pending, Status::Active), ("issuer.approved", None), actor).await
}

/// Suspends an issuer: its members cannot change anything, and its offerings take no subscriptions.
pub async fn suspend(tx: &mut Tx, id: &IssuerId, reason: &str, actor: &str) -> Result<Issuer> {
    moved(tx, id, (Status::Active, Status::Suspended), ("issuer.suspended", Some(reason)), actor).await
}

/// Ends a suspension.
pub async fn reinstate(tx: &mut Tx, id: &IssuerId, reason: &str, actor: &str) -> Result<Issuer> {
    moved(tx, id, (Status::Suspended, Status::Active), ("issuer.reinstated", Some(reason)), actor).await
}

/// Changes the status and writes the event. Of two parallel changes one succeeds.
async fn moved(
    tx: &mut Tx,
    id: &IssuerId,
    (from, status): (Status, Status),
    (event, reason): (&str, Option<&str>),
    actor: &str,
) -> Result<Issuer> {
    let (known, now) = (find(tx, id).await?, tx.now());
    if known.status != from {
        let detail = format!("{} is {} but must be {from}.", known.name, known.status);
        return Err(Error::illegal(detail, known.status.as_str(), Vec::new()));
    }
    let rows = sql("update issuers set status = $3, status_reason = $4, version = version + 1, updated_at = $5
        where id = $1 and version = $2")
    .bind((id, known.version, status, reason, now))
    .execute(tx)
    .await?;
    expect_updated(rows, "issuer", id)?;
    let version = known.version + 1;
    let facts = |status, version| Facts::new(json!({ "status": status, "version": version }), json!({}));
    tx.recorder().record_change(id, facts(known.status, known.version), facts(status, version));
    let data = json!({ "from": from, "status": status, "version": version, "actor": actor });
    event::write(tx, event, "issuer", id, version, data).await?;
    Ok(Issuer { status, status_reason: reason.map(str::to_owned), version, updated_at: now, ..known })
}
