//! The events that a caller may see: all, those of an issuer's offerings, or an investor's own. `GET /v1/events` returns them
//! oldest first.
//!
//! They are read by their positions, which the fan-out gives in the order of its commits. So a reader who continues after an event sees
//! each later event once, however late its commit showed it.

use chrono::{DateTime, Utc};

use crate::db::Tx;
use crate::event::Event;
use crate::event_subject::Subject;
use crate::event_type::{CATALOG, EventType};
use crate::filter::CreatedBetween;
use crate::id::EventId;
use crate::offering;
use crate::sql::sql;
use crate::webhook::Owner;
use crate::{Code, Error, Result};

/// A time later than any event.
const LAST: DateTime<Utc> = DateTime::from_timestamp(253_402_300_799, 0).expect("the end of the year 9999");

const OF_ORGANISATION: &str = "((subject_type = 'offering' and subject_id in (select id from offerings where issuer_id = $3))
        or (subject_type = 'subscription' and subject_id in
        (select s.id from subscriptions s join offerings o on o.id = s.offering_id where o.issuer_id = $3))
        or (subject_type = 'distribution' and subject_id in
        (select d.id from distributions d join offerings o on o.id = d.offering_id where o.issuer_id = $3))
        or (subject_type = 'entitlement' and subject_id in (select e.id from entitlements e join distributions d on d.id = e.distribution_id
        join offerings o on o.id = d.offering_id where o.issuer_id = $3))
        or (subject_type = 'session' and subject_id in
        (select s.id from sessions s join users u on u.id = s.user_id where u.issuer_id = $3))
        or (subject_type = 'webhook_endpoint' and subject_id in (select id from webhook_endpoints where owner = $3)))";
const OF_INVESTOR: &str =
    "((subject_type = 'subscription' and subject_id in (select id from subscriptions where investor_id = $3))
        or (subject_type = 'entitlement' and subject_id in (select id from entitlements where investor_id = $3))
        or (subject_type = 'wallet' and subject_id in (select id from wallets where investor_id = $3))
        or (subject_type = 'investor' and subject_id = $3)
        or (subject_type = 'session' and subject_id in
        (select s.id from sessions s join investors i on i.user_id = s.user_id where i.id = $3))
        or (subject_type = 'webhook_endpoint' and subject_id in (select id from webhook_endpoints where owner = $3)))";

impl Owner {
    /// Whether this owner sees events of a kind.
    pub fn may_see(&self, kind: &EventType) -> bool {
        match self {
            Self::Platform => true,
            Self::Issuer(_) => kind.for_issuer,
            Self::Investor(_) => kind.for_investor || kind.for_members,
        }
    }

    /// Whether this owner receives an event of a kind about a subject.
    pub fn is_told(&self, kind: &EventType, subject: Option<&Subject>) -> bool {
        let is = |owners: [Option<&str>; 2], id: &str| owners.contains(&Some(id));
        self.may_see(kind)
            && match self {
                Self::Platform => true,
                Self::Issuer(id) => {
                    subject.is_some_and(|s| is([s.issuer_id.as_deref(), s.endpoint_owner.as_deref()], id))
                }
                Self::Investor(id) => subject.is_some_and(|s| {
                    is([s.investor_id.as_deref(), s.endpoint_owner.as_deref()], id) || (kind.for_members && s.is_listed)
                }),
            }
    }

    fn condition(&self) -> String {
        let names: Vec<_> =
            CATALOG.iter().filter(|kind| self.may_see(kind)).map(|kind| format!("'{}'", kind.name)).collect();
        let whose = match self {
            Self::Platform => "$3 = 'platform'".to_owned(),
            Self::Issuer(_) => OF_ORGANISATION.to_owned(),
            // Of the kinds about offerings, an investor may see those for all members alone.
            Self::Investor(_) => format!(
                "({OF_INVESTOR} or (subject_type = 'offering' and subject_id in (select o.id from offerings o where {})))",
                offering::listed_condition()
            ),
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
    /// Only events after this position.
    pub after: i64,
}

/// A page of matching events, oldest first.
pub async fn page(tx: &mut Tx, owner: &Owner, f: &Filter<'_>, limit: i64) -> Result<Vec<Event>> {
    // Ids begin with their time: the limits on the id find the rows, those on the time are exact.
    let (from, to) = (f.created.from.unwrap_or_default(), f.created.to.unwrap_or(LAST));
    let (first, last) = (EventId::first_of(from), EventId::last_of(to));
    sql("select * from events
         where position > $1 and ($2 = '' or type = $2) and id >= $5 and id <= $6 and created_at >= $7 and created_at <= $8 and ")
    .push(owner.condition())
    .push(" order by position limit $4")
    .bind((f.after, f.kind.unwrap_or_default(), owner.key(), limit, first, last, from, to))
    .rows(tx)
    .await
}

/// The position of an event. For an id that no event has, the position of the event before it.
pub async fn position(tx: &mut Tx, id: &EventId) -> Result<i64> {
    let found = sql("select position from events where id <= $1 and position is not null order by id desc limit 1");
    Ok(found.bind(id).optional_scalar(tx).await?.unwrap_or_default())
}

/// The id of the last event that the owner may see.
pub async fn last(tx: &mut Tx, owner: &Owner) -> Result<Option<EventId>> {
    let found = sql("select id from events where position > $1 and $2 = '' and ").push(owner.condition());
    found.push(" order by position desc limit 1").bind((0_i64, "", owner.key())).optional_scalar(tx).await
}

/// The events after an id and up to a time, oldest first.
pub async fn of_time(tx: &mut Tx, owner: &Owner, after: &str, to: DateTime<Utc>, limit: i64) -> Result<Vec<Event>> {
    sql("select * from events where id > $1 and id <= $2 and created_at <= $5 and ")
        .push(owner.condition())
        .push(" order by id limit $4")
        .bind((after, EventId::last_of(to), owner.key(), limit, to))
        .rows(tx)
        .await
}

/// One event, if the owner may see it.
pub async fn find(tx: &mut Tx, owner: &Owner, id: &EventId) -> Result<Event> {
    id.check()?;
    let found = sql("select * from events where id = $1 and $2 = '' and ").push(owner.condition());
    let found = found.bind((id, "", owner.key())).optional::<Event>(tx).await?;
    found.ok_or_else(|| Error::refused(Code::NotFound, format!("There is no event {id}.")))
}
