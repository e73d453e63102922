//! Signers: the lanes with their nonces, as our books and the chain have them, and what a person can do about each.

pub mod import;
mod ruler;

use askama::Template;
use axum::extract::{Path, RawQuery};
use axum::http::StatusCode;
use axum::response::Response;
use chrono::{DateTime, Utc};
use futures::future::try_join_all;
use serde::Deserialize;

use self::ruler::{Nonces, Ruler};
use crate::code::Code;
use crate::console::act::{self, Act, Offer, Thing};
use crate::console::desk::{Desk, away};
use crate::console::field::REASON;
use crate::console::form::Form;
use crate::console::frame::Frame;
use crate::console::nav::OPERATORS;
use crate::console::pair::Pair;
use crate::console::watch::Watched;
use crate::console::{html, wording};
use crate::http::error::{Problem, Result};
use muniment_domain::id::LaneId;

/// The address of this page.
pub const PATH: &str = "/console/signers";

/// A signer whose gas lasts for fewer hours is shown on the overview.
const SOON_HOURS: i64 = 72;

const ACTS: &[Act] = &[
    Act::post(
        "pause",
        "Pause",
        "/blockchain/signers/{id}/pause",
        "It signs nothing new. What is already signed is still followed, and what waits stays in line.",
    )
    .from(&["active"])
    .fields(&[REASON])
    .said("The signer is paused. What it has signed is still followed."),
    Act::post(
        "resume",
        "Resume",
        "/blockchain/signers/{id}/resume",
        "It signs again. After a quarantine it continues above every nonce that is final on its chain.",
    )
    .from(&["paused", "quarantined"])
    .fields(&[REASON])
    .said("The signer signs again."),
];

#[derive(Template)]
#[template(path = "signers.html")]
struct Page {
    frame: Frame,
    lanes: Vec<Shown>,
    now: DateTime<Utc>,
    acts: bool,
}

struct Shown {
    lane: Lane,
    ruler: Ruler,
    /// The operation at the front, if it needs a person or waits for something.
    front: Option<Front>,
    offers: Vec<Offer>,
}

#[derive(Deserialize)]
struct Listed {
    data: Vec<Lane>,
}

/// A lane, as the API lists it.
#[derive(Deserialize)]
pub struct Lane {
    id: String,
    address: String,
    chain_id: i64,
    network: String,
    next_nonce: i64,
    chain_nonce_latest: Option<i64>,
    chain_nonce_pending: Option<i64>,
    chain_nonce_finalized: Option<i64>,
    in_flight: i64,
    in_flight_max: Option<i64>,
    front: Option<Lowest>,
    balance_wei: Option<String>,
    gas_hours_left: Option<i64>,
    low_balance: Option<bool>,
    observed_at: Option<DateTime<Utc>>,
    lane_state: String,
    lane_reason: Option<String>,
}

/// What waits with the lowest nonce in no block.
#[derive(Deserialize)]
struct Lowest {
    nonce: i64,
    operation: Waiting,
}

#[derive(Deserialize)]
struct Waiting {
    needs_attention: bool,
    blocked_reason: Option<String>,
    blocked_detail: Option<String>,
}

/// The operation that holds the lowest open nonce, in full.
#[derive(Deserialize)]
struct Front {
    id: String,
    #[serde(flatten)]
    states: crate::console::pair::States,
    about: crate::console::operations::About,
    needs_attention: bool,
    blocked_reason: Option<String>,
    blocked_detail: Option<String>,
    actions: Vec<Action>,
}

#[derive(Deserialize)]
struct Action {
    action: String,
    allowed: bool,
    consequence: String,
}

/// The page.
pub async fn page(desk: Desk) -> Result<Response> {
    let mut lanes = shown(&desk).await?;
    // What needs a person comes first.
    lanes.sort_by_key(|shown| !shown.needs_a_person());
    let frame = Frame::of(&desk, PATH, "Signers").await?;
    let (now, acts) = (desk.now(), desk.is_one_of(OPERATORS));
    Ok(html::page(StatusCode::OK, &Page { frame, lanes, now, acts }))
}

/// The lanes that a person must look at, for the overview.
pub async fn watched(desk: &Desk) -> Result<Vec<Watched>> {
    let listed: Listed = desk.read("/blockchain/signers").await?;
    Ok(listed.data.iter().filter_map(Lane::watched).collect())
}

