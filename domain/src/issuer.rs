//! Issuers: the organisations that offer something.

use chrono::{DateTime, Utc};
use serde_json::json;
use sqlx::QueryBuilder;

use crate::audit::Facts;
use crate::db::{Tx, touched};
use crate::narrow::{self, Created};
use crate::{Code, Error, Result, event, on};

crate::words! {
    /// How far an organisation is.
    Status {
        /// Registered; an operator has not said yes yet.
        Pending = "pending",
        /// May offer.
        Active = "active",
        /// May not offer anything new.
        Suspended = "suspended",
    }
}

/// An organisation.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Issuer {
    pub id: String,
    pub name: String,
    pub status: Status,
    /// Why it was suspended, or reinstated.
    pub status_reason: Option<String>,
    pub version: i64,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

/// Stores an issuer.
pub async fn insert(tx: &mut Tx, id: &str, name: &str) -> Result<()> {
    store(tx, id, name, Status::Active).await
}

/// Stores an issuer that nobody has approved yet.
pub async fn insert_pending(tx: &mut Tx, id: &str, name: &str) -> Result<()> {
    store(tx, id, name, Status::Pending).await
}

async fn store(tx: &mut Tx, id: &str, name: &str, status: Status) -> Result<()> {
    let now = tx.now();
    on!(tx, conn => sqlx::query(
        "insert into issuers (id, name, status, version, created_at, updated_at) values ($1, $2, $3, 1, $4, $4)")
        .bind(id).bind(name).bind(status).bind(now).execute(conn).await?.rows_affected());
    Ok(())
}

/// The issuer with this id, which may be malformed.
pub async fn find(tx: &mut Tx, id: &str) -> Result<Issuer> {
    on!(tx, conn => sqlx::query_as::<_, Issuer>("select * from issuers where id = $1").bind(id).fetch_optional(conn).await?)
        .ok_or_else(|| Error::refused(Code::NotFound, format!("There is no issuer {id}.")))
}

/// The issuer with this id, if it may offer something.
pub async fn active(tx: &mut Tx, id: &str) -> Result<Issuer> {
    let issuer = find(tx, id).await?;
    if issuer.status == Status::Active {
        return Ok(issuer);
    }
    let detail = format!("The organisation {} is {}: an operator has to approve it first.", issuer.name, issuer.status);
    Err(Error::refused(Code::InvalidState, detail))
}

/// Takes the row of an organisation for this commit: what it offers at once is counted one after the other.
pub async fn hold(tx: &mut Tx, id: &str) -> Result<()> {
    let rows = on!(tx, conn => sqlx::query("update issuers set version = version where id = $1")
        .bind(id).execute(conn).await?.rows_affected());
    touched(rows, "issuer", id)
}

/// Which issuers are meant. What is empty restricts nothing.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct Filter {
    pub statuses: Vec<Status>,
    pub created: Created,
}

/// A page of issuers, newest first, and how many there are.
pub async fn page(tx: &mut Tx, f: &Filter, limit: i64, offset: i64) -> Result<(Vec<Issuer>, i64)> {
    let words = || f.statuses.iter().map(|status| status.as_str());
    let rows = on!(tx, conn => {
        let mut query = QueryBuilder::new("select * from issuers where 1 = 1");
        narrow::words(&mut query, "status", words());
        f.created.narrow(&mut query, "", "iss");
        query.push(" order by id desc limit ").push_bind(limit).push(" offset ").push_bind(offset);
        query.build_query_as::<Issuer>().fetch_all(conn).await?
    });
    let total = on!(tx, conn => {
        let mut query = QueryBuilder::new("select count(*) from issuers where 1 = 1");
        narrow::words(&mut query, "status", words());
        f.created.narrow(&mut query, "", "iss");
        query.build_query_scalar::<i64>().fetch_one(conn).await?
    });
    Ok((rows, total))
}

/// Refuses what nobody of a suspended organisation may do.
pub async fn must_act(tx: &mut Tx, id: &str) -> Result<()> {
    let issuer = find(tx, id).await?;
    if issuer.status != Status::Suspended {
        return Ok(());
    }
    let detail = format!("The organisation {} is suspended: its people read, and change nothing.", issuer.name);
    Err(Error::refused(Code::InvalidState, detail))
}

/// Lets an organisation offer.
pub async fn approve(tx: &mut Tx, id: &str, actor: &str) -> Result<Issuer> {
    moved(tx, id, (Status::Pending, Status::Active), ("issuer.approved", None), actor).await
}

/// Stops an organisation: its people change nothing, and its offerings take no subscriptions.
pub async fn suspend(tx: &mut Tx, id: &str, reason: &str, actor: &str) -> Result<Issuer> {
    moved(tx, id, (Status::Active, Status::Suspended), ("issuer.suspended", Some(reason)), actor).await
}

/// Lets it act again.
pub async fn reinstate(tx: &mut Tx, id: &str, reason: &str, actor: &str) -> Result<Issuer> {
    moved(tx, id, (Status::Suspended, Status::Active), ("issuer.reinstated", Some(reason)), actor).await
}

/// Moves it from one status to another, with its event; of two at once one does.
async fn moved(
    tx: &mut Tx,
    id: &str,
    (from, status): (Status, Status),
    (event, reason): (&str, Option<&str>),
    actor: &str,
) -> Result<Issuer> {
    let (known, now) = (find(tx, id).await?, tx.now());
    if known.status != from {
        let detail = format!("{} is {}, and would have to be {from}.", known.name, known.status);
        return Err(Error::illegal(detail, known.status.as_str(), Vec::new()));
    }
    let rows = on!(tx, conn => sqlx::query(
        "update issuers set status = $3, status_reason = $4, version = version + 1, updated_at = $5 where id = $1 and version = $2")
        .bind(id).bind(known.version).bind(status).bind(reason).bind(now).execute(conn).await?.rows_affected());
    touched(rows, "issuer", id)?;
    let version = known.version + 1;
    let facts = |status, version| Facts::new(json!({ "status": status, "version": version }), json!({}));
    tx.doing().changed(id, facts(known.status, known.version), facts(status, version));
    let data = json!({ "from": from, "status": status, "version": version, "actor": actor });
    event::write(tx, event, "issuer", id, version, data).await?;
    Ok(Issuer { status, status_reason: reason.map(str::to_owned), version, updated_at: now, ..known })
}
