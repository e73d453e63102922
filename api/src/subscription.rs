//! `GET /v1/offerings/{id}/subscriptions`.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::Uri;
use muniment_domain::money::{self, Money};
use muniment_domain::operation;
use muniment_domain::subscription::{self, Listed};
use serde_json::{Value, json};

use crate::app::App;
use crate::error::Result;
use crate::pages::{Page, Parameters};
use crate::{instant, offering};

/// The subscriptions of an offering, newest first, each with how far its mint is.
pub async fn list(State(app): State<App>, Path(id): Path<String>, uri: Uri) -> Result<Json<Value>> {
    let parameters = Parameters::read(&uri, &["page", "limit", "status"])?;
    let (page, status) = (Page::of(&parameters)?, parameters.word("status")?);
    let mut tx = app.db.read().await?;
    let offering = offering::find(&mut tx, &id).await?;
    let (rows, total) = subscription::page(&mut tx, &id, status, page.limit, page.offset()).await?;
    let decimals = u32::try_from(offering.token_decimals).unwrap_or(0);
    let data = rows.iter().map(|row| item(row, &offering.currency, decimals)).collect();
    Ok(Json(page.answer(data, total)))
}

fn item(row: &Listed, currency: &str, decimals: u32) -> Value {
    let s = &row.subscription;
    json!({
        "subscription_id": s.id, "id": s.id, "offering_id": s.offering_id, "investor_id": s.investor_id, "status": s.status,
        "amount": Money::from_minor(s.amount).to_string(), "currency": currency,
        "quantity": s.quantity.map(|q| money::quantity(q.0, decimals)), "base_units": s.quantity.map(|q| q.to_string()),
        "wallet_address": s.wallet_address.map(|a| a.0.to_checksum(None)),
        "cooling_off_expires_at": instant::text(s.cooling_off_expires_at),
        "mint": {
            "status": mint_status(row), "operation_id": s.mint_operation_id.as_ref().or(row.live_operation_id.as_ref()),
            "tx_hash": s.mint_tx_hash.map(|h| h.to_string()), "block_number": s.mint_block_number,
            "minted_at": instant::optional(s.minted_at), "lock_release_at": instant::optional(s.lock_release_at),
        },
        "version": s.version, "created_at": instant::text(s.created_at), "updated_at": instant::text(s.updated_at),
    })
}

// Derived, never stored: minted is what the final commit wrote, everything before is the operation's.
fn mint_status(row: &Listed) -> &'static str {
    use operation::Status as Op;
    if row.subscription.status == subscription::Status::Minted {
        return "minted";
    }
    match row.live_operation_status {
        None => "none",
        Some(Op::Pending) => "pending",
        Some(Op::Submitted | Op::Confirmed) => "submitted",
        Some(Op::Failed) => "failed",
        Some(Op::DeadLetter) => "needs_attention",
    }
}
