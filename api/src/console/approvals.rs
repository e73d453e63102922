//! Approvals: what one person asked for and another decides, bound by the hash of exactly what will run.

use askama::Template;
use axum::extract::{Path, RawQuery};
use axum::http::{Method, StatusCode};
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::id::{OperationId, UserId};
use muniment_domain::money::Money;
use muniment_domain::user::Role;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::console::desk::Desk;
use crate::console::form::Form;
use crate::console::frame::Frame;
use crate::console::list::{Asked, ROWS};
use crate::console::names::Names;
use crate::console::simulation::{Refusal, Simulation};
use crate::console::{html, wording};
use crate::http::error::Result;

/// The address of this page.
pub const PATH: &str = "/console/approvals";
const DECIDERS: &[Role] = &[Role::Operator, Role::Admin];
/// The tab of those that do not wait.
const DECIDED: &str = "decided";
const WAITING: &str = "pending";
const FINAL: &str = "approved,executed,execution_failed,rejected,expired,cancelled";
const UNEXECUTED: &str = "Approved, but it could not be executed any more. Nothing runs.";

#[derive(Template)]
#[template(path = "approvals.html")]
struct Page {
    frame: Frame,
    listed: Shown,
    open: Option<Full>,
    /// What the open one would do now, or why that is not known. None if it does not wait.
    simulation: Option<std::result::Result<Simulation, String>>,
    me: UserId,
    acts: bool,
    now: DateTime<Utc>,
    key: String,
    names: Names,
}

/// One page of the list.
struct Shown {
    rows: Vec<Short>,
    total: i64,
    /// Whether it shows pending approvals, and not decided ones.
    waiting: bool,
    pages: (Option<String>, Option<String>),
    /// The query of this page, which an approval beside the list keeps.
    query: String,
}

#[derive(Deserialize)]
struct Listed {
    data: Vec<Short>,
    pagination: Pagination,
}

#[derive(Deserialize)]
struct Pagination {
    total: i64,
}

#[derive(Deserialize)]
struct Short {
    id: String,
    status: String,
    action: String,
    amount: Option<String>,
    currency: Option<String>,
    maker: String,
    reason: Option<String>,
    checker: Option<String>,
    decision_reason: Option<String>,
    operation_id: Option<OperationId>,
    error: Option<Trouble>,
    payload_sha256: String,
    created_at: DateTime<Utc>,
    decided_at: Option<DateTime<Utc>>,
    expires_at: DateTime<Utc>,
    alone_from: Option<DateTime<Utc>>,
    version: i64,
}

/// Why an approved action could not be executed.
#[derive(Deserialize)]
struct Trouble {
    code: String,
    detail: Option<String>,
}

#[derive(Deserialize)]
struct Full {
    #[serde(flatten)]
    short: Short,
    payload: Option<Value>,
    outlook: Option<Outlook>,
}

#[derive(Deserialize)]
struct Outlook {
    #[serde(flatten)]
    refusal: Option<Refusal>,
}

/// The list, with the first approval open.
pub async fn list(desk: Desk, RawQuery(query): RawQuery) -> Result<Response> {
    let listed = read(&desk, query.as_deref()).await?;
    let first = listed.rows.first().filter(|_| listed.waiting).map(|first| first.id.clone());
    shown(desk, listed, first).await
}

/// One approval beside the list.
pub async fn page(desk: Desk, Path(id): Path<String>, RawQuery(query): RawQuery) -> Result<Response> {
    let listed = read(&desk, query.as_deref()).await?;
    shown(desk, listed, Some(id)).await
}

async fn read(desk: &Desk, query: Option<&str>) -> Result<Shown> {
    let asked = Asked::read(PATH, query);
    let (waiting, page) = (asked.text("status") != DECIDED, asked.page());
    let (rows, total) = match waiting {
        true => oldest(desk, page).await?,
        false => newest(desk, FINAL, page).await?,
    };
    let number = if page > 1 { page.to_string() } else { String::new() };
    let query = asked.with("page", &number).split_off(PATH.len());
    Ok(Shown { rows, total, waiting, pages: asked.around_if(page * ROWS < total), query })
}

