//! Webhook endpoints: where somebody wants to be told what happened.

pub mod network;
pub mod secret;
pub mod url;

use chrono::{DateTime, Utc};
use serde_json::json;
use sqlx::QueryBuilder;

use crate::audit::Facts;
use crate::db::{Tx, touched};
use crate::narrow::{self, Created};
use crate::{Code, Error, Result, event, on};

/// The form of what is sent, as of its date.
pub const API_VERSION: &str = "2026-11-01";

crate::words! {
    /// Whether an endpoint is told anything.
    Status {
        /// It is.
        Enabled = "enabled",
        /// Its owner or the platform switched it off.
        Disabled = "disabled",
        /// It is gone, and stays for the sake of what was sent to it.
        Deleted = "deleted",
    }
}

/// Whose events are told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    /// What is an investor's own.
    Investor(String),
    /// What is of an organisation's offerings.
    Issuer(String),
    /// Everything.
    Platform,
}

impl Owner {
    /// How it stands in a row.
    pub fn key(&self) -> &str {
        match self {
            Self::Investor(id) | Self::Issuer(id) => id,
            Self::Platform => "platform",
        }
    }

    /// How many endpoints it may have.
    pub const fn endpoints_max(&self) -> i64 {
        match self {
            Self::Investor(_) => 5,
            Self::Issuer(_) => 20,
            Self::Platform => 50,
        }
    }
}

/// An endpoint.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Endpoint {
    pub id: String,
    pub owner: String,
    pub slot: Option<i64>,
    pub url: String,
    pub description: String,
    /// Names, `*` or patterns like `subscription.*`, separated by blanks.
    pub event_types: String,
    /// Separated by blanks; none for all.
    pub offering_ids: Option<String>,
    pub headers_sealed: Option<String>,
    pub rate_limit_per_minute: Option<i64>,
    pub status: Status,
    pub disabled_reason: Option<String>,
    pub api_version: String,
    pub first_failed_at: Option<DateTime<Utc>>,
    pub consecutive_failures: i64,
    pub created_by: String,
    pub version: i64,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

/// An endpoint to be made.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct New<'a> {
    pub id: &'a str,
    pub owner: &'a Owner,
    pub url: &'a str,
    pub description: &'a str,
    pub event_types: &'a str,
    pub offering_ids: Option<&'a str>,
    pub headers_sealed: Option<&'a str>,
    pub rate_limit_per_minute: Option<i64>,
    pub created_by: &'a str,
}

/// Stores an endpoint in the first free place of its owner; `invalid_state` if there is none. A place that another one took meanwhile is
/// taken, and there may be a next one.
pub async fn insert(tx: &mut Tx, new: &New<'_>) -> Result<Endpoint> {
    let (now, owner, max) = (tx.now(), new.owner.key(), new.owner.endpoints_max());
    loop {
        let taken = on!(tx, conn => sqlx::query_scalar::<_, i64>(
            "select slot from webhook_endpoints where owner = $1 and slot is not null").bind(owner).fetch_all(conn).await?);
        let slot = (1..=max).find(|slot| !taken.contains(slot)).ok_or_else(|| {
            let detail = format!("There are {max} endpoints already, which is the most. Delete one first.");
            Error::refused(Code::InvalidState, detail)
        })?;
        let rows = on!(tx, conn => sqlx::query(
            "insert into webhook_endpoints (id, owner, slot, url, description, event_types, offering_ids, headers_sealed, \
             rate_limit_per_minute, status, api_version, consecutive_failures, created_by, version, created_at, updated_at) \
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'enabled', $10, 0, $11, 1, $12, $12) on conflict (owner, slot) do nothing")
            .bind(new.id).bind(owner).bind(slot).bind(new.url).bind(new.description).bind(new.event_types).bind(new.offering_ids)
            .bind(new.headers_sealed).bind(new.rate_limit_per_minute).bind(API_VERSION).bind(new.created_by).bind(now)
            .execute(conn).await?.rows_affected());
        if rows == 1 {
            break;
        }
    }
    tell(tx, new.id, "created", 1).await?;
    find(tx, new.id, new.owner).await
}

/// One endpoint of this owner.
pub async fn find(tx: &mut Tx, id: &str, owner: &Owner) -> Result<Endpoint> {
    crate::id::check("whe", id)?;
    on!(tx, conn => sqlx::query_as::<_, Endpoint>("select * from webhook_endpoints where id = $1 and owner = $2 and slot is not null")
        .bind(id).bind(owner.key()).fetch_optional(conn).await?)
    .ok_or_else(|| Error::refused(Code::NotFound, format!("There is no webhook endpoint {id}.")))
}

