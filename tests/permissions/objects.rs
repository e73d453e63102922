//! Ownership: a caller's own object is found; another's gives the same response as a missing one, byte for byte, and stays unchanged.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::{StreamExt, stream};
use world::on_both_databases;

use super::ownership::{Caller, Ownership, Thing};
use super::table::{Line, lines, missing};
use super::{call, reading, spelling};
use crate::installation::{Answer, ledger_dump};
use crate::source::must_be_clean;

/// Fields that may differ between two responses.
const OF_THE_MOMENT: &[&str] = &["date", "x-request-id", "content-length"];

/// When an operator subscribes for an investor, the investor in the body is looked up first.
const NEEDS_MORE: (&str, char) = ("/v1/offerings/{id}/subscribe", 'O');

/// A caller on a route with these objects in its path.
pub struct Case<'a> {
    pub line: Line,
    pub caller: &'a Caller,
    pub things: Vec<&'a Thing>,
}

/// Number of the request, so that no two requests have one id.
#[derive(Default)]
pub struct Asking {
    judged: AtomicUsize,
    missing: Mutex<BTreeMap<String, String>>,
}

/// Concurrent requests where nothing is changed.
const AT_ONCE: usize = 8;

impl Case<'_> {
    /// The path with these ids as parameters.
    pub fn path(&self, ids: &[String]) -> String {
        let nouns = nouns(&self.line);
        let of = |noun: &str| ids[nouns.iter().position(|n| *n == noun).unwrap()].clone();
        let path = self.line.at(of);
        let is_pair = self.line.path.ends_with("/can-transfer");
        if is_pair { format!("{path}?from={0}&to={0}&quantity=1", of("can-transfer")) } else { path }
    }

    pub fn ids(&self) -> Vec<String> {
        self.things.iter().map(|thing| thing.id.clone()).collect()
    }

    /// Position of the first object that the caller cannot see; the first object, if the route refuses the caller.
    pub fn hidden(&self) -> Option<usize> {
        if self.caller.is_refused(&self.line) {
            return Some(0);
        }
        (0..self.things.len()).find(|at| !self.caller.sees(&self.line, &self.things[..*at], self.things[*at]))
    }

    /// The response to a missing object.
    fn refusal(&self) -> (u16, String) {
        let noun = self.hidden().map_or("", |at| self.things[at].noun);
        let (status, code) = match noun {
            _ if self.caller.letter == ' ' && !self.line.is_free() => (401, "token_missing"),
            _ if self.caller.is_refused(&self.line) => (403, "role_forbidden"),
            // These paths name a person: whether that person exists is hidden too.
            "balances" | "frozen" | "can-transfer" => (403, "forbidden"),
            "investors" if self.line.path.ends_with("/portfolio") => (403, "forbidden"),
            _ => (404, "not_found"),
        };
        (status, code.to_owned())
    }

    fn name(&self) -> String {
        let Caller { name, letter, keyed, .. } = self.caller;
        let by = if *keyed { "the key of " } else { "" };
        format!("{} {} by {by}{name} ({letter})", self.line.method, self.path(&self.ids()))
    }
}

/// The ids in the path, and the holder that a transfer check names.
pub fn nouns(line: &Line) -> Vec<&'static str> {
    let mut nouns = line.nouns();
    if line.path.ends_with("/can-transfer") {
        nouns.push("can-transfer");
    }
    nouns
}

/// Every caller on every route with every object of its kind. Objects that a call removes come last, then people.
fn cases(all: &Ownership) -> Vec<Case<'_>> {
    let mut cases = Vec::new();
    for line in lines().into_iter().filter(Line::is_of_something) {
        let mut sets: Vec<Vec<&Thing>> = vec![Vec::new()];
        for noun in nouns(&line) {
            let more = |set: Vec<_>| {
                let of_kind = all.things.iter().filter(move |thing| thing.noun == noun);
                of_kind.map(move |thing| [set.clone(), vec![thing]].concat())
            };
            sets = sets.into_iter().flat_map(more).collect();
        }
        assert!(
            sets.len() > 1 || ["signers", "chains"].iter().any(|only| line.path.contains(only)),
            "nobody has what {} {} is about",
            line.method,
            line.path
        );
        cases.extend(all.callers.iter().flat_map(|caller| {
            sets.iter().map(move |things| Case { line, caller, things: things.clone() }).collect::<Vec<_>>()
        }));
    }
    cases.sort_by_key(|case| {
        (case.line.path.starts_with("/v1/users"), case.line.method == "DELETE", !case.line.is_read())
    });
    cases
}

/// A response without times and request ids, and without the requested ids.
fn told(answer: &Answer, ids: &[String]) -> String {
    let mut body = answer.body.clone();
    if let Some(fields) = body.as_object_mut() {
        fields.remove("request_id");
        fields.remove("instance");
    }
    let headers = answer.headers.iter().filter(|(name, _)| !OF_THE_MOMENT.contains(&name.as_str()));
    let headers: BTreeSet<_> = headers.map(|(name, value)| format!("{name}: {}\n", value.to_str().unwrap())).collect();
    let text = format!("{}\n{}{body}", answer.status, headers.into_iter().collect::<String>()).to_lowercase();
    ids.iter().fold(text, |text, id| text.replace(id.as_str(), "(it)"))
}

impl Asking {
    pub async fn ask(&self, case: &Case<'_>, path: &str) -> Answer {
        let number = self.judged.fetch_add(1, Ordering::Relaxed);
        call(&case.caller.client, &case.line, path, &format!("case-{number}")).await
    }

    /// Number of requests.
    fn judged(&self) -> usize {
        self.judged.load(Ordering::Relaxed)
    }