/// A page as the API lists it, and the number of all.
async fn newest(desk: &Desk, statuses: &str, page: i64) -> Result<(Vec<Short>, i64)> {
    let listed: Listed = desk.read(&format!("/v1/approvals?limit={ROWS}&page={page}&status={statuses}")).await?;
    Ok((listed.data, listed.pagination.total))
}

/// A page of what waits, and the number of all: what was asked for first, and so expires first, leads. The API lists it last.
async fn oldest(desk: &Desk, page: i64) -> Result<(Vec<Short>, i64)> {
    let (mut rows, total) = newest(desk, WAITING, 1).await?;
    // A list that became shorter still shows its end.
    let page = page.min(((total - 1) / ROWS + 1).max(1));
    let (from, to) = ((total - page * ROWS).max(0), total - (page - 1) * ROWS);
    let first = from / ROWS + 1;
    if first > 1 {
        (rows, _) = newest(desk, WAITING, first).await?;
    }
    // A page from the end lies on two of the API, unless it is the last.
    if to > first * ROWS {
        rows.extend(newest(desk, WAITING, first + 1).await?.0);
    }
    let count = |number: i64| usize::try_from(number).unwrap_or_default();
    let mut rows: Vec<_> = rows.into_iter().skip(count(from % ROWS)).take(count(to - from)).collect();
    rows.reverse();
    Ok((rows, total))
}

async fn shown(desk: Desk, listed: Shown, id: Option<String>) -> Result<Response> {
    let open: Option<Full> = match id {
        Some(id) => Some(desk.read(&format!("/v1/approvals/{id}")).await?),
        None => None,
    };
    let waits = open.as_ref().filter(|open| open.short.status == "pending" && desk.person.is_staff());
    let simulation = match waits {
        Some(open) => Some(Simulation::of(&desk, &open.short.id).await),
        None => None,
    };
    let seen = listed.rows.iter().chain(open.as_ref().map(|open| &open.short));
    let people: Vec<&str> = seen.flat_map(|one| [Some(&*one.maker), one.checker.as_deref()]).flatten().collect();
    let names = Names::of(&desk, people).await?;
    let frame = Frame::of(&desk, PATH, "Approvals").await?;
    let (me, acts, now, key) = (desk.person.0.user_id.clone(), desk.is_one_of(DECIDERS), desk.now(), desk.key());
    Ok(html::page(StatusCode::OK, &Page { frame, listed, open, simulation, me, acts, now, key, names }))
}

/// The decision. It names the version and the hash that the person saw.
pub async fn decide(desk: Desk, Path(id): Path<String>, form: Form) -> Result<Response> {
    let approves = form.text("decision") == "approve";
    let (verb, body, said) = match approves {
        true => ("approve", approval(&form), "Approved. What was asked for runs now."),
        false => ("reject", json!({ "comment": form.text("reason") }), "Rejected. Nothing runs."),
    };
    let version = format!("\"v{}\"", form.text("version"));
    let path = format!("/v1/approvals/{id}/{verb}");
    let reply = desk.change(Method::POST, &path, &form, &body, &[("if-match", &version)]).await?;
    // A yes to what the rules refuse by now is an answer as well, and runs nothing.
    if approves && !matches!(reply.body["status"].as_str(), Some("approved" | "executed")) {
        return Ok(desk.warned(&format!("{PATH}/{id}"), UNEXECUTED));
    }
    Ok(desk.done(PATH, said))
}

fn approval(form: &Form) -> Value {
    let mut body = json!({ "payload_sha256": form.text("payload_sha256") });
    if let Some(comment) = form.given("reason") {
        body["comment"] = comment.into();
    }
    body
}

impl Page {
    fn is_open(&self, short: &Short) -> bool {
        self.open.as_ref().is_some_and(|open| open.short.id == short.id)
    }

    fn is_mine(&self, short: &Short) -> bool {
        *short.maker == *self.me
    }

