//! Who acts. The task of a request knows it from the door on, and every transaction that it begins: a handler can neither forget the line
//! nor write a wrong one.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::Line;
use crate::canonical;

/// How many names of events a line keeps.
const EVENTS_MAX: usize = 16;

crate::words! {
    /// By what somebody acts.
    ActorKind {
        /// In a session.
        Person = "person",
        /// By an API key.
        Key = "key",
        /// Without having shown who they are: at the door.
        Anonymous = "anonymous",
        /// On the command line of the host.
        Host = "host",
    }
}

/// What somebody is about to do.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Act {
    /// The person; for a key its owner.
    pub actor: Option<String>,
    pub kind: ActorKind,
    pub session_id: Option<String>,
    pub key_id: Option<String>,
    pub ip: Option<String>,
    /// The route, or the command.
    pub action: String,
    /// What the request names.
    pub object_id: Option<String>,
    pub request_id: Option<String>,
}

impl Act {
    /// What is done on the host, by whoever may.
    pub fn on_host(command: &str) -> Self {
        Self {
            actor: None,
            kind: ActorKind::Host,
            session_id: None,
            key_id: None,
            ip: None,
            action: command.to_owned(),
            object_id: None,
            request_id: None,
        }
    }
}

tokio::task_local! {
    static ACT: Arc<Act>;
}

/// Does the work as this act: each of its commits writes a line.
pub async fn acting<F: Future>(act: Act, work: F) -> F::Output {
    ACT.scope(Arc::new(act), work).await
}

/// The act that this task is about, with nothing done yet.
pub(crate) fn current() -> Option<Box<Doing>> {
    let act = ACT.try_with(Arc::clone).ok()?;
    Some(Box::new(Doing { act, shown: None, events: Vec::new(), status: None, aside: false, marked: 0 }))
}

/// What a transaction has done of an act so far.
#[derive(Debug)]
pub(crate) struct Doing {
    act: Arc<Act>,
    /// Who the caller has shown to be, with the new session.
    shown: Option<(String, String)>,
    /// Name, type of the subject, subject.
    events: Vec<(String, &'static str, String)>,
    status: Option<i64>,
    aside: bool,
    marked: usize,
}

impl Doing {
    /// Notes an event that tells of the act; each name once.
    pub(crate) fn note(&mut self, name: &str, subject_type: &str, subject_id: &str) {
        if self.events.len() < EVENTS_MAX && self.events.iter().all(|(noted, ..)| noted != name) {
            self.events.push((name.to_owned(), noun(subject_type, subject_id), subject_id.to_owned()));
        }
    }

    /// Notes the status of the answer that is stored with the act.
    pub(crate) const fn answered(&mut self, status: i64) {
        self.status = Some(status);
    }

    /// Notes who came in by the door.
    pub(crate) fn showed(&mut self, user_id: &str, session_id: &str) {
        self.shown = Some((user_id.to_owned(), session_id.to_owned()));
    }

    /// What is written here is not what was asked for.
    pub(crate) const fn set_aside(&mut self) {
        self.aside = true;
    }

    /// What was noted before this stays.
    pub(crate) const fn mark(&mut self) {
        self.marked = self.events.len();
    }

    /// What was noted since the mark never happened.
    pub(crate) fn rewind(&mut self) {
        self.events.truncate(self.marked);
    }

    /// The line; none if nothing was done that anybody could be held to.
    pub(super) fn line(&self, id: String, at: DateTime<Utc>) -> Option<Line> {
        let act = &self.act;
        let nobody = act.kind == ActorKind::Anonymous && self.shown.is_none() && self.events.is_empty();
        if self.aside || nobody {
            return None;
        }
        let (actor, session_id) = match &self.shown {
            Some((user, session)) if act.actor.is_none() => (Some(user.clone()), Some(session.clone())),
            _ => (act.actor.clone(), act.session_id.clone()),
        };
        let told = self.events.first();
        let object_id =
            act.object_id.clone().or_else(|| told.map(|(.., id)| id.clone())).or_else(|| session_id.clone());
        let known = object_id.as_ref().and_then(|id| self.events.iter().find(|(.., subject)| subject == id));
        let object_type = known.map(|(_, noun, _)| *noun).or_else(|| object_id.as_deref().map(|id| noun("", id)));
        let names: Vec<_> = self.events.iter().map(|(name, ..)| name).collect();
        let mut detail = json!({ "events": names });
        for (field, value) in
            [("key_id", act.key_id.as_ref().map(|id| json!(id))), ("status", self.status.map(Value::from))]
        {
            if let Some(value) = value {
                detail[field] = value;
            }
        }
        Some(Line {
            id,
            at,
            actor,
            actor_kind: act.kind,
            session_id,
            ip: act.ip.clone(),
            action: act.action.clone(),
            object_type: object_type.filter(|noun| !noun.is_empty()).map(str::to_owned),
            object_id,
            detail: canonical::text(&detail).expect("a status has few digits"),
            request_id: act.request_id.clone(),
        })
    }
}

/// What an id is of: its prefix says so where no event does.
fn noun(told: &str, id: &str) -> &'static str {
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
        ("rec", "reconciliation_run"),
        ("ses", "session"),
        ("sub", "subscription"),
        ("usr", "user"),
        ("wal", "wallet"),
        ("whe", "webhook_endpoint"),
    ];
    let by_prefix = id.rsplit_once('_').and_then(|(prefix, _)| NOUNS.iter().find(|(known, _)| *known == prefix));
    let by_name = NOUNS.iter().find(|(_, noun)| *noun == told);
    by_prefix.or(by_name).map_or(if told == "chain" { "chain" } else { "" }, |(_, noun)| noun)
}

#[cfg(test)]
mod tests;
