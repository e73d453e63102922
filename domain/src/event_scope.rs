//! The events that a caller may see: all, those of an issuer's offerings, or an investor's own. `GET /v1/events` returns them
//! oldest first.
//!
//! On PostgreSQL a commit may show an event after a younger one was read. So `next_after` never passes an event younger than a
//! minute: a reader may see an event twice, knows it by its id, and misses none.

use chrono::{DateTime, Duration, Utc};

use crate::db::Tx;
use crate::event::Event;
use crate::event_type::{CATALOG, EventType};
use crate::filter::CreatedBetween;
use crate::sql::sql;
use crate::webhook::Owner;
use crate::{Code, Error, Result, id};

/// A commit can show an event up to this long after its id was created, so that an older id can still appear.
const LATE_SECONDS: i64 = 60;
/// A time later than any event.
const LAST: DateTime<Utc> = DateTime::from_timestamp(253_402_300_799, 0).expect("the end of the year 9999");

const OF_ORGANISATION: &str = "((subject_type = 'offering' and subject_id in (select id from offerings where issuer_id = $3))
        or (subject_type = 'subscription' and subject_id in
        (select s.id from subscriptions s join offerings o on o.id = s.offering_id where o.issuer_id = $3))
        or (subject_type = 'distribution' and subject_id in
        (select d.id from distributions d join offerings o on o.id = d.offering_id where o.issuer_id = $3))
        or (subject_type = 'entitlement' and subject_id in (select e.id from entitlements e join distributions d on d.id = e.distribution_id
        join offerings o on o.id = d.offering_id where o.issuer_id = $3)))";
const OF_INVESTOR: &str =
    "((subject_type = 'subscription' and subject_id in (select id from subscriptions where investor_id = $3))
        or (subject_type = 'entitlement' and subject_id in (select id from entitlements where investor_id = $3))
        or (subject_type = 'wallet' and subject_id in (select id from wallets where investor_id = $3))
        or (subject_type = 'investor' and subject_id = $3))";

/// A page of events, oldest first, and the position to continue from.
#[derive(Clone, Debug)]
pub struct Page {
    /// The events.
    pub events: Vec<Event>,
    /// Continue after this id. Younger events are already shown and will be shown again, because older ids can still appear.
    pub next_after: Option<String>,
}

impl Owner {
    /// Whether this owner sees events of a kind.
    pub fn may_see(&self, kind: &EventType) -> bool {
        match self {
            Self::Platform => true,
            Self::Issuer(_) => kind.for_issuer,
            Self::Investor(_) => kind.for_investor,
        }
    }

    fn condition(&self) -> String {
        let names: Vec<_> =
            CATALOG.iter().filter(|kind| self.may_see(kind)).map(|kind| format!("'{}'", kind.name)).collect();
        let whose = match self {
            Self::Platform => "$3 = 'platform'",
            Self::Issuer(_) => OF_ORGANISATION,
            Self::Investor(_) => OF_INVESTOR,
        };
        format!("type in ({}) and {whose}", names.join(", "))
    }
}

/// The filter of a list. None means no restriction.
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct Filter<'a> {
    pub kind: Option<&'a str>,
    pub created: CreatedBetween,
    /// Only events after this id.
    pub after: Option<&'a str>,
}

/// A page of matching events, oldest first.
pub async fn page(tx: &mut Tx, owner: &Owner, f: &Filter<'_>, limit: i64) -> Result<Page> {
    // Ids begin with their time: the limits on the id find the rows, those on the time are exact.
    let (from, to) = (f.created.from.unwrap_or_default(), f.created.to.unwrap_or(LAST));
    let (first, last) = (id::first_of("evt", from), id::last_of("evt", to));
    let after = f.after.unwrap_or_default();
    let events = sql("select * from events
         where id > $1 and ($2 = '' or type = $2) and id >= $5 and id <= $6 and created_at >= $7 and created_at <= $8 and ")
    .push(owner.condition())
    .push(" order by id limit $4")
    .bind((after, f.kind.unwrap_or_default(), owner.key(), limit, first, last, from, to))
    .rows::<Event>(tx)
    .await?;
    // Only events that no older id can still precede move the position.
    let settled: DateTime<Utc> = tx.now() - Duration::seconds(LATE_SECONDS);
    let next_after = events.iter().take_while(|event| event.created_at <= settled).last().map(|event| event.id.clone());
    Ok(Page { events, next_after: next_after.or_else(|| f.after.map(str::to_owned)) })
}

/// One event, if the owner may see it.
pub async fn find(tx: &mut Tx, owner: &Owner, id: &str) -> Result<Event> {
    id::check("evt", id)?;
    let found = sql("select * from events where id = $1 and $2 = '' and ").push(owner.condition());
    let found = found.bind((id, "", owner.key())).optional::<Event>(tx).await?;
    found.ok_or_else(|| Error::refused(Code::NotFound, format!("There is no event {id}.")))
}
