//! What an offering looks like: to everybody, to its issuer, to the platform's people. The specification's names stand first.

use muniment_domain::Result;
use muniment_domain::db::Tx;
use muniment_domain::exemption::CoolingOff;
use muniment_domain::money::Money;
use muniment_domain::offering::document::{self, Document};
use muniment_domain::offering::{Offering, Shown, Status};
use muniment_domain::operation::{self, Filter, Kind, Operation};
use muniment_domain::token::{self, Token};
use serde::Serialize;
use serde_json::{Value, json};

use super::Audience;
use crate::app::App;
use crate::instant;
use crate::operation::predicted_address;

/// The standard that every token of the platform follows.
const STANDARD: &str = "ERC-7518";

/// An amount of cents as people read it.
fn amount(minor: i64) -> String {
    Money::from_minor(minor).to_string()
}

/// An item of the list.
#[derive(Serialize)]
pub struct Item<'a> {
    id: &'a str,
    name: &'a str,
    status: Status,
    template: &'a str,
    minimum_investment: String,
    currency: &'a str,
    token_symbol: &'a str,
    target_amount: String,
    raised_amount: String,
    hard_cap: String,
    opens_at: Option<String>,
    closes_at: Option<String>,
    issuer_name: &'a str,
    cover_image_url: Option<&'a str>,
    visibility: &'a str,
    created_at: String,
}

/// An offering as the list shows it.
pub fn item(shown: &Shown) -> Item<'_> {
    let o = &shown.offering;
    Item {
        id: &o.id,
        name: &o.name,
        status: o.status,
        template: &o.template,
        minimum_investment: amount(o.minimum_investment),
        currency: &o.currency,
        token_symbol: &o.token_symbol,
        target_amount: amount(o.target_amount),
        raised_amount: amount(shown.raised_amount),
        hard_cap: amount(o.hard_cap),
        opens_at: instant::optional(o.opens_at),
        closes_at: instant::optional(o.closes_at),
        issuer_name: &shown.issuer_name,
        cover_image_url: o.cover_image_url.as_deref(),
        visibility: &o.visibility,
        created_at: instant::text(o.created_at),
    }
}

/// The head of the detail, whose order is the specification's.
#[derive(Serialize)]
struct Head<'a> {
    id: &'a str,
    name: &'a str,
    #[serde(rename = "tokenDeployment")]
    token_deployment: Value,
    blockchain: Value,
    status: Status,
    #[serde(flatten)]
    rest: Value,
}

/// The whole of it for an audience, with its tag. What is shown depends on the deployment and on the money too.
pub async fn full(app: &App, tx: &mut Tx, shown: &Shown, audience: Audience) -> Result<(String, Value)> {
    let o = &shown.offering;
    let filter = Filter { kinds: vec![Kind::DeployToken], offering_id: Some(o.id.clone()), ..Filter::default() };
    let deployment = operation::list(tx, &filter, 1, 0).await?.pop();
    let token = token::find(tx, &o.id).await?;
    let documents = document::list(tx, &o.id).await?;
    let rest = rest(app, shown, &documents, audience);
    let head = Head {
        id: &o.id,
        name: &o.name,
        token_deployment: token_deployment(o, deployment.as_ref()),
        blockchain: blockchain(app, o, token.as_ref()),
        status: o.status,
        rest,
    };
    let deployed = deployment.as_ref().map_or(0, |op| op.version);
    let tag = format!("\"v{}-{deployed}-{}-{}\"", o.version, documents.len(), o.committed_total + shown.raised_amount);
    let body = serde_json::to_value(head).map_err(|e| muniment_domain::Error::Unreadable {
        what: "offering",
        id: o.id.clone(),
        why: e.to_string(),
    })?;
    Ok((tag, body))
}

fn rest(app: &App, shown: &Shown, documents: &[Document], audience: Audience) -> Value {
    let o = &shown.offering;
    let mut rest = terms(app, o);
    rest["issuer"] = json!({ "id": o.issuer_id, "name": shown.issuer_name });
    rest["committed_total"] = json!(amount(o.committed_total));
    rest["raised_amount"] = json!(amount(shown.raised_amount));
    rest["investor_count"] = json!(shown.investor_count);
    rest["documents"] = documents.iter().map(super::document::item).collect();
    for (name, at) in [("published_at", o.published_at), ("closed_at", o.closed_at)] {
        rest[name] = json!(instant::optional(at));
    }
    rest["terms_version"] = json!(o.terms_version);
    rest["terms_sha256"] = json!(o.terms_sha256);
    rest["version"] = json!(o.version);
    rest["created_at"] = json!(instant::text(o.created_at));
    rest["updated_at"] = json!(instant::text(o.updated_at));
    if audience != Audience::Public {
        rest["status_reason"] = json!(o.status_reason);
        rest["submitted_at"] = json!(instant::optional(o.submitted_at));
        rest["allowed_transitions"] = json!(o.status.moves());
    }
    if audience == Audience::Staff {
        rest["submitted_by"] = json!(o.submitted_by);
        rest["approved_by"] = json!(o.approved_by);
    }
    rest
}

