//! `GET /v1/offerings/{id}/holders`: the holders of a token, as of a final block.

use alloy_primitives::U256;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::Uri;
use muniment_domain::holding::{self, Holder, HolderSearch};
use muniment_domain::id::{InvestorId, OfferingId};
use muniment_domain::{money, token_read};
use serde::Serialize;
use utoipa::ToSchema;

use crate::access::principal::Principal;
use crate::app::App;
use crate::code::Code;
use crate::field::address::Typed;
use crate::field::name::masked_name;
use crate::http::error::{Problem, Result};
use crate::http::instant::Instant;
use crate::http::pages::{List, Page, Paging};
use crate::offering;

const WORDS_CHARACTERS_MAX: usize = 100;

/// List the holders of an offering's token, ordered by wallet.
#[utoipa::path(
    get,
    path = "/v1/offerings/{id}/holders",
    params(Paging, ("q" = Option<String>, Query, description = "A part of the wallet's address or of the holder's name. Auditors find addresses only.", max_length = 100, example = "almeida")),
    responses((status = 200, body = Holders)),
)]
pub async fn list(
    State(app): State<App>,
    Path(id): Path<OfferingId>,
    principal: Principal,
    uri: Uri,
) -> Result<Json<Holders>> {
    let (page, parameters) = Page::read(&uri, &["q"])?;
    let part = parameters.text("q").map(|text| text.trim().to_lowercase()).filter(|text| !text.is_empty());
    if part.as_ref().is_some_and(|part| part.chars().count() > WORDS_CHARACTERS_MAX) {
        let detail = format!("The parameter q can have at most {WORDS_CHARACTERS_MAX} characters.");
        return Err(Problem::new(Code::InvalidParameter, detail));
    }
    let words = HolderSearch { part, names: !principal.0.is_masked() };
    let mut tx = app.db.read().await?;
    let offering = offering::find_run_by(&mut tx, &principal, &id).await?;
    let (rows, total) = holding::page(&mut tx, &id, &words, page.limit, page.offset()).await?;
    let read = token_read::cursor(&mut tx, &id).await?;
    let decimals = offering.decimals();
    let masked = principal.0.is_masked();
    let data = rows.iter().map(|row| item(row, decimals, masked));
    let as_of = read.map(|r| AsOf { block: r.block_number, read_at: Instant(r.read_at) });
    Ok(Json(Holders { list: page.list(data, total), as_of }))
}

/// The holders of a token.
#[derive(Serialize, ToSchema)]
pub struct Holders {
    #[serde(flatten)]
    list: List<View>,
    /// The block up to which the token's events were read. Null if none was read.
    as_of: Option<AsOf>,
}

/// A final block.
#[derive(Serialize, ToSchema)]
#[schema(as = HoldersAsOf)]
struct AsOf {
    block: i64,
    read_at: Instant,
}

/// The units that a wallet holds in a partition.
#[derive(Serialize, ToSchema)]
#[schema(as = Holder)]
struct View {
    /// The investor who owns the wallet. Null if unknown.
    investor_id: Option<InvestorId>,
    /// The legal name. Masked for auditors.
    #[schema(example = "Ada Almeida")]
    display_name: Option<String>,
    country: Option<String>,
    wallet_address: Typed,
    partition: String,
    quantity: String,
    base_units: String,
    /// The share of the partition in percent, rounded down.
    #[schema(example = "33.3333")]
    percentage: String,
    frozen: bool,
    /// When the holder first acquired units.
    first_acquired_at: Option<Instant>,
    locked_quantity: String,
    /// The locked quantity in base units.
    locked_base_units: String,
    /// The block up to which the token was read.
    synced_block: i64,
    updated_at: Instant,
}

fn item(row: &Holder, decimals: u32, masked: bool) -> View {
    let h = &row.holding;
    View {
        investor_id: row.investor_id.clone(),
        display_name: row.legal_name.as_deref().map(|name| if masked { masked_name(name) } else { name.to_owned() }),
        country: row.country.clone(),
        wallet_address: Typed(h.wallet_address.0),
        partition: h.partition_id.to_string(),
        quantity: money::quantity(h.balance.0, decimals),
        base_units: h.balance.to_string(),
        percentage: percentage(h.balance.0, row.supply.0),
        frozen: row.frozen,
        first_acquired_at: h.first_acquired_at.map(Instant),
        locked_quantity: money::quantity(h.locked.0, decimals),
        locked_base_units: h.locked.to_string(),
        synced_block: h.synced_block,
        updated_at: Instant(h.updated_at),
    }
}

/// The share of the partition in percent, with four decimals, rounded down.
pub fn percentage(units: u128, supply: u128) -> String {
    let parts = U256::from(units) * U256::from(1_000_000) / U256::from(supply.max(1));
    let parts: u64 = parts.saturating_to();
    format!("{}.{:04}", parts / 10_000, parts % 10_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn share_has_four_decimals_and_is_rounded_down() {
        assert_eq!(percentage(1, 3), "33.3333");
        assert_eq!(percentage(2, 3), "66.6666");
        assert_eq!(percentage(5, 5), "100.0000");
        assert_eq!(percentage(u128::MAX, u128::MAX), "100.0000");
        assert_eq!(percentage(0, 0), "0.0000");
    }
}
