//! Records what a transaction does and turns it into audit entries: one for the act, and one for each other object that changed. If
//! no caller acts, the engine acts, with one entry for each object.

mod act;
mod change;
mod line;

use std::collections::HashMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

pub use act::{Act, ActorKind, acting};
pub(crate) use change::Facts;
pub use line::Entry;
pub(crate) use line::write;

use act::current;
use change::{Change, status_change};

use crate::canonical;
use crate::id::{AuditId, SessionId, UserId};
use crate::point::Point;

/// Names of events in one entry.
const EVENTS_MAX: usize = 16;

/// Records what a transaction has done so far.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    /// None for the engine.
    act: Option<Arc<Act>>,
    /// User and session of a caller who has just authenticated.
    authenticated: Option<(UserId, SessionId)>,
    events: Vec<RecordedEvent>,
    changes: Vec<(String, Change)>,
    status: Option<i64>,
    refused: Option<&'static str>,
    excluded: bool,
    marked: (usize, usize),
}

/// An event, as far as the audit entry needs it.
#[derive(Debug)]
struct RecordedEvent {
    name: String,
    noun: &'static str,
    subject: String,
    /// Status before (none for a new object) and after.
    moved: Option<(Option<String>, String)>,
}

impl Recorder {
    /// An empty record for the act of this task.
    pub(crate) fn begin() -> Self {
        Self { act: current(), ..Self::default() }
    }

    /// Records an event and the status change that it reports.
    pub(crate) fn record_event(&mut self, name: &str, subject_type: &str, subject_id: &str, data: &Value) {
        let word = |value: &Value| value.as_str().map(str::to_owned);
        self.events.push(RecordedEvent {
            name: name.to_owned(),
            noun: noun(subject_type, subject_id),
            subject: subject_id.to_owned(),
            moved: data.get("from").and_then(|from| Some((word(from), word(&data["status"])?))),
        });
    }

    /// Whether a caller acts. For the engine an entry shows only the statuses, which saves a read of the row before the change.
    pub(crate) const fn has_caller(&self) -> bool {
        self.act.is_some()
    }

    /// Records the fields of a row before and after a change. Several changes of one row become one, from the first to the last.
    pub(crate) fn record_change(&mut self, id: &str, before: Facts, after: Facts) {
        match self.changes.iter_mut().find(|(known, _)| known == id) {
            Some((_, change)) => change.after = after,
            None => self.changes.push((id.to_owned(), Change { before, after })),
        }
    }

    /// Records the HTTP status of the response that is stored with the act.
    pub(crate) const fn set_http_status(&mut self, status: i64) {
        self.status = Some(status);
    }

    /// Records who has just authenticated.
    pub(crate) fn set_authenticated(&mut self, user_id: &UserId, session_id: &SessionId) {
        self.authenticated = Some((user_id.clone(), session_id.clone()));
    }

    /// Records that the act was refused with this code and changed nothing.
    pub(crate) const fn record_refusal(&mut self, code: &'static str) {
        self.refused = Some(code);
    }

    /// This transaction is not part of the act and gets no entry.
    pub(crate) const fn exclude_from_audit(&mut self) {
        self.excluded = true;
    }

    /// Marks the present state for [`rollback_to_savepoint`](Self::rollback_to_savepoint).
    pub(crate) const fn savepoint(&mut self) {
        self.marked = (self.events.len(), self.changes.len());
    }

    /// Drops everything recorded since the mark, because the database was rolled back to its savepoint.
    pub(crate) fn rollback_to_savepoint(&mut self) {
        self.events.truncate(self.marked.0);
        self.changes.truncate(self.marked.1);
    }

    /// The audit entries; none if nothing happened that anybody is accountable for.
    pub(crate) fn entries(&self, point: Point, at: DateTime<Utc>, mut new_id: impl FnMut() -> AuditId) -> Vec<Entry> {
        if self.excluded {
            return Vec::new();
        }
        let subjects = self.subjects();
        let Some(act) = &self.act else {
            let act = Act { kind: ActorKind::Engine, ..Act::host_command(point.as_str()) };
            return subjects.iter().map(|subject| self.line(&act, subject, None, (new_id(), at))).collect();
        };
        // An anonymous request without any effect is not worth an entry.
        let nobody = act.kind == ActorKind::Anonymous && self.authenticated.is_none() && subjects.is_empty();
        if nobody {
            return Vec::new();
        }
        let mut act = act.as_ref().clone();
        if let Some((user, session)) = self.authenticated.clone().filter(|_| act.actor.is_none()) {
            (act.actor, act.session_id) = (Some(user.into()), Some(session));
        }
        let named = act.object_id.clone().or_else(|| subjects.first().map(|subject| subject.id.to_owned()));
        let id = named.or_else(|| act.session_id.as_deref().map(str::to_owned)).unwrap_or_default();
        let own = subjects.iter().find(|subject| subject.id == id);
        let empty = Subject { id: &id, noun: noun("", &id), events: Vec::new() };
        let mut lines = vec![self.line(&act, own.unwrap_or(&empty), self.status, (new_id(), at))];
        let others = subjects.iter().filter(|subject| subject.id != id);
        lines.extend(others.map(|subject| self.line(&act, subject, None, (new_id(), at))));
        lines
    }

