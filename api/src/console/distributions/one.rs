//! One distribution: totals that add up, every page as an operation of its own, and every holder.

use askama::Template;
use axum::extract::{Path, RawQuery};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use muniment_domain::id::{EntitlementId, InvestorId};
use serde::Deserialize;

use super::acts::{ACTS, HOLDER};
use super::pages::Pages;
use super::totals::{Part, parts, proof};
use super::{Facts, PATH};
use crate::code::Code;
use crate::console::act::{self, OPERATORS, Thing};
use crate::console::desk::Desk;
use crate::console::form::Form;
use crate::console::frame::Frame;
use crate::console::list::{Asked, Listed};
use crate::console::record::{Facts as Card, Record, Section, fact};
use crate::console::table::{Row, Table, amount, cell, short, state};
use crate::console::{html, wording};
use crate::http::error::{Problem, Result};

#[derive(Template)]
#[template(path = "distribution.html")]
struct Page {
    frame: Frame,
    record: Record,
    parts: Vec<Part>,
    proof: Option<(String, bool)>,
}

#[derive(Deserialize)]
struct Full {
    #[serde(flatten)]
    facts: Facts,
    method: String,
    memo: Option<String>,
    snapshot_sha256: Option<String>,
    entitlements_root: Option<String>,
    problem: Option<Trouble>,
    approval: Option<Approval>,
    payout_token: Coin,
    funding_wallet: Option<String>,
}

#[derive(Deserialize)]
struct Trouble {
    code: String,
    detail: Option<String>,
}

#[derive(Deserialize)]
struct Approval {
    id: String,
    status: String,
}

#[derive(Deserialize)]
struct Coin {
    symbol: String,
}

#[derive(Deserialize)]
struct Entitlement {
    id: String,
    status: String,
    hold_reason: Option<String>,
    wallet_address: String,
    payee_address: String,
    balance_at_record: String,
    gross_amount: String,
    net_amount: String,
    withholding_amount: String,
    withholding_rate: String,
    investor_id: Option<InvestorId>,
    holder: Option<Holder>,
}

/// An investor, whose name an auditor sees masked.
#[derive(Deserialize)]
struct Investor {
    legal_name: String,
}

#[derive(Deserialize)]
struct Holder {
    display_name: Option<String>,
    country: Option<String>,
}

const STATUSES: &[(&str, &str)] = &[
    ("", "All"),
    ("paid", "Paid"),
    ("calculated,queued", "Open"),
    ("held", "Held"),
    ("failed", "Failed"),
    ("excluded", "Excluded"),
];

/// The page.
pub async fn page(desk: Desk, Path(id): Path<String>, RawQuery(query): RawQuery) -> Result<Response> {
    let full: Full = desk.read(&format!("/v1/distributions/{id}")).await?;
    let asked = Asked::at(format!("{PATH}/{}", full.facts.id), query.as_deref());
    let status = match asked.one_of("status", STATUSES) {
        "" => String::new(),
        status => format!("&status={status}"),
    };
    let path = format!("/v1/distributions/{id}/entitlements?limit=20&page={}{status}", asked.page());
    let holders: Listed<Entitlement> = desk.read(&path).await?;
    let pages = match desk.person.is_staff() {
        true => Some(Pages::read(&desk, &asked, &full.facts.id).await?),
        false => None,
    };
    let mut record = record_of(&desk, &full, pages.as_ref());
    record.sections.extend(pages.map(|pages| pages.section(&asked)));
    record.sections.push(entitled(&desk, &asked, &full, &holders));
    let frame = Frame::of(&desk, PATH, &record.name).await?;
    let (parts, proof) = (parts(&full.facts.totals), proof(&full.facts.totals));
    Ok(html::page(StatusCode::OK, &Page { frame, record, parts, proof }))
}

/// The report, as the API writes it.
pub async fn report(desk: Desk, Path(id): Path<String>) -> Result<Response> {
    let text = desk.read_text(&format!("/v1/distributions/{id}/report?format=csv")).await?;
    let name =
        format!("attachment; filename=\"{}.csv\"", id.replace(|c: char| !c.is_ascii_alphanumeric() && c != '_', ""));
    let kind = "text/csv; charset=utf-8".to_owned();
    Ok(([(header::CONTENT_TYPE, kind), (header::CONTENT_DISPOSITION, name)], text).into_response())
}

