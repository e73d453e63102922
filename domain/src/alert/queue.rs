//! Counts events for those who are mailed about them.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Days, NaiveTime, Utc};
use sqlx::types::Json;

use super::{Pace, Rule, Subjects, pace, rules_of_role, sees};
use crate::Result;
use crate::db::Tx;
use crate::event::Event;
use crate::event_subject;
use crate::id::{AlertMailId, EventId, InvestorId, IssuerId, UserId};
use crate::role::{Role, Roles};
use crate::rows::portions;
use crate::sql::{Sql, insert_into, sql, update_table};
use crate::webhook::Owner;

/// The cause of a digest.
const DIGEST: &str = "digest";
/// The hour of the day (UTC) at which digests are sent.
const DIGEST_HOUR: u32 = 7;

/// The number of events of each type.
type Counts = BTreeMap<String, i64>;

/// Somebody who may be mailed.
#[derive(sqlx::FromRow)]
struct Person {
    id: UserId,
    #[sqlx(try_from = "String")]
    roles: Roles,
    issuer_id: Option<IssuerId>,
    investor_id: Option<InvestorId>,
    rules: Option<Json<Vec<Rule>>>,
}

/// What one user and cause has waiting.
#[derive(sqlx::FromRow)]
pub(super) struct Waiting {
    pub id: AlertMailId,
    pub waiting: Json<Counts>,
    pub try_at: Option<DateTime<Utc>>,
    pub free_at: DateTime<Utc>,
}

impl Person {
    /// The owner whose events this person may see.
    fn owner(&self) -> Option<Owner> {
        if self.roles.is_staff() {
            return Some(Owner::Platform);
        }
        match &self.issuer_id {
            Some(issuer) if self.roles.has(Role::Issuer) => Some(Owner::Issuer(issuer.clone())),
            _ => self.investor_id.clone().map(Owner::Investor),
        }
    }

    fn rules(&mut self) -> Vec<Rule> {
        self.rules.take().map_or_else(|| rules_of_role(&self.roles), |rules| rules.0)
    }
}

/// Counts these events for everybody who wants a mail about them. Called in the commit that fans them out.
pub async fn queue(tx: &mut Tx, events: &[&Event], subjects: &Subjects) -> Result<()> {
    let mut counted: BTreeMap<(UserId, &str), (Counts, &EventId)> = BTreeMap::new();
    for mut person in people(tx, events, subjects).await? {
        let (Some(owner), rules) = (person.owner(), person.rules()) else { continue };
        for event in events {
            let subject = subjects.get(&event.subject_id);
            let Some(pace) = pace(&rules, event, subject).filter(|_| sees(&owner, event, subject)) else { continue };
            let cause = if pace == Pace::Digest { DIGEST } else { event.name.as_str() };
            let entry = counted.entry((person.id.clone(), cause)).or_insert_with(|| (Counts::new(), &event.id));
            *entry.0.entry(event.name.clone()).or_default() += 1;
            entry.1 = &event.id;
        }
    }
    for ((user_id, cause), (counts, event_id)) in counted {
        add(tx, &user_id, cause, counts, event_id).await?;
    }
    Ok(())
}