    /// Checks many cases concurrently.
    pub async fn all<T>(&self, things: Vec<T>, judge: impl AsyncFn(&Self, T) -> Vec<String>) -> Vec<String> {
        stream::iter(things).map(|thing| judge(self, thing)).buffer_unordered(AT_ONCE).concat().await
    }

    /// The response to a missing object, requested once for each caller and route.
    async fn without(&self, case: &Case<'_>, at: usize) -> String {
        let nouns = nouns(&case.line);
        let refused = case.caller.is_refused(&case.line);
        let mut ids = case.ids();
        for (place, id) in ids.iter_mut().enumerate().filter(|(place, _)| *place == at || refused) {
            *id = missing(nouns[place]);
        }
        let path = case.path(&ids);
        let name = format!("{} {path} {} {}", case.line.method, case.caller.name, case.caller.keyed);
        let known = self.missing.lock().unwrap().get(&name).cloned();
        if let Some(known) = known {
            return known;
        }
        let answer = self.ask(case, &path).await;
        self.missing.lock().unwrap().entry(name).or_insert(told(&answer, &ids)).clone()
    }

    /// A response never shows that another's object exists.
    async fn of_others(&self, case: &Case<'_>, at: usize) -> Option<String> {
        let answer = self.ask(case, &case.path(&case.ids())).await;
        let (found, wanted) = (answer.problem(), case.refusal());
        let (told, without) = (told(&answer, &case.ids()), self.without(case, at).await);
        match () {
            () if found != wanted => Some(format!("{}: {found:?}, not {wanted:?}", case.name())),
            () if told != without => Some(format!("{}: {told}\nwithout it: {without}", case.name())),
            () => None,
        }
    }

    /// On an own object the action succeeds, or fails by a rule that only a permitted caller is told.
    async fn of_ones_own(&self, case: &Case<'_>, all: &Ownership) -> Result<Answer, String> {
        let answer = self.ask(case, &case.path(&case.ids())).await;
        let (status, code) = answer.problem();
        let by_rule = match status {
            401 | 404 | 405 => false,
            403 => case.line.path.starts_with("/v1/approvals/"),
            // There is no chain here: a caller who gets that error was accepted.
            500.. => code.starts_with("chain_"),
            _ => true,
        };
        let leaks = reading::leaks(all, case.caller, &case.line, &answer.body.to_string());
        match leaks.first() {
            _ if !by_rule => Err(format!("{}: {:?}", case.name(), answer.problem())),
            Some(leak) => Err(format!("{} tells of {leak}", case.name())),
            None => Ok(answer),
        }
    }
}

async fn others(all: &Ownership, asking: &Asking) -> Vec<String> {
    let hidden = cases(all).into_iter().filter_map(|case| case.hidden().map(|at| (case, at))).collect();
    asking.all(hidden, async |asking, (case, at)| asking.of_others(&case, at).await.into_iter().collect()).await
}

async fn ones_own(all: &Ownership, asking: &Asking) -> Vec<String> {
    let (mut wrong, mut gone) = (Vec::new(), BTreeSet::new());
    for case in cases(all).into_iter().filter(|case| case.hidden().is_none()) {
        let asks_for_more = (case.line.path, case.caller.letter) == NEEDS_MORE;
        if asks_for_more || case.things.iter().any(|thing| gone.contains(&thing.id)) {
            continue;
        }
        match asking.of_ones_own(&case, all).await {
            Ok(answer) if case.line.method == "DELETE" && answer.status < 300 => gone.extend(case.ids()),
            Ok(_) => {}
            Err(why) => wrong.push(why),
        }
    }
    wrong
}

/// What its owner set of each endpoint: the columns before those that deliveries write.
fn requested(rows: &[String]) -> Vec<String> {
    rows.iter().map(|row| row.split([',', ' ']).take(6).collect::<Vec<_>>().join(",")).collect()
}

/// The differences between two states of the database.
fn changes(before: &BTreeMap<String, Vec<String>>, after: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    // The delivery of events goes on meanwhile, and notes its attempts.
    let goes_on =
        |table: &str| ["Jobs", "Workers", "leases", "webhook_attempts", "webhook_deliveries"].contains(&table);
    let differs = |table: &&String| match table.as_str() {
        "webhook_endpoints" => requested(&before[*table]) != requested(&after[*table]),
        table => !goes_on(table) && before[table] != after[table],
    };
    let tables = before.keys().filter(differs);
    let rows = |table: &String| {
        let new = after[table].iter().filter(|row| !before[table].contains(row)).cloned().collect::<Vec<_>>();
        format!("{table}: {} rows, then {}: {new:?}", before[table].len(), after[table].len())
    };
    tables.map(rows).collect()
}

on_both_databases! {
    async fn rows_of_others_are_not_found_and_stay_unchanged(database: Database) {
        let all = Ownership::new(database).await;
        let asking = Asking::default();
        let api = &all.fixture.api;
        api.fanned_out().await;
        let before = ledger_dump(&api.database).await;
        assert!(before["subscriptions"].len() == 5 && before.len() > 40, "{:?}", before.keys());
        must_be_clean("what is told of others' things", &others(&all, &asking).await);
        must_be_clean("ids that are written otherwise", &spelling::otherwise(&all, &asking).await);
        must_be_clean("lists and filters", &reading::lists(&all, &asking).await);
        must_be_clean("what callers changed who may not", &changes(&before, &ledger_dump(&api.database).await));
        let refused = asking.judged();
        must_be_clean("what is kept from its owner", &ones_own(&all, &asking).await);
        assert!(refused > 1_000 && asking.judged() - refused > 300, "too little was asked: {refused} of {}", asking.judged());
        assert_ne!(before, ledger_dump(&api.database).await, "changes by owners appear in the dump");
    }
}
