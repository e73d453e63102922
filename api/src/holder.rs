//! `GET /v1/offerings/{id}/holders`: who holds how much, as of a final block.

use alloy_primitives::U256;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::Uri;
use muniment_domain::holding::{self, Holder};
use muniment_domain::{money, token_read};
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
    let read = token_read::cursor(&mut tx, &id).await?;
    let decimals = u32::try_from(offering.token_decimals).unwrap_or(0);
    let data = rows.iter().map(|row| item(row, decimals)).collect();
    let mut answer = page.answer(data, total);
    answer["as_of"] =
        read.map_or(Value::Null, |r| json!({ "block": r.block_number, "read_at": instant::text(r.read_at) }));
    Ok(Json(answer))
}

fn item(row: &Holder, decimals: u32) -> Value {
    let h = &row.holding;
    json!({
        "investor_id": row.investor_id, "display_name": row.legal_name, "country": row.country,
        "wallet_address": h.wallet_address.0.to_checksum(None), "partition": h.partition_id.to_string(),
        "quantity": money::quantity(h.balance.0, decimals), "base_units": h.balance.to_string(),
        "percentage": percentage(h.balance.0, row.supply.0), "frozen": row.frozen,
        "first_acquired_at": h.first_acquired_at.map(instant::text), "locked_quantity": money::quantity(h.locked.0, decimals), "locked_base_units": h.locked.to_string(),
        "synced_block": h.synced_block, "updated_at": instant::text(h.updated_at),
    })
}

/// The share of the partition in percent, with four decimals, rounded down: nobody is shown more than they have.
fn percentage(units: u128, supply: u128) -> String {
    let parts = U256::from(units) * U256::from(1_000_000) / U256::from(supply.max(1));
    let parts: u64 = parts.saturating_to();
    format!("{}.{:04}", parts / 10_000, parts % 10_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_exact_to_four_decimals_and_never_too_large() {
        assert_eq!(percentage(1, 3), "33.3333");
        assert_eq!(percentage(2, 3), "66.6666");
        assert_eq!(percentage(5, 5), "100.0000");
        assert_eq!(percentage(u128::MAX, u128::MAX), "100.0000");
        assert_eq!(percentage(0, 0), "0.0000");
    }
}