/// Everybody with a proved address who may have a rule: the operators, of those with rules of their own the staff and the owners of these
/// subjects, and the owners of webhook endpoints. If an event is for all members, the investors with rules too.
async fn people(tx: &mut Tx, events: &[&Event], subjects: &Subjects) -> Result<Vec<Person>> {
    let endpoint_owners: BTreeSet<&str> = subjects.values().filter_map(|s| s.endpoint_owner.as_deref()).collect();
    let owners = subjects.values().flat_map(|s| [s.issuer_id.as_deref(), s.investor_id.as_deref()]);
    let owners: BTreeSet<&str> = owners.flatten().chain([Owner::Platform.key()]).collect();
    let mut found: Vec<Person> = Vec::new();
    for portion in portions(tx, &owners.into_iter().collect::<Vec<_>>()) {
        let staff = "u.roles like '%operator%' or (s.user_id is not null
            and (u.roles like '%admin%' or u.roles like '%auditor%' or ";
        found.extend(belonging_to(reachable(staff), portion).push(")))").rows::<Person>(tx).await?);
    }
    for portion in portions(tx, &endpoint_owners.into_iter().collect::<Vec<_>>()) {
        found.extend(belonging_to(reachable(""), portion).push(")").rows::<Person>(tx).await?);
    }
    if event_subject::any_for_members(events, subjects) {
        found.extend(reachable("s.user_id is not null and i.id is not null)").rows::<Person>(tx).await?);
    }
    let people: BTreeMap<UserId, Person> = found.into_iter().map(|person| (person.id.clone(), person)).collect();
    Ok(people.into_values().collect())
}

/// Selects people with a proved address. The condition is in parentheses that are left open.
fn reachable(condition: &str) -> Sql {
    sql("select u.id, u.roles, u.issuer_id, i.id as investor_id, s.rules
        from users u left join alert_settings s on s.user_id = u.id left join investors i on i.user_id = u.id
        where u.status = 'active' and u.email_verified_at is not null and (")
    .push(condition)
}

/// Adds the condition that somebody is, or belongs to, one of these owners.
fn belonging_to(select: Sql, owners: &[&str]) -> Sql {
    let select = select.push("u.issuer_id in (").list(owners.iter().copied());
    select.push(") or i.id in (").list(owners.iter().copied()).push(")")
}

async fn add(tx: &mut Tx, user_id: &UserId, cause: &str, counts: Counts, event_id: &EventId) -> Result<()> {
    let now = tx.now();
    let at = if cause == DIGEST { next_digest(now) } else { now };
    let known = sql("update alert_mails set version = version + 1, updated_at = $3 where user_id = $1 and cause = $2
        returning id, waiting, try_at, free_at")
    .bind((user_id, cause, now))
    .optional::<Waiting>(tx)
    .await?;
    let Some(mut row) = known else {
        let id: AlertMailId = tx.new_id();
        insert_into("alert_mails")
            .set("id", id)
            .set("user_id", user_id)
            .set("cause", cause)
            .set("waiting", Json(counts))
            .set("event_id", event_id)
            .set("try_at", at)
            .set("free_at", now)
            .set("tries", 0)
            .set("version", 1)
            .set("created_at", now)
            .set("updated_at", now)
            .execute(tx)
            .await?;
        return Ok(());
    };
    for (name, count) in counts {
        *row.waiting.0.entry(name).or_default() += count;
    }
    update_table("alert_mails")
        .set("waiting", Json(row.waiting.0))
        .set("event_id", event_id)
        .set("try_at", row.try_at.unwrap_or_else(|| at.max(row.free_at)))
        .with(" where id = ", &row.id)
        .execute(tx)
        .await?;
    Ok(())
}

/// The next time at which digests are sent.
pub(super) fn next_digest(now: DateTime<Utc>) -> DateTime<Utc> {
    let hour = NaiveTime::from_hms_opt(DIGEST_HOUR, 0, 0).unwrap_or_default();
    let today = now.date_naive().and_time(hour).and_utc();
    if now < today { today } else { today + Days::new(1) }
}

/// Whether a cause is that of a digest.
pub(super) fn is_digest(cause: &str) -> bool {
    cause == DIGEST
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_sent_at_the_next_seven_in_the_morning() {
        let at = |text: &str| DateTime::parse_from_rfc3339(text).unwrap().to_utc();
        let seven = at("2026-11-23T07:00:00Z");
        assert_eq!(next_digest(at("2026-11-23T06:59:59Z")), seven);
        assert_eq!((next_digest(seven), next_digest(at("2026-11-22T23:00:00Z"))), (at("2026-11-24T07:00:00Z"), seven));
    }
}
