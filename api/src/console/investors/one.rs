//! One investor: identity, wallets, what was decided; and the papers, for a reviewer who has just confirmed who they are.

use axum::extract::{Path, RawQuery};
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::id::OfferingId;
use serde::Deserialize;
use serde_json::Value;

use super::acts::ACTS;
use super::{Facts, PATH};
use crate::console::act::{self, OPERATORS, Offer, Thing};
use crate::console::desk::Desk;
use crate::console::form::Form;
use crate::console::list::Asked;
use crate::console::names::Names;
use crate::console::record::{self, Facts as Card, Record, Section, fact};
use crate::console::table::{Cell, Row, Table, cell, short, state};
use crate::console::wording;
use crate::http::error::Result;

/// The parameter with the version that a page showed.
const VERSION: &str = "version";

/// The record of an investor.
#[derive(Deserialize)]
struct Full {
    #[serde(flatten)]
    facts: Facts,
    email: Option<String>,
    tax_residency: Option<String>,
    annual_income: Option<String>,
    net_worth: Option<String>,
    tax: Tax,
    wallets: Vec<Wallet>,
    decisions: Vec<Decision>,
    freeze_proposals: Vec<Proposal>,
}

#[derive(Deserialize)]
struct Tax {
    status: String,
    withholding_rate: String,
}

#[derive(Deserialize)]
struct Wallet {
    id: String,
    address: Option<String>,
    chain: String,
    label: Option<String>,
    verified: bool,
    default: bool,
    retired_at: Option<DateTime<Utc>>,
    frozen_on: Vec<String>,
}

#[derive(Deserialize)]
struct Decision {
    id: String,
    created_at: DateTime<Utc>,
    decided_by: String,
    decision: String,
    to: String,
    reason_code: Option<String>,
}

#[derive(Deserialize)]
struct Proposal {
    address: String,
    offering_id: OfferingId,
}

#[derive(Deserialize)]
struct Review {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    id: String,
    level: String,
    created_at: DateTime<Utc>,
    data: Option<serde_json::Map<String, Value>>,
}

/// The page.
pub async fn page(desk: Desk, Path(id): Path<String>) -> Result<Response> {
    let full: Full = desk.read(&format!("/v1/investors/{id}")).await?;
    let record = record_of(&desk, &full).await?;
    record::page(&desk, PATH, record).await
}

/// The same with the papers. The API asks for a fresh proof of identity, and notes the look.
pub async fn review(desk: Desk, Path(id): Path<String>) -> Result<Response> {
    // The version first: papers that come in between are then shown, and a decision on older ones is refused.
    let full: Full = desk.read(&format!("/v1/investors/{id}")).await?;
    let review: Review = desk.read(&format!("/v1/investors/{id}/kyc")).await?;
    let mut record = record_of(&desk, &full).await?;
    record.forms.clear();
    for case in review.cases.iter().rev() {
        let mut rows = vec![fact("Case", short(&case.id)), fact("Level", cell(wording::word(&case.level)))];
        for (name, value) in case.data.iter().flatten().filter(|(_, value)| !value.is_null()) {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            rows.push(fact(&wording::word(name), cell(text)));
        }
        let right = format!("handed in {}", wording::moment(case.created_at));
        record.facts.insert(0, Card { title: "Papers", right, rows });
    }
    if review.cases.is_empty() {
        record.note = Some("No papers were handed in.".to_owned());
    }
    record::page(&desk, PATH, record).await
}

