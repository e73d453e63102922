//! Webhook endpoints: URLs of portals that receive events. A URL is parsed with a list of what is allowed (`url`), and the
//! addresses of its host must be on the public internet (`network`). Each delivery looks the host up and checks its addresses again.

pub mod network;
pub mod secret;
pub mod url;

use chrono::{DateTime, Utc};
use serde_json::json;

use crate::db::{Tx, expect_updated};
use crate::filter::CreatedBetween;
use crate::id::{EndpointId, InvestorId, IssuerId, of};
use crate::recorder::Facts;
use crate::sql::{Sql, insert_into, sql, update_table};
use crate::{Code, Error, Result, event, event_type};

/// The version of the payload format, by date.
pub const API_VERSION: &str = "2026-11-01";
/// The reason of an endpoint that its owner disabled. Any other reason is the platform's.
pub const DISABLED_BY_OWNER: &str = "disabled by its owner";

crate::words! {
    /// The status of an endpoint.
    Status {
        /// It receives events.
        Enabled = "enabled",
        /// Disabled by its owner or the platform.
        Disabled = "disabled",
        /// Deleted; the row stays for the history of deliveries.
        Deleted = "deleted",
    }
}

/// The owner of an endpoint, which decides the events it receives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    /// An investor's own events.
    Investor(InvestorId),
    /// Events of an issuer's offerings.
    Issuer(IssuerId),
    /// All events.
    Platform,
}

impl Owner {
    /// The owner with this stored form. None for a person who has no organisation or investor yet.
    pub fn of_key(key: &str) -> Option<Self> {
        match key.split_once('_') {
            Some(("inv", _)) => Some(Self::Investor(key.into())),
            Some(("iss", _)) => Some(Self::Issuer(key.into())),
            _ => (key == Self::Platform.key()).then_some(Self::Platform),
        }
    }

    /// The stored form.
    pub fn key(&self) -> &str {
        match self {
            Self::Investor(id) => id,
            Self::Issuer(id) => id,
            Self::Platform => "platform",
        }
    }

    /// The limit on the number of endpoints.
    pub const fn endpoints_max(&self) -> i64 {
        match self {
            Self::Investor(_) => 5,
            Self::Issuer(_) => 20,
            Self::Platform => 50,
        }
    }
}

/// One row of `webhook_endpoints`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Endpoint {
    pub id: EndpointId,
    pub owner: String,
    pub slot: Option<i64>,
    pub url: String,
    pub description: String,
    /// Names, `*` or patterns such as `subscription.*`, separated by spaces.
    pub event_types: String,
    /// Ids separated by spaces; none for all offerings.
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
    /// The end of the pause that the receiver asked for.
    pub throttled_until: Option<DateTime<Utc>>,
    /// A recovery in progress: the event after which it continues, and the time at which it ends.
    pub recover_after: Option<String>,
    pub recover_until: Option<DateTime<Utc>>,
}

impl Endpoint {
    /// Its owner, if that can see any event.
    pub fn owner(&self) -> Option<Owner> {
        Owner::of_key(&self.owner)
    }

    /// Whether it asked for events of this type.
    pub fn wants_type(&self, name: &str) -> bool {
        self.event_types.split(' ').any(|wanted| event_type::belongs(name, wanted))
    }
}

/// An endpoint to create.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct New<'a> {
    pub id: &'a EndpointId,
    pub owner: &'a Owner,
    pub url: &'a str,
    pub description: &'a str,
    pub event_types: &'a str,
    pub offering_ids: Option<&'a str>,
    pub headers_sealed: Option<&'a str>,
    pub rate_limit_per_minute: Option<i64>,
    pub created_by: &'a str,
}

/// Stores an endpoint in the first free slot of its owner; `invalid_state` if all are used. If a parallel request takes the slot, the
/// next one is tried.
pub async fn insert(tx: &mut Tx, new: &New<'_>) -> Result<Endpoint> {
    let (now, owner, max) = (tx.now(), new.owner.key(), new.owner.endpoints_max());
    loop {
        let taken = sql("select slot from webhook_endpoints where owner = $1 and slot is not null")
            .bind(owner)
            .scalars::<i64>(tx)
            .await?;
        // Numbered slots with a unique index make the limit hold for parallel requests.
        let slot = (1..=max).find(|slot| !taken.contains(slot)).ok_or_else(|| {
            let detail = format!("The limit of {max} endpoints is reached. Delete an endpoint first.");
            Error::refused(Code::InvalidState, detail)
        })?;
        let rows = insert_into("webhook_endpoints")
            .set("id", new.id)
            .set("owner", owner)
            .set("slot", slot)
            .set("url", new.url)
            .set("description", new.description)
            .set("event_types", new.event_types)
            .set("offering_ids", new.offering_ids)
            .set("headers_sealed", new.headers_sealed)
            .set("rate_limit_per_minute", new.rate_limit_per_minute)
            .set("status", "enabled")
            .set("api_version", API_VERSION)
            .set("consecutive_failures", 0)
            .set("created_by", new.created_by)
            .set("version", 1)
            .set("created_at", now)
            .set("updated_at", now)
            .push(" on conflict (owner, slot) do nothing")
            .execute(tx)
            .await?;
        if rows == 1 {
            break;
        }
    }
    tell(tx, new.id, "created", 1).await?;
    find(tx, new.id, new.owner).await
}

/// One endpoint of this owner.
pub async fn find(tx: &mut Tx, id: &EndpointId, owner: &Owner) -> Result<Endpoint> {
    id.check()?;
    sql("select * from webhook_endpoints where id = $1 and owner = $2 and slot is not null")
        .bind((id, owner.key()))
        .optional::<Endpoint>(tx)
        .await?
        .ok_or_else(|| Error::refused(Code::NotFound, format!("There is no webhook endpoint {id}.")))
}