/// What the issuer wrote, in the words in which it is written.
fn terms(app: &App, o: &Offering) -> Value {
    let list = |text: &str| text.split_ascii_whitespace().map(str::to_owned).collect::<Vec<_>>();
    json!({
        "template": o.template, "description": o.description, "cover_image_url": o.cover_image_url, "currency": o.currency,
        "minimum_investment": amount(o.minimum_investment), "maximum_investment": o.maximum_investment.map(amount),
        "target_amount": amount(o.target_amount), "soft_cap": o.soft_cap.map(amount), "hard_cap": amount(o.hard_cap),
        "unit_price": amount(o.unit_price), "token_symbol": o.token_symbol, "token_decimals": o.token_decimals,
        "partition": o.partition_id.to_string(), "network": app.chain(o.chain_id).map(|chain| chain.key.clone()),
        "visibility": o.visibility, "opens_at": instant::optional(o.opens_at), "closes_at": instant::optional(o.closes_at),
        "auto_open": o.auto_open, "exemption": o.exemption, "cooling_off": cooling_off(o), "lockup": lockup(o),
        "lockup_release_at": instant::optional(o.lockup_release_at), "kyc_requirement": o.kyc_requirement,
        "issuance_policy": o.issuance_policy, "accreditation_required": o.accreditation_required,
        "allowed_countries": list(&o.allowed_countries), "blocked_countries": list(&o.blocked_countries),
        "holder_cap": o.holder_cap, "one_subscription_per_investor": o.one_subscription_per_investor,
        "payment_methods": list(&o.payment_methods),
    })
}

fn cooling_off(o: &Offering) -> Value {
    let (mode, hours) = match o.exemption.profile().cooling_off {
        CoolingOff::BeforeClose(hours) => ("before_close", hours),
        CoolingOff::After(hours) | CoolingOff::AfterWithin(hours) => {
            ("after_commitment", o.cooling_off_hours.unwrap_or(hours).max(hours))
        }
    };
    json!({ "mode": mode, "hours": hours })
}

fn lockup(o: &Offering) -> Value {
    let days = o.lockup_days.filter(|days| *days > 0);
    let enabled = days.is_some() || o.lockup_release_at.is_some();
    let rule = enabled.then_some(if days.is_some() { "after_close" } else { "fixed_date" });
    json!({ "enabled": enabled, "rule": rule, "days": days })
}

fn token_deployment(o: &Offering, deployment: Option<&Operation>) -> Value {
    json!({
        "status": deployment_status(&o.token_status, deployment),
        "contractAddress": o.token_address.map(|address| address.0.to_checksum(None)), "chainId": o.chain_id,
        "txHash": o.token_tx_hash.map(|hash| hash.to_string()), "predicted_address": deployment.and_then(predicted_address),
    })
}

fn blockchain(app: &App, o: &Offering, token: Option<&Token>) -> Value {
    let address = o.token_address.map(|address| address.0.to_checksum(None));
    let explorer = app.chain(o.chain_id).and_then(|chain| chain.explorer_url.clone());
    let explorer = explorer.zip(address.as_ref()).map(|(url, address)| format!("{url}/address/{address}"));
    json!({
        "network": app.network(o.chain_id), "chain_id": o.chain_id, "token_address": address, "standard": STANDARD,
        "explorer_url": explorer, "token_name": token.map(|token| token.name.clone()),
        "supply_units": token.map(|token| token.supply_units.to_string()), "holder_cap": token.and_then(|token| token.holder_cap),
        "partition_count": token.and_then(|token| token.partitions.0.as_array().map(Vec::len)),
    })
}

// Only `deployed` is stored, by the commit that confirms it; how far a deployment is, its operation knows.
fn deployment_status<'a>(stored: &'a str, deployment: Option<&Operation>) -> &'a str {
    use operation::Status as Op;
    match (stored, deployment) {
        ("not_deployed", Some(op)) => match op.status {
            Op::Pending => "pending",
            Op::Submitted => "deploying",
            Op::Failed | Op::DeadLetter if op.resolution.is_none() => "failed",
            _ => stored,
        },
        _ => stored,
    }
}
