//! Which events somebody is told: everything, those of an organisation's offerings, or those that are an investor's own.

use chrono::{DateTime, Duration, Utc};

use crate::db::Tx;
use crate::event::Event;
use crate::event_type::{CATALOG, EventType};
use crate::narrow::Created;
use crate::webhook::Owner;
use crate::{Code, Error, Result, id, on};

/// How long a commit may take to show an event after its id was made. Until then one with an older id may still come.
const LATE_SECONDS: i64 = 60;
/// Behind everything that will ever be told.
const LAST: DateTime<Utc> = DateTime::from_timestamp(253_402_300_799, 0).expect("the end of the year 9999");

const OF_ORGANISATION: &str = "((subject_type = 'offering' and subject_id in (select id from offerings where issuer_id = $3)) \
    or (subject_type = 'subscription' and subject_id in \
        (select s.id from subscriptions s join offerings o on o.id = s.offering_id where o.issuer_id = $3)) \
    or (subject_type = 'distribution' and subject_id in \
        (select d.id from distributions d join offerings o on o.id = d.offering_id where o.issuer_id = $3)) \
    or (subject_type = 'entitlement' and subject_id in (select e.id from entitlements e join distributions d on d.id = e.distribution_id \
        join offerings o on o.id = d.offering_id where o.issuer_id = $3)))";
const OF_INVESTOR: &str = "((subject_type = 'subscription' and subject_id in (select id from subscriptions where investor_id = $3)) \
    or (subject_type = 'entitlement' and subject_id in (select id from entitlements where investor_id = $3)) \
    or (subject_type = 'wallet' and subject_id in (select id from wallets where investor_id = $3)) \
    or (subject_type = 'investor' and subject_id = $3))";

/// A page of events, oldest first, and from where to ask on.
#[derive(Clone, Debug)]
pub struct Page {
    /// The events.
    pub events: Vec<Event>,
    /// The id behind which nothing more will appear. What is younger is shown already, and shown again.
    pub next_after: Option<String>,
}

impl Owner {
    /// Whether events of a kind are told to this owner.
    pub fn is_told(&self, kind: &EventType) -> bool {
        match self {
            Self::Platform => true,
            Self::Issuer(_) => kind.org,
            Self::Investor(_) => kind.own,
        }
    }

    fn condition(&self) -> String {
        let names: Vec<_> =
            CATALOG.iter().filter(|kind| self.is_told(kind)).map(|kind| format!("'{}'", kind.name)).collect();
        let whose = match self {
            Self::Platform => "$3 = 'platform'",
            Self::Issuer(_) => OF_ORGANISATION,
            Self::Investor(_) => OF_INVESTOR,
        };
        format!("type in ({}) and {whose}", names.join(", "))
    }
}

/// Which events are meant. What is none restricts nothing.
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct Filter<'a> {
    pub kind: Option<&'a str>,
    pub created: Created,
    /// The id behind which the page begins.
    pub after: Option<&'a str>,
}

/// The events that fit, oldest first.
pub async fn page(tx: &mut Tx, owner: &Owner, f: &Filter<'_>, limit: i64) -> Result<Page> {
    // Ids begin with their time: the bounds on the id find the rows, those on the time are exact.
    let sql = format!(
        "select * from events where id > $1 and ($2 = '' or type = $2) and id >= $5 and id <= $6 and created_at >= $7 and created_at <= $8 \
         and {} order by id limit $4",
        owner.condition()
    );
    let (from, to) = (f.created.from.unwrap_or_default(), f.created.to.unwrap_or(LAST));
    let after = f.after.unwrap_or_default();
    let events = on!(tx, conn => sqlx::query_as::<_, Event>(sqlx::AssertSqlSafe(sql))
        .bind(after).bind(f.kind.unwrap_or_default()).bind(owner.key()).bind(limit).bind(id::first_of("evt", from))
        .bind(id::last_of("evt", to)).bind(from).bind(to).fetch_all(conn).await?);
    let settled: DateTime<Utc> = tx.now() - Duration::seconds(LATE_SECONDS);
    let next_after = events.iter().take_while(|event| event.created_at <= settled).last().map(|event| event.id.clone());
    Ok(Page { events, next_after: next_after.or_else(|| f.after.map(str::to_owned)) })
}

/// One event that the owner is told.
pub async fn find(tx: &mut Tx, owner: &Owner, id: &str) -> Result<Event> {
    id::check("evt", id)?;
    let sql = format!("select * from events where id = $1 and $2 = '' and {}", owner.condition());
    on!(tx, conn => sqlx::query_as::<_, Event>(sqlx::AssertSqlSafe(sql)).bind(id).bind("").bind(owner.key()).fetch_optional(conn).await?)
        .ok_or_else(|| Error::refused(Code::NotFound, format!("There is no event {id}.")))
}
