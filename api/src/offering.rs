//! `GET /v1/offerings/{id}`: an offering and its contract metadata, in the specification's own words.

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use muniment_domain::db::Tx;
use muniment_domain::money::Money;
use muniment_domain::offering::{self, Offering, Status};
use muniment_domain::operation::{self, Filter, Kind, Operation};
use muniment_domain::token::{self, Token};
use muniment_domain::{Code, Error, id};
use serde::Serialize;

use crate::app::App;
use crate::error::Result;
use crate::instant;
use crate::operation::predicted_address;
use crate::principal::Principal;

/// The standard that every token of the platform follows.
const STANDARD: &str = "ERC-7518";

/// One offering. Everybody sees what is public; the platform's staff see all.
pub async fn detail(
    State(app): State<App>,
    Path(id): Path<String>,
    principal: Option<Extension<Principal>>,
    headers: HeaderMap,
) -> Result<Response> {
    let mut tx = app.db.read().await?;
    let offering = find(&mut tx, &id).await?;
    let staff = principal.is_some_and(|Extension(principal)| principal.is_staff());
    if !staff && !is_public(offering.status) {
        return Err(Error::refused(Code::NotFound, format!("There is no offering {id}.")).into());
    }
    let deployment = newest_deployment(&mut tx, &id).await?;
    let token = token::find(&mut tx, &id).await?;
    // What is shown depends on the operation too, so its version is part of the tag.
    let tag = format!("\"v{}-{}\"", offering.version, deployment.as_ref().map_or(0, |op| op.version));
    let caching = if staff { "no-store" } else { "public, max-age=30" };
    let kept = [(header::ETAG, tag.clone()), (header::CACHE_CONTROL, caching.to_owned())];
    if headers.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes()) {
        return Ok((StatusCode::NOT_MODIFIED, kept).into_response());
    }
    Ok((kept, Json(body(&app, &offering, deployment.as_ref(), token.as_ref()))).into_response())
}

/// The offering with this id, which may be malformed.
pub async fn find(tx: &mut Tx, id: &str) -> muniment_domain::Result<Offering> {
    id::check("off", id)?;
    offering::find(tx, id).await
}

async fn newest_deployment(tx: &mut Tx, offering_id: &str) -> Result<Option<Operation>> {
    let filter =
        Filter { kinds: vec![Kind::DeployToken], offering_id: Some(offering_id.to_owned()), ..Filter::default() };
    Ok(operation::list(tx, &filter, 1, 0).await?.pop())
}

const fn is_public(status: Status) -> bool {
    matches!(
        status,
        Status::Open | Status::Paused | Status::Closed | Status::Settled | Status::Failed | Status::Archived
    )
}

/// The specification's names stand first and in its order; what follows is ours.
#[derive(Serialize)]
struct Detail<'a> {
    id: &'a str,
    name: &'a str,
    #[serde(rename = "tokenDeployment")]
    token_deployment: TokenDeployment<'a>,
    blockchain: Blockchain,
    status: Status,
    template: &'a str,
    currency: &'a str,
    minimum_investment: String,
    hard_cap: String,
    unit_price: String,
    token_symbol: &'a str,
    token_decimals: i64,
    partition: String,
    lockup_release_at: Option<String>,
    version: i64,
    created_at: String,
    updated_at: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TokenDeployment<'a> {
    status: &'a str,
    contract_address: Option<String>,
    chain_id: i64,
    tx_hash: Option<String>,
    #[serde(rename = "predicted_address")]
    predicted_address: Option<String>,
}

#[derive(Serialize)]
struct Blockchain {
    network: String,
    chain_id: i64,
    token_address: Option<String>,
    standard: &'static str,
    token_name: Option<String>,
    supply_units: Option<String>,
    holder_cap: Option<i64>,
    partition_count: Option<usize>,
}

fn body<'a>(app: &App, o: &'a Offering, deployment: Option<&Operation>, token: Option<&Token>) -> Detail<'a> {
    let address = o.token_address.map(|address| address.0.to_checksum(None));
    let money = |minor| Money::from_minor(minor).to_string();
    Detail {
        id: &o.id,
        name: &o.name,
        token_deployment: TokenDeployment {
            status: deployment_status(&o.token_status, deployment),
            contract_address: address.clone(),
            chain_id: o.chain_id,
            tx_hash: o.token_tx_hash.map(|hash| hash.to_string()),
            predicted_address: deployment.and_then(predicted_address),
        },
        blockchain: Blockchain {
            network: app.network(o.chain_id),
            chain_id: o.chain_id,
            token_address: address,
            standard: STANDARD,
            token_name: token.map(|token| token.name.clone()),
            supply_units: token.map(|token| token.supply_units.to_string()),
            holder_cap: token.and_then(|token| token.holder_cap),
            partition_count: token.and_then(|token| token.partitions.0.as_array().map(Vec::len)),
        },
        status: o.status,
        template: &o.template,
        currency: &o.currency,
        minimum_investment: money(o.minimum_investment),
        hard_cap: money(o.hard_cap),
        unit_price: money(o.unit_price),
        token_symbol: &o.token_symbol,
        token_decimals: o.token_decimals,
        partition: o.partition_id.to_string(),
        lockup_release_at: instant::optional(o.lockup_release_at),
        version: o.version,
        created_at: instant::text(o.created_at),
        updated_at: instant::text(o.updated_at),
    }
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