    /// The events grouped by object, in the order of each object's first event.
    fn subjects(&self) -> Vec<Subject<'_>> {
        let mut places = HashMap::new();
        let mut subjects: Vec<Subject<'_>> = Vec::new();
        for event in &self.events {
            let place = *places.entry(event.subject.as_str()).or_insert_with(|| {
                subjects.push(Subject { id: &event.subject, noun: event.noun, events: Vec::new() });
                subjects.len() - 1
            });
            subjects[place].events.push(event);
        }
        subjects
    }

    fn line(&self, act: &Act, subject: &Subject<'_>, status: Option<i64>, (id, at): (AuditId, DateTime<Utc>)) -> Entry {
        Entry {
            id,
            at,
            actor: act.actor.clone(),
            actor_kind: act.kind,
            session_id: act.session_id.clone(),
            ip: act.ip.clone(),
            action: act.action.clone(),
            object_type: Some(subject.noun).filter(|noun| !noun.is_empty()).map(str::to_owned),
            object_id: Some(subject.id).filter(|id| !id.is_empty()).map(str::to_owned),
            detail: canonical::text(&self.detail(act, subject, status)).expect("a status has few digits"),
            request_id: act.request_id.clone(),
        }
    }

    fn detail(&self, act: &Act, subject: &Subject<'_>, status: Option<i64>) -> Value {
        let mut names: Vec<&str> = Vec::new();
        for event in &subject.events {
            if names.len() < EVENTS_MAX && !names.contains(&event.name.as_str()) {
                names.push(&event.name);
            }
        }
        let mut detail = match self.changes.iter().find(|(id, _)| id == subject.id) {
            Some((_, change)) => change.shown(),
            None => {
                let mut moves = subject.events.iter().filter_map(|event| event.moved.as_ref());
                let first = moves.next();
                status_change(
                    first.map(|(from, _)| from.as_deref()),
                    moves.next_back().or(first).map(|(_, to)| to.as_str()),
                )
            }
        };
        detail["events"] = json!(names);
        let beside = [
            ("key_id", act.key_id.as_ref().map(|id| json!(id))),
            ("status", status.map(Value::from)),
            ("refused", self.refused.map(Value::from)),
        ];
        for (field, value) in beside {
            if let Some(value) = value {
                detail[field] = value;
            }
        }
        detail
    }
}

/// The object of an entry.
struct Subject<'a> {
    id: &'a str,
    noun: &'static str,
    events: Vec<&'a RecordedEvent>,
}

/// The kind of an object: from the prefix of its id, else from the event.
fn noun(subject_type: &str, id: &str) -> &'static str {
    const NOUNS: &[(&str, &str)] = &[
        ("apr", "approval"),
        ("dist", "distribution"),
        ("ent", "entitlement"),
        ("inv", "investor"),
        ("iss", "issuer"),
        ("key", "api_key"),
        ("kyc", "kyc_case"),
        ("lan", "lane"),
        ("off", "offering"),
        ("op", "operation"),
        ("pol", "policy"),
        ("rec", "reconciliation_run"),
        ("ses", "session"),
        ("sub", "subscription"),
        ("usr", "user"),
        ("wal", "wallet"),
        ("whe", "webhook_endpoint"),
    ];
    let by_prefix = id.rsplit_once('_').and_then(|(prefix, _)| NOUNS.iter().find(|(known, _)| *known == prefix));
    let by_name = NOUNS.iter().find(|(_, noun)| *noun == subject_type);
    by_prefix.or(by_name).map_or(if subject_type == "chain" { "chain" } else { "" }, |(_, noun)| noun)
}

#[cfg(test)]
mod tests;
