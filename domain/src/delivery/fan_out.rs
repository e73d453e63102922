//! Turns new events into deliveries. An event is new as long as its `position` is null, so none is missed, however late its commit shows
//! it. One commit numbers the events and stores their deliveries. Those who read events continue after a number.

use std::collections::{BTreeSet, HashMap};

use crate::db::Tx;
use crate::delivery::{Status, message};
use crate::event::Event;
use crate::event_subject::{self, Subject};
use crate::event_type::{CATALOG, EventType};
use crate::id::{DeliveryId, EndpointId};
use crate::rows::portions;
use crate::sql::sql;
use crate::webhook::{Endpoint, Owner};
use crate::{Result, alert};

/// What one page did.
#[derive(Clone, Debug, Default)]
pub struct Fanned {
    /// The number of events.
    pub events: usize,
    /// The endpoints that have new deliveries.
    pub endpoints: BTreeSet<EndpointId>,
}

/// Whether an event waits to be fanned out.
pub async fn is_due(tx: &mut Tx) -> Result<bool> {
    // In their order, so that a server with old statistics takes the index as well: it is asked twice a second.
    let found = sql("select 1 from events where position is null order by created_at, sequence, id limit 1");
    let found = found.optional_scalar::<i32>(tx).await?;
    Ok(found.is_some())
}

/// The number of events that wait to be fanned out.
pub async fn waiting(tx: &mut Tx) -> Result<i64> {
    sql("select count(*) from events where position is null").scalar(tx).await
}

/// Fans out the oldest of the new events, up to a limit.
pub async fn page(tx: &mut Tx, limit: i64) -> Result<Fanned> {
    // Ids of one millisecond are in no order: of a subject's events in one commit, the sequence decides.
    // Its lock ends with the commit, so the numbers of the next page are larger than every number that is visible by then.
    let counted = sql("update event_counters set position = position + $1 where id = 1 returning position");
    let last = counted.bind(limit).scalar::<i64>(tx).await?;
    let mut events = sql("update events set position = $1 + numbered.number
         from (select id as event_id, row_number() over (order by created_at, sequence, id) as number from events
             where position is null order by created_at, sequence, id limit $2) numbered
         where id = numbered.event_id
         returning id, type, subject_type, subject_id, sequence, data, created_at, position")
    .bind((last - limit, limit))
    .rows::<Event>(tx)
    .await?;
    if !events.is_empty() {
        tx.announce_after_commit();
    }
    events.sort_by_key(|event| event.position);
    let told: Vec<&Event> = events.iter().filter(|event| event.kind().is_some()).collect();
    if told.is_empty() {
        return Ok(Fanned { events: events.len(), ..Fanned::default() });
    }
    let subjects = event_subject::owners(tx, &events).await?;
    alert::queue(tx, &told, &subjects).await?;
    if !any_endpoint(tx).await? {
        return Ok(Fanned { events: events.len(), ..Fanned::default() });
    }
    let endpoints = endpoints(tx, &told, &subjects).await?;
    let mut wanted: Vec<(&Endpoint, &Event)> = Vec::new();
    for event in told {
        let subject = subjects.get(&event.subject_id);
        wanted.extend(endpoints.iter().filter(|endpoint| wants(endpoint, event, subject)).map(|e| (e, event)));
    }
    insert(tx, &wanted, &subjects).await?;
    let endpoints = wanted.iter().map(|(endpoint, _)| endpoint.id.clone()).collect();
    Ok(Fanned { events: events.len(), endpoints })
}

/// Stores a delivery for each pair that has none, with the bytes of its event.
pub(super) async fn insert(
    tx: &mut Tx,
    wanted: &[(&Endpoint, &Event)],
    subjects: &HashMap<String, Subject>,
) -> Result<()> {
    let now = tx.now();
    let mut events: Vec<&Event> = wanted.iter().map(|(_, event)| *event).collect();
    events.dedup_by(|a, b| a.id == b.id);
    message::store(tx, &events, subjects).await?;
    for portion in portions(tx, wanted) {
        let ids: Vec<DeliveryId> = portion.iter().map(|_| tx.new_id()).collect();
        sql("insert into webhook_deliveries (id, endpoint_id, event_id, event_type, status, attempts, tries, next_attempt_at,
             created_at, updated_at)")
        .values(portion.iter().zip(&ids), |((endpoint, event), id)| {
            (id, &endpoint.id, &event.id, &event.name, Status::Pending, 0, 0, now, now, now)
        })
        .push(" on conflict (endpoint_id, event_id) do nothing")
        .execute(tx)
        .await?;
    }
    Ok(())
}

impl Event {
    /// Its kind, if it is one that is told to anybody.
    pub fn kind(&self) -> Option<&'static EventType> {
        CATALOG.binary_search_by(|kind| kind.name.cmp(&self.name)).ok().map(|at| &CATALOG[at])
    }
}

/// Whether an endpoint asked for an event, and its owner may see it.
pub(super) fn wants(endpoint: &Endpoint, event: &Event, subject: Option<&Subject>) -> bool {
    // A test goes to its own endpoint alone.
    let Some(kind) = event.kind().filter(|kind| kind.name != "endpoint.test") else { return false };
    let owned = endpoint.owner().is_some_and(|owner| owner.is_told(kind, subject));
    let of_offering = || match (&endpoint.offering_ids, subject.and_then(|subject| subject.offering_id.as_ref())) {
        (None, _) => true,
        (Some(wanted), Some(offering)) => wanted.split(' ').any(|id| *offering == id),
        (Some(_), None) => false,
    };
    owned && endpoint.wants_type(&event.name) && of_offering()
}

async fn any_endpoint(tx: &mut Tx) -> Result<bool> {
    let found = sql("select 1 from webhook_endpoints where status = 'enabled' limit 1");
    Ok(found.optional_scalar::<i32>(tx).await?.is_some())
}

/// The enabled endpoints of the platform and of every owner of these subjects, and those of all investors if an event is for all members.
async fn endpoints(tx: &mut Tx, events: &[&Event], subjects: &HashMap<String, Subject>) -> Result<Vec<Endpoint>> {
    let owners =
        subjects.values().flat_map(|s| [s.issuer_id.as_deref(), s.investor_id.as_deref(), s.endpoint_owner.as_deref()]);
    let owners: BTreeSet<&str> = owners.flatten().chain([Owner::Platform.key()]).collect();
    let mut endpoints = Vec::new();
    for portion in portions(tx, &owners.into_iter().collect::<Vec<_>>()) {
        let found = sql("select * from webhook_endpoints where status = 'enabled' and owner in (")
            .list(portion.iter().copied());
        endpoints.extend(found.push(")").rows::<Endpoint>(tx).await?);
    }
    if event_subject::any_for_members(events, subjects) {
        let of_investors = sql("select * from webhook_endpoints where status = 'enabled' and owner like 'inv%'");
        endpoints.extend(of_investors.rows::<Endpoint>(tx).await?);
        endpoints.sort_by(|a, b| a.id.cmp(&b.id));
        endpoints.dedup_by(|a, b| a.id == b.id);
    }
    Ok(endpoints)
}
