//! Facts of a token and its partitions, for everybody who sees the offering.

use axum::extract::{Path, State};
use axum::http::Uri;
use axum::{Extension, Json};
use muniment_activities::token::view as contract;
use muniment_domain::id::OfferingId;
use serde::Serialize;
use utoipa::ToSchema;

use super::{AsOf, Reading, see};
use crate::access::principal::Principal;
use crate::app::App;
use crate::code::Code;
use crate::field::address::Typed;
use crate::http::error::{Problem, Result};
use crate::http::pages::Parameters;

/// The facts of a token on the chain.
#[derive(Serialize, ToSchema)]
#[schema(as = Token)]
pub struct Facts {
    /// The id of the offering on the contract.
    #[serde(rename = "offeringId")]
    #[schema(example = "0x9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")]
    offering_id: String,
    /// The symbol of the token.
    #[serde(rename = "tokenSymbol")]
    #[schema(example = "SOLAR")]
    token_symbol: String,
    token_address: Typed,
    chain_id: i64,
    #[schema(example = "250000.00")]
    total_supply: String,
    /// The total supply in base units.
    #[schema(example = "25000000")]
    total_supply_base_units: String,
    caps: Caps,
    partitions: Vec<Partition>,
    /// Whether the token is paused, or all of its partitions are restricted.
    paused: bool,
    block: AsOf,
}

/// The maximum supply and the maximum number of holders of a token.
#[derive(Serialize, ToSchema)]
#[schema(as = TokenCaps)]
struct Caps {
    #[schema(example = "500000.00")]
    supply: String,
    #[schema(example = "50000000")]
    supply_base_units: String,
    holder_cap: Option<i64>,
}

/// A partition of a token with its own rules.
#[derive(Serialize, ToSchema)]
#[schema(as = TokenPartition)]
struct Partition {
    partition: String,
    #[schema(example = "250000.00")]
    supply: String,
    #[schema(example = "25000000")]
    supply_base_units: String,
    /// The maximum supply of the partition as decimal tokens.
    #[schema(example = "500000.00")]
    cap: String,
    /// The maximum supply of the partition in base units.
    #[schema(example = "50000000")]
    cap_base_units: String,
    #[serde(rename = "isRestricted")]
    is_restricted: bool,
    rule144: bool,
}

/// Read the facts of an offering's token from the chain.
///
/// For everybody who may see the offering.
#[utoipa::path(
    get,
    path = "/v1/offerings/{id}/token",
    responses((status = 200, body = Facts)),
    extensions(("x-codes" = json!(["invalid_parameter", "unknown_parameter", "invalid_state", "chain_unavailable", "chain_timeout"]))),
)]
pub async fn facts(
    State(app): State<App>,
    Path(id): Path<OfferingId>,
    principal: Option<Extension<Principal>>,
    uri: Uri,
) -> Result<Json<Facts>> {
    Parameters::read(&uri, &[])?;
    let offering = see(&mut app.db.read().await?, principal.as_deref(), &id).await?;
    let r = Reading::open(&app, offering).await?;
    let facts = r.ask(contract::facts(r.token)).await?;
    let partitions = r.ask(contract::partitions(r.token, facts.partitions)).await?;
    let shown = (1..).zip(&partitions).map(|(number, p): (u32, _)| Partition {
        partition: number.to_string(),
        supply: r.quantity(p.supply),
        supply_base_units: p.supply.to_string(),
        cap: r.quantity(p.cap),
        cap_base_units: p.cap.to_string(),
        is_restricted: p.restricted,
        rule144: p.rule144,
    });
    Ok(Json(Facts {
        offering_id: facts.offering_id.to_string(),
        token_symbol: facts.symbol,
        token_address: Typed(r.token),
        chain_id: r.offering.chain_id,
        total_supply: r.quantity(facts.supply),
        total_supply_base_units: facts.supply.to_string(),
        caps: Caps {
            supply: r.quantity(facts.cap),
            supply_base_units: facts.cap.to_string(),
            holder_cap: r.holder_cap,
        },
        partitions: shown.collect(),
        paused: facts.paused || partitions.iter().all(|p| p.restricted),
        block: r.as_of(),
    }))
}

/// Whether a partition is restricted.
#[derive(Serialize, ToSchema)]
#[schema(as = TokenRestriction)]
pub struct Restriction {
    partition: String,
    #[serde(rename = "isRestricted")]
    is_restricted: bool,
    block: AsOf,
}

/// Check whether a partition is restricted.
///
/// For everybody who may see the offering.
#[utoipa::path(
    get,
    path = "/v1/offerings/{id}/token/partitions/{partition}/restriction",
    responses((status = 200, body = Restriction)),
    extensions(("x-codes" = json!(["invalid_parameter", "unknown_parameter", "invalid_state", "chain_unavailable", "chain_timeout"]))),
)]
pub async fn restriction(
    State(app): State<App>,
    Path((id, partition)): Path<(OfferingId, String)>,
    principal: Option<Extension<Principal>>,
    uri: Uri,
) -> Result<Json<Restriction>> {
    Parameters::read(&uri, &[])?;
    let offering = see(&mut app.db.read().await?, principal.as_deref(), &id).await?;
    let r = Reading::open(&app, offering).await?;
    let number = r.partition(Some(&partition)).map_err(|why| Problem::new(Code::NotFound, why))?;
    let is_restricted = r.ask(contract::is_restricted(r.token, number)).await?;
    Ok(Json(Restriction { partition, is_restricted, block: r.as_of() }))
}
