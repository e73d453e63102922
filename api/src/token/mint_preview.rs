//! `GET /v1/offerings/{id}/mint-preview`: what a mint would do now.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::Uri;
use muniment_domain::id::{OfferingId, SubscriptionId};
use muniment_domain::money::Money;
use muniment_domain::offering;
use muniment_domain::operation_item::Item;
use muniment_workflows::token::mint;
use serde::Serialize;
use utoipa::ToSchema;

use super::mint::{Skipped, skipped};
use crate::app::App;
use crate::field::address::Typed;
use crate::field::amount::Amount;
use crate::http::error::Result;
use crate::http::pages::Parameters;

/// What a mint would do now.
#[derive(Serialize, ToSchema)]
pub struct MintPreview {
    /// The subscriptions that would be minted.
    lines: Vec<Line>,
    /// Their total amount.
    amount: Amount,
    skipped: Vec<Skipped>,
}

/// A subscription that would be minted.
#[derive(Serialize, ToSchema)]
#[schema(as = MintPreviewLine)]
struct Line {
    subscription_id: SubscriptionId,
    wallet_address: Typed,
    /// The base units.
    #[schema(example = "1250000")]
    base_units: String,
    amount: Amount,
}

/// Preview the mint of an offering's accepted subscriptions.
///
/// Changes nothing. A mint can differ if something changes in between.
#[utoipa::path(
    get,
    path = "/v1/offerings/{id}/mint-preview",
    responses((status = 200, body = MintPreview)),
    extensions(("x-codes" = json!(["invalid_state", "nothing_to_mint"]))),
)]
pub async fn read(State(app): State<App>, Path(id): Path<OfferingId>, uri: Uri) -> Result<Json<MintPreview>> {
    id.check()?;
    Parameters::read(&uri, &[])?;
    let mut tx = app.db.read().await?;
    let offering = offering::find(&mut tx, &id).await?;
    let request = mint::Request { offering_id: id, subscription_ids: None, lockup_release_at: None };
    let (_, chosen) = mint::evaluate(&mut tx, &offering, &request).await?;
    let amount = |minor: i64| Amount(Money::from_minor(minor));
    let line = |(item, minor): (&Item, &i64)| Line {
        subscription_id: item.subject(),
        wallet_address: Typed(item.wallet_address.0),
        base_units: item.quantity.to_string(),
        amount: amount(*minor),
    };
    let lines = chosen.items.iter().zip(&chosen.amounts).map(line).collect();
    Ok(Json(MintPreview { lines, amount: amount(chosen.amount()), skipped: skipped(&chosen.skipped) }))
}