/// The page before an act.
pub async fn sheet(
    desk: Desk,
    Path((id, word)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response> {
    let full: Full = desk.read(&format!("/v1/distributions/{id}")).await?;
    let thing = acted_on(&desk, &full, &word, Asked::read(PATH, query.as_deref()).text("of")).await?;
    act::sheet(&desk, &thing, act::find(&[ACTS, HOLDER].concat(), &word)?, query.as_deref()).await
}

/// The act.
pub async fn act(desk: Desk, Path((id, word)): Path<(String, String)>, form: Form) -> Result<Response> {
    let full: Full = desk.read(&format!("/v1/distributions/{id}")).await?;
    let thing = acted_on(&desk, &full, &word, form.text("of")).await?;
    act::carry_out(&desk, &form, &thing, act::find(&[ACTS, HOLDER].concat(), &word)?).await
}

/// The distribution, with the holder if the act is about one.
async fn acted_on(desk: &Desk, full: &Full, word: &str, of: &str) -> Result<Thing> {
    let part = match HOLDER.iter().any(|act| act.word == word) {
        true => holder(desk, full, of).await?,
        false => Vec::new(),
    };
    Ok(Thing { part, ..thing(full) })
}

/// Who is decided about: name, wallet and amount.
async fn holder(desk: &Desk, full: &Full, of: &str) -> Result<Vec<(&'static str, String)>> {
    let none = || Problem::new(Code::NotFound, "There is no such holder in this distribution.");
    let of = EntitlementId::from(of);
    if !of.is_sound() {
        return Err(none());
    }
    let path = format!("/v1/distributions/{}/entitlements?entitlement_id={of}", full.facts.id);
    let one = desk.read::<Listed<Entitlement>>(&path).await?.data.pop().ok_or_else(none)?;
    let name = match (one.holder.and_then(|holder| holder.display_name), one.investor_id) {
        (Some(name), _) => name,
        (None, Some(id)) => desk.read::<Investor>(&format!("/v1/investors/{id}")).await?.legal_name,
        (None, None) => "not known".to_owned(),
    };
    let mut part = vec![("Holder", name), ("Wallet", one.wallet_address.clone())];
    if one.payee_address != one.wallet_address {
        part.push(("Paid to", one.payee_address));
    }
    part.push(("Net amount", format!("{} {}", wording::long_digits(&one.net_amount), full.facts.currency)));
    Ok(part)
}

fn thing(full: &Full) -> Thing {
    Thing {
        nav: PATH,
        above: "Distributions",
        id: full.facts.id.clone(),
        at: format!("{PATH}/{}", full.facts.id),
        name: format!("{} of {}", wording::word(&full.facts.kind), full.facts.offering_name),
        status: full.facts.status.clone(),
        ..Thing::default()
    }
}

fn record_of(desk: &Desk, full: &Full, pages: Option<&Pages>) -> Record {
    let facts = &full.facts;
    let gross = facts.total_amount.as_deref().unwrap_or(&facts.totals.gross);
    let holders = facts.holder_count.map(|count| format!(" to {}", wording::count(count, "holder", "holders")));
    let problem = full.problem.as_ref();
    let problem = problem.map(|found| format!("{}: {}", found.code, found.detail.clone().unwrap_or_default()));
    let note = problem.or_else(|| pages?.note());
    let hash = |text: &Option<String>| text.as_deref().map_or_else(|| cell("not yet"), short);
    let approval = full.approval.as_ref();
    let decided =
        approval.map_or_else(|| cell("none"), |a| state(&a.status).to(format!("/console/approvals/{}", a.id)));
    let rows = vec![
        fact("Offering", cell(&facts.offering_name).to(format!("/console/offerings/{}", facts.offering_id))),
        fact("Record date", cell(wording::moment(facts.record_date))),
        fact("Payment date", cell(wording::moment(facts.payment_date))),
        fact("Method", cell(wording::word(&full.method))),
        fact("Paid from", full.funding_wallet.as_deref().map_or_else(|| cell("the issuer's wallet"), short)),
        fact("Approval", decided),
        fact("Snapshot", hash(&full.snapshot_sha256)),
        fact("List", hash(&full.entitlements_root)),
        fact("Note", cell(full.memo.clone().unwrap_or_else(|| "none".to_owned()))),
    ];
    let mut links = vec![("Offering", format!("/console/offerings/{}", facts.offering_id))];
    if desk.person.is_staff() {
        links.push(("Report as CSV", format!("{PATH}/{}/report", facts.id)));
    }
    // Once money moves, its pages are what a person comes for.
    let tables_first = pages.is_some_and(|pages| !pages.is_empty() || pages.needing > 0);
    if tables_first {
        links.insert(0, ("What can be done", "#acts".to_owned()));
    }
    Record {
        above: ("Distributions", PATH.to_owned()),
        name: format!("{} {}", wording::digits(gross), facts.currency),
        rest: format!("{}{}", facts.offering_name, holders.unwrap_or_default()),
        state: Some(state(&facts.status)),
        sub: format!("{}, paid in {}.", wording::word(&facts.kind), full.payout_token.symbol),
        steps: steps(&facts.status),
        note,
        links,
        facts: vec![Card { title: "Facts", right: wording::short_id(&facts.id), rows }],
        offers: act::offers(desk, ACTS, &thing(full)),
        tables_first,
        ..Record::default()
    }
}

/// The stages of its life.
fn steps(status: &str) -> Vec<(String, &'static str)> {
    let names = ["Draft", "Balances read", "Calculated", "Approved", "Executing", "Completed"];
    let at = match status {
        "draft" => 0,
        "snapshotting" | "snapshotted" => 1,
        "calculated" | "awaiting_approval" => 2,
        "approved" => 3,
        "executing" | "partially_completed" => 4,
        "completed" => 6,
        _ => return Vec::new(),
    };
    let look = |index: usize| {
        if index < at {
            "ok"
        } else if index == at {
            "now"
        } else {
            "next"
        }
    };
    names.iter().enumerate().map(|(index, name)| ((*name).to_owned(), look(index))).collect()
}

fn entitled(desk: &Desk, asked: &Asked, full: &Full, holders: &Listed<Entitlement>) -> Section {
    let acts = desk.is_one_of(OPERATORS);
    let row = |one: &Entitlement| {
        let name = one.holder.as_ref().and_then(|holder| holder.display_name.clone());
        let country = one.holder.as_ref().and_then(|holder| holder.country.clone()).unwrap_or_default();
        let name = name.unwrap_or_else(|| "Holder".to_owned());
        let named = cell(name).two(country);
        let named = match &one.investor_id {
            Some(id) if desk.person.is_staff() => named.to(format!("/console/investors/{id}")),
            _ => named,
        };
        let link = |word: &str, name: &str| cell(name).to(format!("{PATH}/{}/act/{word}?of={}", full.facts.id, one.id));
        let (first, second) = match one.status.as_str() {
            _ if !acts => (cell(""), cell("")),
            "calculated" => (link("hold", "Hold…"), link("exclude", "Exclude…")),
            "held" => (link("release", "Release…"), link("exclude", "Exclude…")),
            "failed" => (link("pay-again", "Pay again…"), cell("")),
            _ => (cell(""), cell("")),
        };
        Row {
            id: one.id.clone(),
            cells: vec![
                named,
                short(&one.wallet_address),
                amount(&one.balance_at_record),
                amount(&one.gross_amount),
                amount(&one.withholding_amount).two(format!("{} %", one.withholding_rate)),
                amount(&one.net_amount),
                state(&one.status).two(one.hold_reason.as_deref().map(wording::word).unwrap_or_default()),
                first,
                second,
            ],
        }
    };
    let rows: Vec<Row> = holders.data.iter().map(row).collect();
    let full_page = rows.len() == 20;
    Section {
        id: "holders",
        title: "Holders",
        small: wording::count(holders.pagination.total.unwrap_or_default(), "line", "lines"),
        table: Table {
            columns: &[
                ("Holder", ""),
                ("Wallet", "hide-s"),
                ("At record", "num hide-s"),
                ("Gross", "num hide-s"),
                ("Withheld", "num hide-s"),
                ("Net", "num"),
                ("Status", ""),
                ("", ""),
                ("", "hide-s"),
            ],
            rows,
            empty: ("No holder is here.", "Holders stand here when the amounts are calculated."),
        },
        pages: asked.around_if(full_page),
        ..Section::default()
    }
}
