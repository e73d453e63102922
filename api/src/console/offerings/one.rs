//! One offering: its life, its subscriptions with the gates that are missing, its token, its holders, and the acts of compliance.

use axum::extract::{Path, RawQuery};
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::id::{InvestorId, OperationId, SubscriptionId};
use serde::Deserialize;

use super::acts::{ACTS, DEPLOY};
use super::{PATH, compliance};
use crate::console::act::{self, Act, OPERATORS, Thing};
use crate::console::desk::Desk;
use crate::console::form::Form;
use crate::console::list::{Asked, Listed};
use crate::console::nav::STAFF;
use crate::console::record::{self, Facts, Record, Section, fact};
use crate::console::table::{Cell, Row, Table, amount, cell, short, state};
use crate::console::wording;
use crate::http::error::Result;

/// The record of an offering.
#[derive(Deserialize)]
pub struct Full {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its status.
    pub status: String,
    /// The symbol of its token.
    pub token_symbol: String,
    /// Its currency.
    pub currency: String,
    status_reason: Option<String>,
    issuer: Issuer,
    exemption: String,
    unit_price: String,
    target_amount: String,
    hard_cap: String,
    soft_cap: Option<String>,
    raised_amount: String,
    committed_total: String,
    investor_count: i64,
    closes_at: Option<DateTime<Utc>>,
    terms_version: i64,
    terms_sha256: Option<String>,
    #[serde(default)]
    allowed_transitions: Vec<String>,
    blockchain: Chain,
    #[serde(rename = "tokenDeployment")]
    deployment: Deployment,
}

#[derive(Deserialize)]
struct Issuer {
    name: String,
}

#[derive(Deserialize)]
struct Chain {
    network: String,
    chain_id: i64,
    token_address: Option<String>,
    supply_units: Option<String>,
}

#[derive(Deserialize)]
struct Deployment {
    status: String,
    #[serde(rename = "txHash")]
    tx_hash: Option<String>,
    predicted_address: Option<String>,
}

#[derive(Deserialize)]
struct Subscription {
    id: String,
    investor_id: InvestorId,
    status: String,
    status_reason: Option<String>,
    amount: String,
    currency: String,
    wallet_address: Option<String>,
    gates: Vec<Gate>,
    created_at: DateTime<Utc>,
    mint: Mint,
}

#[derive(Deserialize)]
struct Mint {
    operation_id: Option<OperationId>,
}

#[derive(Deserialize)]
struct Gate {
    code: String,
    satisfied: bool,
}

#[derive(Deserialize)]
struct Holders {
    #[serde(flatten)]
    list: Listed<Holder>,
    as_of: Option<AsOf>,
}

#[derive(Deserialize)]
struct AsOf {
    block: i64,
}

#[derive(Deserialize)]
struct Holder {
    wallet_address: String,
    display_name: Option<String>,
    investor_id: Option<InvestorId>,
    country: Option<String>,
    partition: String,
    quantity: String,
    locked_quantity: String,
    percentage: String,
    frozen: bool,
}

/// The page.
pub async fn page(desk: Desk, Path(id): Path<String>, RawQuery(query): RawQuery) -> Result<Response> {
    let full: Full = desk.read(&format!("/v1/offerings/{id}")).await?;
    let asked = Asked::at(format!("{PATH}/{}", full.id), query.as_deref());
    let after = asked.text("after");
    let after = if SubscriptionId::from(after).is_sound() { format!("&after={after}") } else { String::new() };
    let listed: Listed<Subscription> = desk.read(&format!("/v1/offerings/{id}/subscriptions?limit=20{after}")).await?;
    let holders: Holders = desk.read(&format!("/v1/offerings/{id}/holders?limit=20&page={}", asked.page())).await?;
    let mut record = record_of(&desk, &full);
    record.sections = vec![subscriptions(&asked, &listed, &desk), cap_table(&asked, &holders, &full, &desk)];
    record::page(&desk, PATH, record).await
}

