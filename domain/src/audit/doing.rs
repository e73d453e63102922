//! What a transaction does, gathered while it does it, and the lines that this becomes: one for the act, and one for everything else that
//! it moved. Where nobody acts the engine does, and there is a line for each thing that it moved.

use std::collections::HashMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::Line;
use super::act::{Act, ActorKind, current};
use super::change::{Change, Facts, moved};
use crate::canonical;
use crate::point::Point;

/// How many names of events a line keeps.
const EVENTS_MAX: usize = 16;

/// What a transaction has done so far.
#[derive(Debug, Default)]
pub(crate) struct Doing {
    /// None: the engine's own.
    act: Option<Arc<Act>>,
    /// Who the caller has shown to be, with the new session.
    shown: Option<(String, String)>,
    told: Vec<Told>,
    changes: Vec<(String, Change)>,
    status: Option<i64>,
    refused: Option<&'static str>,
    aside: bool,
    marked: (usize, usize),
}

/// An event, as far as it says something about the act.
#[derive(Debug)]
struct Told {
    name: String,
    noun: &'static str,
    subject: String,
    /// From which status, none for what is new, to which.
    moved: Option<(Option<String>, String)>,
}

impl Doing {
    /// Nothing yet, of the act that this task is about.
    pub(crate) fn begin() -> Self {
        Self { act: current(), ..Self::default() }
    }

    /// Notes an event that tells of the act, and between which statuses it moved its subject.
    pub(crate) fn note(&mut self, name: &str, subject_type: &str, subject_id: &str, data: &Value) {
        let word = |value: &Value| value.as_str().map(str::to_owned);
        self.told.push(Told {
            name: name.to_owned(),
            noun: noun(subject_type, subject_id),
            subject: subject_id.to_owned(),
            moved: data.get("from").and_then(|from| Some((word(from), word(&data["status"])?))),
        });
    }

    /// Whether somebody acts. Of what the engine does of itself a line says the statuses alone, which costs no look at the row of before.
    pub(crate) const fn is_an_act(&self) -> bool {
        self.act.is_some()
    }

    /// Notes what a row was and what it became; of several changes of one row the first one's before and the last one's after count.
    pub(crate) fn changed(&mut self, id: &str, before: Facts, after: Facts) {
        match self.changes.iter_mut().find(|(known, _)| known == id) {
            Some((_, change)) => change.after = after,
            None => self.changes.push((id.to_owned(), Change { before, after })),
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

    /// What was asked for is refused by this code: nothing happened but that.
    pub(crate) const fn refuse(&mut self, code: &'static str) {
        self.refused = Some(code);
    }

    /// What is written here is not what was asked for.
    pub(crate) const fn set_aside(&mut self) {
        self.aside = true;
    }

    /// What was noted before this stays.
    pub(crate) const fn mark(&mut self) {
        self.marked = (self.told.len(), self.changes.len());
    }

    /// What was noted since the mark never happened.
    pub(crate) fn rewind(&mut self) {
        self.told.truncate(self.marked.0);
        self.changes.truncate(self.marked.1);
    }

    /// The lines; none if nothing was done that anybody could be held to.
    pub(super) fn lines(&self, point: Point, at: DateTime<Utc>, mut new_id: impl FnMut() -> String) -> Vec<Line> {
        if self.aside {
            return Vec::new();
        }
        let subjects = self.subjects();
        let Some(act) = &self.act else {
            let act = Act { kind: ActorKind::Engine, ..Act::on_host(point.as_str()) };
            return subjects.iter().map(|subject| self.line(&act, subject, None, (new_id(), at))).collect();
        };
        let nobody = act.kind == ActorKind::Anonymous && self.shown.is_none() && subjects.is_empty();
        if nobody {
            return Vec::new();
        }
        let mut act = act.as_ref().clone();
        if let Some((user, session)) = self.shown.clone().filter(|_| act.actor.is_none()) {
            (act.actor, act.session_id) = (Some(user), Some(session));
        }
        let named = act.object_id.clone().or_else(|| subjects.first().map(|subject| subject.id.to_owned()));
        let id = named.or_else(|| act.session_id.clone()).unwrap_or_default();
        let own = subjects.iter().find(|subject| subject.id == id);
        let empty = Subject { id: &id, noun: noun("", &id), told: Vec::new() };
        let mut lines = vec![self.line(&act, own.unwrap_or(&empty), self.status, (new_id(), at))];
        let others = subjects.iter().filter(|subject| subject.id != id);
        lines.extend(others.map(|subject| self.line(&act, subject, None, (new_id(), at))));
        lines
    }

    /// What was told, by what it is about, in the order in which each was told of first.
    fn subjects(&self) -> Vec<Subject<'_>> {
        let mut places = HashMap::new();
        let mut subjects: Vec<Subject<'_>> = Vec::new();
        for told in &self.told {
            let place = *places.entry(told.subject.as_str()).or_insert_with(|| {
                subjects.push(Subject { id: &told.subject, noun: told.noun, told: Vec::new() });
                subjects.len() - 1
            });
            subjects[place].told.push(told);
        }
        subjects
    }

    fn line(&self, act: &Act, subject: &Subject<'_>, status: Option<i64>, (id, at): (String, DateTime<Utc>)) -> Line {
        Line {
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
        for told in &subject.told {
            if names.len() < EVENTS_MAX && !names.contains(&told.name.as_str()) {
                names.push(&told.name);
            }
        }
        let mut detail = match self.changes.iter().find(|(id, _)| id == subject.id) {
            Some((_, change)) => change.shown(),
            None => {
                let mut moves = subject.told.iter().filter_map(|told| told.moved.as_ref());
                let first = moves.next();
                moved(first.map(|(from, _)| from.as_deref()), moves.next_back().or(first).map(|(_, to)| to.as_str()))
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

/// What a line is about.
struct Subject<'a> {
    id: &'a str,
    noun: &'static str,
    told: Vec<&'a Told>,
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
        ("pol", "policy"),
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