    fn may_decide(&self, open: &Full) -> bool {
        let alone = open.short.alone_from.is_some_and(|from| from <= self.now);
        self.acts && open.short.status == "pending" && (!self.is_mine(&open.short) || alone)
    }

    /// How long is left.
    fn left(&self, short: &Short) -> String {
        wording::span((short.expires_at - self.now).num_seconds())
    }
}

impl Short {
    fn what(&self) -> String {
        wording::word(&self.action)
    }

    fn money(&self) -> Option<String> {
        let amount = wording::long_digits(self.amount.as_ref()?);
        Some(format!("{amount} {}", self.currency.as_deref().unwrap_or_default()))
    }

    /// The hash in groups of eight, of which the first and the last are read aloud.
    fn groups(&self) -> (String, String, String) {
        let hash = &self.payload_sha256;
        if hash.len() != 64 || !hash.is_ascii() {
            return (hash.clone(), String::new(), String::new());
        }
        let middle: Vec<_> = (1..7).map(|group| &hash[group * 8..group * 8 + 8]).collect();
        (hash[..8].to_owned(), middle.join(" "), hash[56..].to_owned())
    }
}

impl Full {
    /// The fields that a person judges, one a line. Addresses come last.
    fn intent(&self) -> Vec<(String, String)> {
        let mut lines = self.lines();
        lines.retain(|(_, value)| !is_reference(value) || is_address(value));
        lines.sort_by_key(|(_, value)| is_reference(value));
        lines
    }

    /// The hashes and ids, which a person compares and does not judge.
    fn references(&self) -> Vec<(String, String)> {
        let mut lines = self.lines();
        lines.retain(|(_, value)| is_reference(value) && !is_address(value));
        lines
    }

    fn lines(&self) -> Vec<(String, String)> {
        let mut lines = Vec::new();
        if let Some(payload) = &self.payload {
            self.read(payload, &mut lines);
        }
        lines
    }

    /// Payloads hold totals in the smallest unit of their currency.
    fn read(&self, fields: &Value, lines: &mut Vec<(String, String)>) {
        let currency = self.short.currency.as_deref().unwrap_or_default();
        for (name, value) in fields.as_object().into_iter().flatten().filter(|(name, _)| *name != "action") {
            let shown = match value {
                Value::Null => continue,
                Value::Object(_) => {
                    self.read(value, lines);
                    continue;
                }
                // The totals name it.
                Value::String(_) if name == "currency" => continue,
                Value::String(text) if is_word(text) => text.replace('_', " "),
                Value::String(text) => text.clone(),
                other => match other.as_i64().filter(|_| name.ends_with("_total")) {
                    Some(minor) => {
                        format!("{} {currency}", wording::long_digits(&Money::from_minor(minor).to_string()))
                    }
                    None => other.to_string(),
                },
            };
            lines.push((wording::word(name), shown));
        }
    }

    fn bytes(&self) -> String {
        self.payload.as_ref().map(Value::to_string).unwrap_or_default()
    }
}

/// Whether a value is a word of the API, such as `direct_payout`.
fn is_word(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

fn is_address(value: &str) -> bool {
    value.len() == 42 && value.starts_with("0x")
}

/// Whether a value is a hash, an address or an id.
fn is_reference(value: impl AsRef<str>) -> bool {
    let value = value.as_ref();
    let is_hex = |text: &str| text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex(value.strip_prefix("0x").unwrap_or(value))
        || value.len() >= 30 && value.contains('_') && !value.contains(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_addresses_and_ids_are_references_and_words_are_not() {
        let references = [
            "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
            "off_01m861qsgyepnabzgkpvsv68pc",
            "4331230bbde314277941d8fe73b1901514aedfeed7cb1a65664fa35813042e94",
        ];
        assert!(references.iter().all(is_reference));
        assert!(
            ["60,000.00 EUR", "direct_payout", "2", "by order of the court of a_very_long_name"]
                .iter()
                .all(|value| !is_reference(value))
        );
    }
}