/// The page before an act.
pub async fn sheet(
    desk: Desk,
    Path((id, word)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response> {
    let full: Full = desk.read(&format!("/v1/offerings/{id}")).await?;
    act::sheet(&desk, &thing(&full), act::find(&all(), &word)?, query.as_deref()).await
}

/// The act.
pub async fn act(desk: Desk, Path((id, word)): Path<(String, String)>, form: Form) -> Result<Response> {
    let full: Full = desk.read(&format!("/v1/offerings/{id}")).await?;
    act::carry_out(&desk, &form, &thing(&full), act::find(&all(), &word)?).await
}

fn all() -> Vec<Act> {
    [ACTS, &[DEPLOY], compliance::ACTS].concat()
}

/// The offering as the thing that is acted on.
pub fn thing(full: &Full) -> Thing {
    Thing {
        nav: PATH,
        above: "Offerings",
        id: full.id.clone(),
        at: format!("{PATH}/{}", full.id),
        name: full.name.clone(),
        status: full.status.clone(),
        allowed: full.allowed_transitions.clone(),
        ..Thing::default()
    }
}

fn record_of(desk: &Desk, full: &Full) -> Record {
    let money = |text: &str| cell(format!("{} {}", wording::digits(text), full.currency));
    let is_deployed = full.blockchain.token_address.is_some();
    let terms = vec![
        fact("Raised", money(&full.raised_amount)),
        fact("Committed", money(&full.committed_total)),
        fact("Target", money(&full.target_amount)),
        fact("Hard cap", money(&full.hard_cap)),
        fact("Soft cap", full.soft_cap.as_deref().map_or_else(|| cell("none"), money)),
        fact("Unit price", money(&full.unit_price)),
        fact("Investors", cell(wording::number(full.investor_count))),
        fact("Exemption", cell(&full.exemption)),
        fact("Closes", cell(full.closes_at.map_or_else(|| "no date".to_owned(), wording::moment))),
        fact("Terms", terms(full)),
    ];
    let token = vec![
        fact("Deployment", state(&full.deployment.status)),
        fact("Address", address(full)),
        fact("Chain", cell(format!("{} {}", full.blockchain.network, full.blockchain.chain_id))),
        fact(
            "Supply in base units",
            cell(full.blockchain.supply_units.as_deref().map_or_else(|| "none".to_owned(), wording::long_digits)),
        ),
        fact("Deployed by", full.deployment.tx_hash.as_deref().map_or_else(|| cell("nothing yet"), short)),
    ];
    let thing = thing(full);
    let mut acts = ACTS.to_vec();
    if !is_deployed {
        acts.push(DEPLOY);
    } else if desk.person.is_staff() {
        acts.extend(compliance::ACTS);
    }
    let mut links = Vec::new();
    if desk.is_one_of(STAFF) && is_deployed {
        links.push(("Mint…", format!("{}/mint", thing.at)));
    }
    if desk.is_one_of(STAFF) {
        links.push(("Operations", format!("/console/operations?offering_id={}", full.id)));
        links.push(("Distributions", format!("/console/distributions?offering_id={}", full.id)));
    }
    let card = |title, rows| Facts { title, right: String::new(), rows };
    Record {
        above: ("Offerings", PATH.to_owned()),
        name: full.name.clone(),
        rest: format!("{} of {}", full.token_symbol, full.issuer.name),
        state: Some(state(&full.status)),
        sub: full.status_reason.clone().unwrap_or_default(),
        links,
        facts: vec![card("Terms", terms), card("Token", token)],
        offers: act::offers(desk, &acts, &thing),
        ..Record::default()
    }
}

fn terms(full: &Full) -> Cell {
    let hash = full.terms_sha256.clone().unwrap_or_else(|| "not fixed yet".to_owned());
    cell(format!("version {}", full.terms_version)).two(hash)
}

fn address(full: &Full) -> Cell {
    match (&full.blockchain.token_address, &full.deployment.predicted_address) {
        (Some(address), _) => Cell { class: "mono", ..cell(address) },
        (None, Some(predicted)) => Cell { class: "mono", ..cell(predicted) }.two("where it will be"),
        (None, None) => cell("not known yet"),
    }
}

fn subscriptions(asked: &Asked, listed: &Listed<Subscription>, desk: &Desk) -> Section {
    // An issuer reads neither investors nor operations.
    let is_staff = desk.is_one_of(STAFF);
    let row = |one: &Subscription| {
        let missing: Vec<_> = one.gates.iter().filter(|gate| !gate.satisfied).map(|gate| gate.code.as_str()).collect();
        let gates = match (one.status.as_str(), missing.is_empty()) {
            ("minted" | "cancelled" | "rejected" | "expired" | "refund_pending" | "refunded", _) => {
                cell(one.status_reason.clone().unwrap_or_default())
            }
            (_, true) => cell("All passed").toned("done", "done"),
            (_, false) => cell(format!("{} missing", missing.len())).two(missing.join(", ")),
        };
        let status = state(&one.status);
        let status = match &one.mint.operation_id {
            Some(id) if is_staff => status.to(format!("/console/operations/{id}")),
            _ => status,
        };
        let investor = short(&one.investor_id);
        Row {
            id: one.id.clone(),
            cells: vec![
                short(&one.id).two(wording::moment(one.created_at)),
                if is_staff { investor.to(format!("/console/investors/{}", one.investor_id)) } else { investor },
                amount(&one.amount).two(one.currency.clone()),
                status,
                gates,
                one.wallet_address.as_deref().map_or_else(|| cell("none"), short),
            ],
        }
    };
    Section {
        id: "subscriptions",
        title: "Subscriptions",
        small: "newest first, with the gates that are missing".to_owned(),
        table: Table {
            columns: &[
                ("Subscription", ""),
                ("Investor", "hide-s"),
                ("Amount", "num"),
                ("Status", ""),
                ("Gates", ""),
                ("Wallet", "hide-s"),
            ],
            rows: listed.data.iter().map(row).collect(),
            empty: ("Nobody has subscribed.", "Subscriptions stand here with what they still need."),
        },
        pages: (None, listed.pagination.next_after.as_ref().map(|after| asked.with("after", after))),
        ..Section::default()
    }
}

fn cap_table(asked: &Asked, holders: &Holders, full: &Full, desk: &Desk) -> Section {
    let (acts, is_staff) = (desk.is_one_of(OPERATORS), desk.is_one_of(STAFF));
    let row = |one: &Holder| {
        let name = one.display_name.clone().unwrap_or_else(|| "Nobody we know".to_owned());
        let named = cell(name).two(one.country.clone().unwrap_or_default());
        let named = match &one.investor_id {
            Some(id) if is_staff => named.to(format!("/console/investors/{id}")),
            _ => named,
        };
        let verb = if one.frozen { "unfreeze" } else { "freeze" };
        let status = if one.frozen { cell("Frozen").toned("failed", "lock") } else { cell("") };
        let act = cell(if one.frozen { "Unfreeze…" } else { "Freeze…" })
            .to(format!("{PATH}/{}/act/{verb}?address={}", full.id, one.wallet_address));
        Row {
            id: format!("{}-{}", one.wallet_address, one.partition),
            cells: vec![
                named,
                short(&one.wallet_address),
                cell(&one.partition),
                amount(&one.quantity),
                amount(&one.locked_quantity),
                cell(format!("{} %", one.percentage)),
                status,
                if acts { act } else { cell("") },
            ],
        }
    };
    let rows: Vec<Row> = holders.list.data.iter().map(row).collect();
    let total = holders.list.pagination.total.unwrap_or_default();
    let as_of = holders.as_of.as_ref().map(|at| format!(", as of block {}", wording::number(at.block)));
    let full_page = rows.len() == 20;
    Section {
        id: "holders",
        title: "Cap table",
        small: format!("{}{}", wording::count(total, "line", "lines"), as_of.unwrap_or_default()),
        table: Table {
            columns: &[
                ("Holder", ""),
                ("Wallet", ""),
                ("Partition", "num hide-s"),
                ("Units", "num"),
                ("Locked", "num hide-s"),
                ("Share", "num hide-s"),
                ("Status", ""),
                ("", ""),
            ],
            rows,
            empty: ("Nobody holds units.", "Holders stand here when a mint is final."),
        },
        pages: asked.around_if(full_page),
        ..Section::default()
    }
}