async fn shown(desk: &Desk) -> Result<Vec<Shown>> {
    let listed: Listed = desk.read("/blockchain/signers").await?;
    try_join_all(listed.data.into_iter().map(|lane| with_ruler(desk, lane))).await
}

async fn with_ruler(desk: &Desk, lane: Lane) -> Result<Shown> {
    let nonces: Nonces = desk.read(&format!("/blockchain/signers/{}/nonces", lane.id)).await?;
    let ruler = Ruler::of(&lane, &nonces);
    let front: Option<Front> = match &ruler.lowest {
        Some(lowest) => Some(desk.read(&format!("/blockchain/operations/{}", lowest.operation_id)).await?),
        None => None,
    };
    let offers = act::offers(desk, ACTS, &thing(&lane));
    Ok(Shown { front: front.filter(Front::is_held_up), lane, ruler, offers })
}

/// A lane has no page of its own: its place on the page of all.
pub async fn place(Path(id): Path<String>) -> Response {
    let known = LaneId::from(id.as_str()).is_sound();
    away(&if known { format!("{PATH}#{id}") } else { PATH.to_owned() })
}

/// The page before an act.
pub async fn sheet(
    desk: Desk,
    Path((id, word)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response> {
    act::sheet(&desk, &find(&desk, &id).await?, act::find(ACTS, &word)?, query.as_deref()).await
}

/// The act.
pub async fn act(desk: Desk, Path((id, word)): Path<(String, String)>, form: Form) -> Result<Response> {
    act::carry_out(&desk, &form, &find(&desk, &id).await?, act::find(ACTS, &word)?).await
}

async fn find(desk: &Desk, id: &str) -> Result<Thing> {
    let listed: Listed = desk.read("/blockchain/signers").await?;
    let none = || Problem::new(Code::NotFound, format!("There is no signer {id}."));
    listed.data.iter().find(|lane| lane.id == id).map(thing).ok_or_else(none)
}

fn thing(lane: &Lane) -> Thing {
    Thing {
        nav: PATH,
        above: "Signers",
        id: lane.id.clone(),
        at: format!("{PATH}/{}", lane.id),
        name: format!("{} on {} {}", wording::short_hex(&lane.address), lane.network, lane.chain_id),
        status: lane.lane_state.clone(),
        ..Thing::default()
    }
}

impl Page {
    fn summary(&self) -> String {
        let waiting = self.lanes.iter().filter(|shown| shown.needs_a_person()).count();
        let (all, waiting) = (self.lanes.len(), i64::try_from(waiting).unwrap_or_default());
        let lanes = wording::count(i64::try_from(all).unwrap_or_default(), "lane", "lanes");
        match waiting {
            0 => format!("{lanes}. None needs a person."),
            one => format!("{lanes}. {}.", wording::count(one, "needs a person", "need a person")),
        }
    }

    fn seen(&self) -> Option<DateTime<Utc>> {
        self.lanes.iter().filter_map(|shown| shown.lane.observed_at).min()
    }
}

impl Shown {
    fn needs_a_person(&self) -> bool {
        self.lane.is_stopped() || self.front.is_some() || self.lane.low_balance == Some(true)
    }

    /// Since when the lowest open nonce waits.
    fn waits(&self, now: &DateTime<Utc>) -> String {
        let since = self.ruler.lowest.as_ref().and_then(|lowest| lowest.signed_at);
        since.map_or_else(|| "none".to_owned(), |since| wording::age(now, since))
    }
}

impl Lane {
    /// Its most urgent trouble. What needs a person is on the overview as an operation.
    fn watched(&self) -> Option<Watched> {
        let reason = || self.lane_reason.clone().unwrap_or_default();
        let blocked = |front: &&Lowest| !front.operation.needs_attention && front.operation.blocked_reason.is_some();
        let (text, detail, is_early) = match self.front.as_ref().filter(blocked) {
            _ if self.lane_state == "quarantined" => ("is in quarantine".to_owned(), reason(), false),
            _ if self.is_stopped() => (format!("is {}", self.lane_state), reason(), false),
            Some(Lowest { nonce, operation }) => {
                let text = format!("waits at nonce {nonce}, and {} behind it", self.in_flight - 1);
                (text, waits_for(&operation.blocked_reason, &operation.blocked_detail), false)
            }
            _ if self.low_balance == Some(true) => ("runs out of gas".to_owned(), self.gas(), true),
            _ => (format!("has gas for {}", self.soon_empty()?), self.gas(), true),
        };
        Some(Watched {
            id: self.id.clone(),
            text: format!("Signer {} on {} {text}", wording::short_hex(&self.address), self.network),
            detail,
            is_early,
            at: match self.lane_state.as_str() {
                "quarantined" => format!("{PATH}/{}/import", self.id),
                _ => format!("{PATH}#{}", self.id),
            },
        })
    }

    fn is_stopped(&self) -> bool {
        self.lane_state != "active"
    }

    fn is_full(&self) -> bool {
        self.in_flight_max.is_some_and(|max| self.in_flight >= max)
    }

    fn flight(&self) -> String {
        flight(self.in_flight, self.in_flight_max)
    }

    fn gas(&self) -> String {
        self.balance_wei.as_deref().map_or_else(|| "not seen yet".to_owned(), wording::coin)
    }

    /// How long the gas lasts, if that is not long.
    fn soon_empty(&self) -> Option<String> {
        self.gas_hours_left.filter(|hours| *hours < SOON_HOURS).map(wording::lasts)
    }

    fn lasts(&self) -> String {
        self.gas_hours_left.map_or_else(|| "not known yet".to_owned(), wording::lasts)
    }

    fn ends(&self) -> String {
        let text = &self.address;
        if text.len() < 20 { text.clone() } else { format!("{}…{}", &text[..10], &text[text.len() - 8..]) }
    }

    /// What the state means: symbol and words.
    fn state(&self) -> (&'static str, &'static str, &'static str) {
        match self.lane_state.as_str() {
            "active" => ("", "play", "Active"),
            "paused" => ("person", "pause", "Paused"),
            _ => ("person", "person", "Quarantine"),
        }
    }
}

impl Front {
    fn is_held_up(&self) -> bool {
        self.needs_attention || self.blocked_reason.is_some()
    }

    fn waits_for(&self) -> String {
        waits_for(&self.blocked_reason, &self.blocked_detail)
    }

    fn pair(&self) -> Pair {
        Pair::of(&self.states)
    }

    /// The acts that decide about a nonce, with their words.
    fn acts(&self, nonce: &i64) -> Vec<(String, String, &Action)> {
        let named = |action| {
            let (word, name) = match action {
                "retry" => ("retry", format!("Retry {nonce}…")),
                "cancel" => ("cancel", format!("Cancel {nonce}…")),
                "speed_up" => ("speed_up", "Speed up…".to_owned()),
                _ => ("close_nonce", format!("Close {nonce}…")),
            };
            let found = self.actions.iter().find(|known| known.action == action)?;
            Some((name, format!("/console/operations/{}/act/{word}", self.id), found))
        };
        ["retry", "cancel", "speed_up", "close_nonce"].into_iter().filter_map(named).collect()
    }
}

/// What an operation waits for, in words.
fn waits_for(code: &Option<String>, detail: &Option<String>) -> String {
    detail.clone().unwrap_or_else(|| wording::word(code.as_deref().unwrap_or_default()))
}

/// The transactions in flight, beside the room for them. Those beyond it are signed, and the node does not have them yet.
fn flight(open: i64, room: Option<i64>) -> String {
    match room {
        Some(room) if open > room => format!("{room} of {room}, full; {} signed ahead", open - room),
        Some(room) if open == room => format!("{room} of {room}, full"),
        Some(room) => format!("{open} of {room}"),
        None => open.to_string(),
    }
}

#[test]
fn what_is_signed_ahead_does_not_count_as_in_flight() {
    let shown = [0, 15, 16, 17, 32].map(|open| flight(open, Some(16)));
    let expected =
        ["0 of 16", "15 of 16", "16 of 16, full", "16 of 16, full; 1 signed ahead", "16 of 16, full; 16 signed ahead"];
    assert_eq!(shown, expected);
    assert_eq!(flight(3, None), "3", "another process has the limit");
}