/// The filter of a list. Empty means no restriction.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct Filter {
    pub statuses: Vec<Status>,
    pub created: CreatedBetween,
}

/// A page of an owner's endpoints, newest first, and their number.
pub async fn page(tx: &mut Tx, owner: &Owner, f: &Filter, limit: i64, offset: i64) -> Result<(Vec<Endpoint>, i64)> {
    let matching = |select: Sql| {
        select
            .with(" from webhook_endpoints where slot is not null and owner = ", owner.key())
            .one_of("status", &f.statuses)
            .created::<of::Endpoint>(f.created, "")
    };
    let total = matching(sql("select count(*)")).scalar(tx).await?;
    let rows = matching(sql("select *")).push(" order by id desc").page(limit, offset).rows(tx).await?;
    Ok((rows, total))
}

/// Writes the changed columns if the version is still the one that was read.
pub async fn update(tx: &mut Tx, e: &Endpoint) -> Result<Endpoint> {
    let now = tx.now();
    let before = sql("select * from webhook_endpoints where id = $1").bind(&e.id).row::<Endpoint>(tx).await?;
    let rows = update_table("webhook_endpoints")
        .set("url", &e.url)
        .set("description", &e.description)
        .set("event_types", &e.event_types)
        .set("offering_ids", &e.offering_ids)
        .set("headers_sealed", &e.headers_sealed)
        .set("rate_limit_per_minute", e.rate_limit_per_minute)
        .set("status", e.status)
        .set("disabled_reason", &e.disabled_reason)
        .set("updated_at", now)
        .with(", version = version + 1 where id = ", &e.id)
        .with(" and version = ", e.version)
        .push(" and slot is not null")
        .execute(tx)
        .await?;
    expect_updated(rows, "webhook endpoint", &e.id)?;
    let after = Endpoint { version: e.version + 1, updated_at: now, ..e.clone() };
    tx.recorder().record_change(&e.id, facts(&before), facts(&after));
    tell(tx, &e.id, "updated", after.version).await?;
    Ok(after)
}

/// Locks an enabled endpoint until the commit. Every move of its deliveries begins with this lock.
pub async fn lock_enabled(tx: &mut Tx, id: &EndpointId) -> Result<Option<Endpoint>> {
    sql("update webhook_endpoints set updated_at = updated_at where id = $1 and status = 'enabled' returning *")
        .bind(id)
        .optional(tx)
        .await
}

/// Stores how an endpoint answers. It is no change by its owner, so the version stays.
pub async fn set_health(tx: &mut Tx, e: &Endpoint) -> Result<()> {
    sql("update webhook_endpoints set first_failed_at = $2, consecutive_failures = $3, throttled_until = $4 where id = $1")
        .bind((&e.id, e.first_failed_at, e.consecutive_failures, e.throttled_until))
        .execute(tx)
        .await?;
    Ok(())
}

/// Begins, continues or ends a recovery.
pub async fn set_recovery(tx: &mut Tx, id: &EndpointId, place: Option<(&str, DateTime<Utc>)>) -> Result<()> {
    sql("update webhook_endpoints set recover_after = $2, recover_until = $3 where id = $1")
        .bind((id, place.map(|(after, _)| after), place.map(|(_, until)| until)))
        .execute(tx)
        .await?;
    Ok(())
}

/// Disables an endpoint by the platform, with the reason.
pub async fn disable(tx: &mut Tx, e: &Endpoint, reason: &str) -> Result<()> {
    let now = tx.now();
    let rows = sql("update webhook_endpoints
        set status = 'disabled', disabled_reason = $3, recover_after = null, recover_until = null, version = version + 1, updated_at = $4
        where id = $1 and version = $2 and status = 'enabled'")
    .bind((&e.id, e.version, reason, now))
    .execute(tx)
    .await?;
    expect_updated(rows, "webhook endpoint", &e.id)
}

/// Deletes an endpoint with its headers and secrets.
pub async fn delete(tx: &mut Tx, e: &Endpoint) -> Result<()> {
    let now = tx.now();
    let rows = sql("update webhook_endpoints
        set status = 'deleted', slot = null, headers_sealed = null, recover_after = null, recover_until = null, version = version + 1, updated_at = $3
        where id = $1 and version = $2 and slot is not null")
    .bind((&e.id, e.version, now))
    .execute(tx)
    .await?;
    expect_updated(rows, "webhook endpoint", &e.id)?;
    sql("delete from webhook_secrets where endpoint_id = $1").bind(&e.id).execute(tx).await?;
    let after = Endpoint { status: Status::Deleted, headers_sealed: None, version: e.version + 1, ..e.clone() };
    tx.recorder().record_change(&e.id, facts(e), facts(&after));
    tell(tx, &e.id, "deleted", e.version + 1).await
}

/// The fields for the audit log. The URL can contain a secret of its owner, so it appears by name only.
fn facts(e: &Endpoint) -> Facts {
    let open = json!({
        "event_types": e.event_types, "offering_ids": e.offering_ids, "rate_limit_per_minute": e.rate_limit_per_minute, "status": e.status,
        "disabled_reason": e.disabled_reason, "version": e.version,
    });
    Facts::new(open, json!({ "url": e.url, "description": e.description, "headers": e.headers_sealed }))
}

async fn tell(tx: &mut Tx, id: &EndpointId, what: &str, version: i64) -> Result<()> {
    event::write(tx, &format!("endpoint.{what}"), "webhook_endpoint", id, version, json!({})).await
}