/// The page before an act.
pub async fn sheet(
    desk: Desk,
    Path((id, word)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response> {
    let full: Full = desk.read(&format!("/v1/investors/{id}")).await?;
    // Of the page on which the person decided to act: what came after it was not read.
    let seen = Asked::read(PATH, query.as_deref()).text(VERSION).parse().unwrap_or(full.facts.version);
    let thing = Thing { version: Some(seen), ..thing(&full) };
    act::sheet(&desk, &thing, act::find(ACTS, &word)?, query.as_deref()).await
}

/// The act.
pub async fn act(desk: Desk, Path((id, word)): Path<(String, String)>, form: Form) -> Result<Response> {
    let full: Full = desk.read(&format!("/v1/investors/{id}")).await?;
    act::carry_out(&desk, &form, &thing(&full), act::find(ACTS, &word)?).await
}

fn offers(desk: &Desk, full: &Full) -> Vec<Offer> {
    let mut offers = act::offers(desk, ACTS, &thing(full));
    for href in offers.iter_mut().filter_map(|offer| offer.href.as_mut()) {
        *href = format!("{href}?{VERSION}={}", full.facts.version);
    }
    offers
}

fn thing(full: &Full) -> Thing {
    Thing {
        nav: PATH,
        above: "Investors",
        id: full.facts.id.clone(),
        at: format!("{PATH}/{}", full.facts.id),
        name: full.facts.legal_name.clone(),
        status: full.facts.kyc.status.to_string(),
        allowed: full.facts.kyc.status.moves().iter().map(ToString::to_string).collect(),
        version: Some(full.facts.version),
        ..Thing::default()
    }
}

async fn record_of(desk: &Desk, full: &Full) -> Result<Record> {
    let names = Names::of(desk, full.decisions.iter().map(|one| one.decided_by.as_str())).await?;
    let facts = &full.facts;
    let when = |at: Option<DateTime<Utc>>| cell(at.map_or_else(|| "never".to_owned(), wording::moment));
    let words = |text: &Option<String>| cell(text.clone().unwrap_or_else(|| "none".to_owned()));
    let identity = vec![
        fact("Status", state(facts.kyc.status.as_str())),
        fact("Level", cell(facts.kyc.level.as_deref().map_or_else(|| "none".to_owned(), wording::word))),
        fact("Reason", words(&facts.kyc.reason_code)),
        fact("Handed in", when(facts.kyc.submitted_at)),
        fact("Decided", when(facts.kyc.decided_at)),
        fact("Ends", when(facts.kyc.expires_at)),
        fact(
            "Sanctions",
            state(&facts.sanctions.status).two(format!("screened {}", when(facts.sanctions.last_screened_at).text)),
        ),
        fact(
            "Accreditation",
            state(&facts.accreditation.status).two(facts.accreditation.basis.clone().unwrap_or_default()),
        ),
        fact("Accredited until", when(facts.accreditation.expires_at)),
    ];
    let person = vec![
        fact("E-mail address", words(&full.email)),
        fact("Country", cell(&facts.country)),
        fact("Tax residence", words(&full.tax_residency)),
        fact("Withholding", cell(format!("{} %, {}", full.tax.withholding_rate, full.tax.status.replace('_', " ")))),
        fact("Annual income", words(&full.annual_income)),
        fact("Net worth", words(&full.net_worth)),
        fact("Id", short(&facts.id)),
    ];
    let card = |title, rows| Card { title, right: String::new(), rows };
    let mut forms = Vec::new();
    if desk.is_one_of(OPERATORS) {
        forms.push(("Show the papers", format!("{PATH}/{}/review", facts.id)));
    }
    Ok(Record {
        above: ("Investors", PATH.to_owned()),
        name: facts.legal_name.clone(),
        rest: format!("from {}", facts.country),
        state: Some(state(facts.kyc.status.as_str())),
        sub: format!("{} · since {}", wording::word(&facts.kind), wording::moment(facts.created_at)),
        forms,
        is_quiet: true,
        facts: vec![card("Identity", identity), card("Person", person)],
        offers: offers(desk, full),
        sections: vec![proposals(full), wallets(full), decisions(full, &names)].into_iter().flatten().collect(),
        ..Record::default()
    })
}

fn proposals(full: &Full) -> Option<Section> {
    let row = |one: &Proposal| Row {
        id: format!("freeze-{}-{}", one.offering_id, one.address),
        cells: vec![
            short(&one.address),
            short(&one.offering_id).to(format!("/console/offerings/{}", one.offering_id)),
            cell("Freeze…").to(format!("/console/offerings/{}/act/freeze?address={}", one.offering_id, one.address)),
        ],
    };
    let rows: Vec<Row> = full.freeze_proposals.iter().map(row).collect();
    (!rows.is_empty()).then(|| Section {
        id: "proposals",
        title: "Freezes to decide",
        small: "proposed because of the suspension".to_owned(),
        table: Table { columns: &[("Wallet", ""), ("Offering", ""), ("", "")], rows, empty: ("", "") },
        pages: (None, None),
        ..Section::default()
    })
}

fn wallets(full: &Full) -> Option<Section> {
    let row = |wallet: &Wallet| {
        let status = match () {
            () if wallet.retired_at.is_some() => cell("Retired").toned("none", "none"),
            () if !wallet.frozen_on.is_empty() => cell("Frozen").toned("failed", "lock"),
            () if wallet.verified => cell("Verified").toned("done", "done"),
            () => cell("Not verified").toned("none", "none"),
        };
        let address = wallet.address.as_deref().map_or_else(|| cell("erased"), short);
        let label = wallet.label.clone().unwrap_or_default();
        Row {
            id: wallet.id.clone(),
            cells: vec![
                address.two(label),
                cell(&wallet.chain),
                status.two(if wallet.default { "default" } else { "" }),
            ],
        }
    };
    Some(Section {
        id: "wallets",
        title: "Wallets",
        small: full.wallets.len().to_string(),
        table: Table {
            columns: &[("Wallet", ""), ("Chain", ""), ("Status", "")],
            rows: full.wallets.iter().map(row).collect(),
            empty: ("No wallet.", "Nothing can be minted to this investor before a wallet is verified."),
        },
        pages: (None, None),
        ..Section::default()
    })
}

fn decisions(full: &Full, names: &Names) -> Option<Section> {
    let row = |one: &Decision| Row {
        id: one.id.clone(),
        cells: vec![
            cell(wording::moment(one.created_at)),
            Cell { state: state(&one.to).state, ..cell(wording::word(&one.decision)) }
                .two(one.reason_code.clone().unwrap_or_default()),
            names.cell(&one.decided_by),
        ],
    };
    Some(Section {
        id: "decisions",
        title: "Decisions",
        small: "newest last".to_owned(),
        table: Table {
            columns: &[("When", ""), ("Decision", ""), ("By", "")],
            rows: full.decisions.iter().map(row).collect(),
            empty: ("Nothing was decided yet.", "A decision stands here with its reason, and cannot be removed."),
        },
        pages: (None, None),
        ..Section::default()
    })
}
