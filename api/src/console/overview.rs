//! What needs a person now, and where everything else is.

use std::collections::BTreeMap;

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use chrono::{DateTime, Utc};
use serde::Deserialize;

use crate::console::desk::{Desk, away};
use crate::console::frame::Frame;
use crate::console::hour::Hour;
use crate::console::list::Listed;
use crate::console::operations::About;
use crate::console::pair::{Pair, States};
use crate::console::watch::{self, Watched};
use crate::console::{approvals, html, investors, wording};
use crate::http::error::Result;

/// As many needs as there are keys.
const NEEDS: usize = 9;

#[derive(Template)]
#[template(path = "overview.html")]
struct Page {
    frame: Frame,
    stats: Stats,
    /// Approvals that wait for a second person.
    waiting: i64,
    /// Investors who wait for a review.
    reviews: i64,
    needs: Vec<Need>,
    /// How many operations our books and the chain contradict each other about, shown or not.
    clashes: i64,
    watched: Vec<Watched>,
    chains: Vec<Chain>,
    hour: Hour,
    now: DateTime<Utc>,
}

#[derive(Deserialize)]
struct Stats {
    unfinished: BTreeMap<String, i64>,
    needs_attention: i64,
    oldest_pending_seconds: Option<i64>,
    oldest_submitted_seconds: Option<i64>,
    submitted_to_final: Times,
}

#[derive(Deserialize)]
struct Times {
    sample: i64,
}

#[derive(Deserialize)]
struct Need {
    id: String,
    #[serde(flatten)]
    states: States,
    about: About,
    error: Option<Trouble>,
    created_at: DateTime<Utc>,
}

#[derive(Deserialize)]
struct Trouble {
    code: String,
}

#[derive(Deserialize)]
struct Chains {
    data: Vec<Chain>,
}

#[derive(Deserialize)]
struct Chain {
    chain_id: i64,
    network: String,
    status: String,
    reason: Option<String>,
    head_block: i64,
    final_block: i64,
    moved_at: DateTime<Utc>,
    endpoints: Vec<Endpoint>,
    endpoints_seen_at: Option<DateTime<Utc>>,
}

#[derive(Deserialize)]
struct Endpoint {
    name: String,
    is_up: bool,
    since: Option<DateTime<Utc>>,
    latency_milliseconds: Option<i64>,
    trouble: Option<String>,
}

/// The page. The people of an issuer begin with what they asked for.
pub async fn page(desk: Desk) -> Result<Response> {
    if !desk.person.is_staff() {
        return Ok(away(approvals::PATH));
    }
    let attention = format!("/blockchain/operations?needs_attention=true&limit={NEEDS}");
    // Asked for by itself: nine newer failures would hide it.
    let uncertain = format!("/blockchain/operations?uncertain=true&limit={NEEDS}");
    let (frame, stats, listed, uncertain, watched, chains, hour) = tokio::try_join!(
        Frame::of(&desk, "/console", "Overview"),
        desk.read("/blockchain/operations/stats"),
        desk.read::<Listed<Need>>(&attention),
        desk.read::<Listed<Need>>(&uncertain),
        watch::read(&desk),
        desk.read::<Chains>("/blockchain/chains"),
        desk.read("/blockchain/operations/series"),
    )?;
    let (waiting, reviews) = (frame.waiting(approvals::PATH), frame.waiting(investors::PATH));
    let chains = chains.data;
    let clashes = uncertain.pagination.total.unwrap_or_default();
    // Money that is not certain comes first; within, the newest.
    let mut needs = uncertain.data;
    needs.extend(listed.data.into_iter().filter(|need| !need.is_uncertain()));
    needs.truncate(NEEDS);
    Ok(html::page(
        StatusCode::OK,
        &Page { frame, stats, waiting, reviews, needs, clashes, watched, chains, hour, now: desk.now() },
    ))
}

impl Page {
    fn headline(&self) -> (String, String) {
        let watched = i64::try_from(self.watched.len()).unwrap_or_default();
        let total = self.stats.needs_attention + self.waiting + self.reviews + watched;
        let first = match total {
            0 => "Nothing needs a person.".to_owned(),
            1 => "One thing needs a person.".to_owned(),
            many => format!("{} things need a person.", wording::spelled(many)),
        };
        let second = match self.clashes {
            0 => String::new(),
            1 => "One of them may touch money.".to_owned(),
            many => format!("{} of them may touch money.", wording::spelled(many)),
        };
        (first, second)
    }

    fn count(&self, status: &str) -> i64 {
        self.stats.unfinished.get(status).copied().unwrap_or_default()
    }

    fn is_calm(&self) -> bool {
        self.needs.is_empty() && self.waiting + self.reviews == 0 && self.watched.is_empty()
    }

    /// Where our books and the chain contradict.
    fn uncertain(&self) -> Vec<(usize, &Need)> {
        self.numbered().filter(|(_, need)| need.is_uncertain()).collect()
    }

    /// What is held up now.
    fn held_up(&self) -> Vec<(usize, &Need)> {
        self.numbered().filter(|(_, need)| !need.is_uncertain()).collect()
    }

    fn numbered(&self) -> impl Iterator<Item = (usize, &Need)> {
        self.needs.iter().enumerate().map(|(index, need)| (index + 1, need))
    }

    fn oldest(seconds: &Option<i64>) -> String {
        seconds.map_or_else(|| "none".to_owned(), |seconds| format!("oldest {}", wording::span(seconds)))
    }

    /// What is held up, or soon will be.
    fn watched_now(&self) -> Vec<&Watched> {
        self.watched.iter().filter(|one| !one.is_early).collect()
    }

    /// What stops nothing yet.
    fn watched_early(&self) -> Vec<&Watched> {
        self.watched.iter().filter(|one| one.is_early).collect()
    }
}

impl Chain {
    /// The symbol and the words for its state: class, icon, words.
    fn state(&self) -> (&'static str, &'static str, String) {
        match self.status.as_str() {
            "ok" if self.endpoints.iter().any(|one| one.trouble.is_some()) => {
                ("person", "person", "Following, not by all".to_owned())
            }
            "ok" => ("done", "done", "Following".to_owned()),
            other => ("failed", "failed", wording::word(other)),
        }
    }
}

impl Endpoint {
    fn icon(&self) -> (&'static str, &'static str) {
        match (self.is_up, &self.trouble) {
            (true, None) => ("done", "done"),
            (true, Some(_)) => ("person", "warn"),
            (false, _) => ("failed", "failed"),
        }
    }

    /// Its host, and its problem if it has one.
    fn words(&self) -> String {
        let host = self.name.split_once("://").map_or(self.name.as_str(), |(_, host)| host);
        let trouble = self.trouble.as_ref().map(|trouble| wording::word(trouble).to_lowercase());
        [Some(host.to_owned()), trouble].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// How fast it answers, or since when it does not.
    fn pace(&self, now: &DateTime<Utc>) -> String {
        match (self.is_up, self.since, self.latency_milliseconds) {
            (false, Some(since), _) => wording::age(now, since),
            (true, _, Some(time)) => format!("{} ms", wording::number(time)),
            _ => String::new(),
        }
    }
}

impl Need {
    fn is_uncertain(&self) -> bool {
        Pair::of(&self.states).cut == "clash"
    }

    fn pair(&self) -> Pair {
        Pair::of(&self.states)
    }
}