/// What a list shows. What is empty restricts nothing.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct Filter {
    pub statuses: Vec<Status>,
    pub created: Created,
}

/// One page of an owner's endpoints, the newest first, and how many there are.
pub async fn page(tx: &mut Tx, owner: &Owner, f: &Filter, limit: i64, offset: i64) -> Result<(Vec<Endpoint>, i64)> {
    let (owner, words) = (owner.key().to_owned(), || f.statuses.iter().map(|status| status.as_str()));
    let total = on!(tx, conn => {
        let mut query = QueryBuilder::new("select count(*) from webhook_endpoints where slot is not null and owner = ");
        query.push_bind(owner.clone());
        narrow::words(&mut query, "status", words());
        f.created.narrow(&mut query, "", "whe");
        query.build_query_scalar::<i64>().fetch_one(conn).await?
    });
    let rows = on!(tx, conn => {
        let mut query = QueryBuilder::new("select * from webhook_endpoints where slot is not null and owner = ");
        query.push_bind(owner.clone());
        narrow::words(&mut query, "status", words());
        f.created.narrow(&mut query, "", "whe");
        query.push(" order by id desc limit ").push_bind(limit).push(" offset ").push_bind(offset);
        query.build_query_as::<Endpoint>().fetch_all(conn).await?
    });
    Ok((rows, total))
}

/// Writes what may change of an endpoint, guarded by the version that was read.
pub async fn update(tx: &mut Tx, e: &Endpoint) -> Result<Endpoint> {
    let now = tx.now();
    let before = on!(tx, conn => sqlx::query_as::<_, Endpoint>("select * from webhook_endpoints where id = $1").bind(&e.id).fetch_one(conn).await?);
    let rows = on!(tx, conn => sqlx::query(
        "update webhook_endpoints set url = $3, description = $4, event_types = $5, offering_ids = $6, headers_sealed = $7, \
         rate_limit_per_minute = $8, status = $9, disabled_reason = $10, first_failed_at = $11, consecutive_failures = $12, \
         version = version + 1, updated_at = $13 where id = $1 and version = $2 and slot is not null")
        .bind(&e.id).bind(e.version).bind(&e.url).bind(&e.description).bind(&e.event_types).bind(&e.offering_ids).bind(&e.headers_sealed)
        .bind(e.rate_limit_per_minute).bind(e.status).bind(&e.disabled_reason).bind(e.first_failed_at).bind(e.consecutive_failures)
        .bind(now).execute(conn).await?.rows_affected());
    touched(rows, "webhook endpoint", &e.id)?;
    let after = Endpoint { version: e.version + 1, updated_at: now, ..e.clone() };
    tx.doing().changed(&e.id, facts(&before), facts(&after));
    tell(tx, &e.id, "updated", after.version).await?;
    Ok(after)
}

/// Takes an endpoint away, with everything that it could be reached or signed by.
pub async fn delete(tx: &mut Tx, e: &Endpoint) -> Result<()> {
    let now = tx.now();
    let rows = on!(tx, conn => sqlx::query(
        "update webhook_endpoints set status = 'deleted', slot = null, headers_sealed = null, version = version + 1, updated_at = $3 \
         where id = $1 and version = $2 and slot is not null")
        .bind(&e.id).bind(e.version).bind(now).execute(conn).await?.rows_affected());
    touched(rows, "webhook endpoint", &e.id)?;
    on!(tx, conn => sqlx::query("delete from webhook_secrets where endpoint_id = $1").bind(&e.id).execute(conn).await?.rows_affected());
    let after = Endpoint { status: Status::Deleted, headers_sealed: None, version: e.version + 1, ..e.clone() };
    tx.doing().changed(&e.id, facts(e), facts(&after));
    tell(tx, &e.id, "deleted", e.version + 1).await
}

/// What the audit log may show of it. An address may hold a secret of its owner's.
fn facts(e: &Endpoint) -> Facts {
    let open = json!({
        "event_types": e.event_types, "offering_ids": e.offering_ids, "rate_limit_per_minute": e.rate_limit_per_minute, "status": e.status,
        "disabled_reason": e.disabled_reason, "version": e.version,
    });
    Facts::new(open, json!({ "url": e.url, "description": e.description, "headers": e.headers_sealed }))
}

async fn tell(tx: &mut Tx, id: &str, what: &str, version: i64) -> Result<()> {
    event::write(tx, &format!("endpoint.{what}"), "webhook_endpoint", id, version, json!({})).await
}
