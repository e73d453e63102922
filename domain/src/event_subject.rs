//! The offering, issuer or investor that the subject of an event belongs to. They decide who receives the event.

use std::collections::{BTreeMap, HashMap};

use crate::Result;
use crate::db::Tx;
use crate::event::Event;
use crate::id::{InvestorId, IssuerId, OfferingId};
use crate::offering;
use crate::rows::portions;
use crate::sql::sql;

/// The owners of one subject.
#[derive(Clone, Debug, Default, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Subject {
    pub id: String,
    pub offering_id: Option<OfferingId>,
    /// What it is a part of, besides an offering: the distribution of an entitlement.
    pub part_of: Option<String>,
    pub issuer_id: Option<IssuerId>,
    pub investor_id: Option<InvestorId>,
    /// The owner of a webhook endpoint.
    pub endpoint_owner: Option<String>,
    /// Whether it is an offering that every member may see.
    #[sqlx(default)]
    pub is_listed: bool,
}

/// For each kind of subject with owners, the statement that finds them. A kind without one is for staff alone.
const OWNERS: &[(&str, &str)] = &[
    (
        "distribution",
        "select d.id, d.offering_id, cast(null as text) as part_of, o.issuer_id, cast(null as text) as investor_id,
            cast(null as text) as endpoint_owner
         from distributions d join offerings o on o.id = d.offering_id where d.id in (",
    ),
    (
        "entitlement",
        "select e.id, d.offering_id, e.distribution_id as part_of, o.issuer_id, e.investor_id, cast(null as text) as endpoint_owner
         from entitlements e join distributions d on d.id = e.distribution_id join offerings o on o.id = d.offering_id where e.id in (",
    ),
    (
        "investor",
        "select id, cast(null as text) as offering_id, cast(null as text) as part_of, cast(null as text) as issuer_id,
            id as investor_id, cast(null as text) as endpoint_owner from investors where id in (",
    ),
    (
        "offering",
        "select id, id as offering_id, cast(null as text) as part_of, issuer_id, cast(null as text) as investor_id,
            cast(null as text) as endpoint_owner from offerings where id in (",
    ),
    (
        "operation",
        "select id, offering_id, cast(null as text) as part_of, cast(null as text) as issuer_id, cast(null as text) as investor_id,
            cast(null as text) as endpoint_owner from operations where id in (",
    ),
    (
        "session",
        "select s.id, cast(null as text) as offering_id, cast(null as text) as part_of, u.issuer_id, i.id as investor_id,
            cast(null as text) as endpoint_owner
         from sessions s join users u on u.id = s.user_id left join investors i on i.user_id = u.id where s.id in (",
    ),
    (
        "subscription",
        "select s.id, s.offering_id, cast(null as text) as part_of, o.issuer_id, s.investor_id, cast(null as text) as endpoint_owner
         from subscriptions s join offerings o on o.id = s.offering_id where s.id in (",
    ),
    (
        "wallet",
        "select id, cast(null as text) as offering_id, cast(null as text) as part_of, cast(null as text) as issuer_id,
            investor_id, cast(null as text) as endpoint_owner from wallets where id in (",
    ),
    (
        "webhook_endpoint",
        "select id, cast(null as text) as offering_id, cast(null as text) as part_of, cast(null as text) as issuer_id,
            cast(null as text) as investor_id, owner as endpoint_owner from webhook_endpoints where id in (",
    ),
];

/// The owners of the subjects of these events, by the subject's id.
pub async fn owners(tx: &mut Tx, events: &[Event]) -> Result<HashMap<String, Subject>> {
    let mut by_type: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for event in events {
        let ids = by_type.entry(&event.subject_type).or_default();
        if !ids.contains(&event.subject_id.as_str()) {
            ids.push(&event.subject_id);
        }
    }
    let mut found: HashMap<String, Subject> = HashMap::new();
    for (kind, statement) in OWNERS {
        for portion in portions(tx, by_type.get(kind).map_or(&[], Vec::as_slice)) {
            let rows = sql(statement).list(portion.iter().copied()).push(")").rows::<Subject>(tx).await?;
            found.extend(rows.into_iter().map(|subject| (subject.id.clone(), subject)));
        }
    }
    for portion in portions(tx, by_type.get("offering").map_or(&[], Vec::as_slice)) {
        let listed =
            sql("select o.id from offerings o where ").push(offering::listed_condition()).push(" and o.id in (");
        for id in listed.list(portion.iter().copied()).push(")").scalars::<String>(tx).await? {
            if let Some(subject) = found.get_mut(&id) {
                subject.is_listed = true;
            }
        }
    }
    Ok(found)
}

/// Whether one of these events is for every investor.
pub fn any_for_members(events: &[&Event], subjects: &HashMap<String, Subject>) -> bool {
    let is_listed = |event: &Event| subjects.get(&event.subject_id).is_some_and(|subject| subject.is_listed);
    events.iter().any(|event| is_listed(event) && event.kind().is_some_and(|kind| kind.for_members))
}
