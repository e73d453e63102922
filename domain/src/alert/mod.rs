//! Alerts: mails about events, for those who asked for them.
//!
//! 1. **Rules.** A user names event types, offerings and how soon. Who has set none has the rules of the role. The role decides which
//!    events a user may see at all, as it does for webhooks.
//! 2. **Queue.** The commit that fans an event out counts it in a row for each recipient and cause. So no event is forgotten, and a flood
//!    of events is one mail.
//! 3. **Send.** The mailer takes a due row, mails it, and notes the end. A process that dies in between leaves a row whose mail may be
//!    out: it is sent again, an hour later. So there is at most one mail a cause and hour, and none is lost.

mod mail;
mod queue;

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use sqlx::types::Json;

pub use mail::{Due, Outcome, begin_try, due, finish};
pub use queue::queue;

use crate::Result;
use crate::db::Tx;
use crate::event::Event;
use crate::event_subject::Subject;
use crate::event_type::{self, CATALOG};
use crate::id::{OfferingId, UserId};
use crate::role::{Role, Roles};
use crate::sql::{insert_into, sql};
use crate::webhook::Owner;

crate::words! {
    /// How soon somebody is told.
    Pace {
        /// At once, at most once an hour for each event type.
        Immediately = "immediately",
        /// Once a day, at 07:00 UTC.
        Digest = "digest",
    }
}

/// What a user wants to be told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// Names, `*` or patterns such as `subscription.*`.
    pub event_types: Vec<String>,
    /// Only events of these offerings. None for all.
    pub offering_ids: Option<Vec<OfferingId>>,
    /// How soon.
    pub pace: Pace,
}

/// What operators are told without asking: an operation needs a person, an approval waits, a lane is stuck, a signer is low on funds, an
/// endpoint is down.
pub const OF_OPERATORS: &[&str] = &[
    "approval.requested",
    "chain.endpoint_down",
    "chain.halted",
    "endpoint.disabled",
    "lane.funds_low",
    "lane.quarantined",
    "lane.stuck",
    "operation.dead_letter",
    "operation.failed",
    "operation.history_lost",
    "operation.late_confirmation",
];

/// What investors and issuers are told without asking. A disabled endpoint gets nothing, so nothing else would tell its owner.
pub const OF_OWNERS: &[&str] = &["endpoint.disabled"];

/// The rules of somebody who has set none.
pub fn rules_of_role(roles: &Roles) -> Vec<Rule> {
    let names = match (roles.has(Role::Operator), roles.is_staff()) {
        (true, _) => OF_OPERATORS,
        (false, true) => return Vec::new(),
        (false, false) => OF_OWNERS,
    };
    let event_types = names.iter().map(|&name| name.to_owned()).collect();
    vec![Rule { event_types, offering_ids: None, pace: Pace::Immediately }]
}

impl Rule {
    fn matches(&self, event: &Event, subject: Option<&Subject>) -> bool {
        let of_offering = match (&self.offering_ids, subject.and_then(|subject| subject.offering_id.as_ref())) {
            (None, _) => true,
            (Some(wanted), Some(offering)) => wanted.contains(offering),
            (Some(_), None) => false,
        };
        of_offering && self.event_types.iter().any(|wanted| event_type::belongs(&event.name, wanted))
    }
}

/// How soon these rules tell of an event. None if they do not.
fn pace(rules: &[Rule], event: &Event, subject: Option<&Subject>) -> Option<Pace> {
    let paces: Vec<_> = rules.iter().filter(|rule| rule.matches(event, subject)).map(|rule| rule.pace).collect();
    // The sooner one counts.
    paces.iter().copied().find(|pace| *pace == Pace::Immediately).or(paces.first().copied())
}

/// The rules that a user has set. None if the user has set none.
pub async fn rules(tx: &mut Tx, user_id: &UserId) -> Result<Option<Vec<Rule>>> {
    let found = sql("select rules from alert_settings where user_id = $1").bind(user_id);
    Ok(found.optional_scalar::<Json<Vec<Rule>>>(tx).await?.map(|rules| rules.0))
}

/// Sets a user's rules. None returns to those of the role.
pub async fn set_rules(tx: &mut Tx, user_id: &UserId, rules: Option<&[Rule]>) -> Result<()> {
    let now = tx.now();
    let Some(rules) = rules else {
        sql("delete from alert_settings where user_id = $1").bind(user_id).execute(tx).await?;
        return Ok(());
    };
    insert_into("alert_settings")
        .set("user_id", user_id)
        .set("rules", Json(rules))
        .set("version", 1)
        .set("created_at", now)
        .set("updated_at", now)
        .push(
            " on conflict (user_id) do update
                set rules = excluded.rules, version = alert_settings.version + 1, updated_at = excluded.updated_at",
        )
        .execute(tx)
        .await?;
    Ok(())
}

/// Whether an owner sees this event, and it is in the catalog. A test event is for its endpoint alone.
fn sees(owner: &Owner, event: &Event, subject: Option<&Subject>) -> bool {
    let found = CATALOG.iter().find(|kind| kind.name == event.name && kind.name != "endpoint.test");
    found.is_some_and(|kind| owner.is_told(kind, subject))
}

type Subjects = HashMap<String, Subject>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_types_of_a_role_are_in_the_catalog_and_may_be_seen() {
        let all: Vec<_> = CATALOG.iter().map(|kind| kind.name).collect();
        assert!(OF_OPERATORS.iter().all(|name| all.contains(name)));
        let seen_by_owners = CATALOG.iter().filter(|kind| kind.for_issuer && kind.for_investor).map(|kind| kind.name);
        let seen_by_owners: Vec<_> = seen_by_owners.collect();
        assert!(OF_OWNERS.iter().all(|name| seen_by_owners.contains(name)));
    }
}
