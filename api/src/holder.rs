//! `GET /v1/offerings/{id}/holders`: who holds how much, as of a final block.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::Uri;
use muniment_domain::holding::{self, Holder};
use muniment_domain::money;
use serde_json::{Value, json};

use crate::app::App;
use crate::error::Result;
use crate::pages::{Page, Parameters};
use crate::{instant, offering};

/// The holders of an offering's token, in the order of their wallets.
pub async fn list(State(app): State<App>, Path(id): Path<String>, uri: Uri) -> Result<Json<Value>> {
    let page = Page::of(&Parameters::read(&uri, &["page", "limit"])?)?;
    let mut tx = app.db.read().await?;
    let offering = offering::find(&mut tx, &id).await?;
    let (rows, total) = holding::page(&mut tx, &id, page.limit, page.offset()).await?;
    let decimals = u32::try_from(offering.token_decimals).unwrap_or(0);
    let data = rows.iter().map(|row| item(row, decimals)).collect();
    Ok(Json(page.answer(data, total)))
}

fn item(row: &Holder, decimals: u32) -> Value {
    let h = &row.holding;
    json!({
        "investor_id": row.investor_id, "display_name": row.legal_name, "country": row.country,
        "wallet_address": h.wallet_address.0.to_checksum(None), "partition": h.partition_id.to_string(),
        "quantity": money::quantity(h.balance.0, decimals), "base_units": h.balance.to_string(),
        "locked_quantity": money::quantity(h.locked.0, decimals), "locked_base_units": h.locked.to_string(),
        "synced_block": h.synced_block, "updated_at": instant::text(h.updated_at),
    })
}
