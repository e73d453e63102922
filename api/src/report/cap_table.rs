//! `GET /v1/reports/cap-table`: the holders of an offering's token, as of the last final block that was read.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::Uri;
use axum::response::Response;
use muniment_domain::db::Tx;
use muniment_domain::id::{InvestorId, OfferingId};
use muniment_domain::report::cap_table::{self, BlockState, Key};
use muniment_domain::{money, offering};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::{PAGE, Report, answer, asked};
use crate::access::principal::Principal;
use crate::app::App;
use crate::code::Code;
use crate::field::address::Typed;
use crate::field::name::masked_name;
use crate::http::error::{Problem, Result};
use crate::http::instant;
use crate::http::pages::Parameters;
use crate::offering::holder::percentage;

/// Report the holders of a token, with the total of each partition.
///
/// Ordered by wallet. Auditors see masked names.
#[utoipa::path(
    get,
    path = "/v1/reports/cap-table",
    params(
        ("offering_id" = String, Query, pattern = "^off_[0-7][0-9a-hjkmnp-tv-z]{25}$", example = "off_01jc8yq3k5e9v8w2m4n6p7r9st"),
        ("format" = Option<String>, Query, pattern = "^(json|csv)$", example = "json"),
    ),
    responses((status = 200, content((View = "application/json"), (String = "text/csv")))),
    extensions(("x-codes" = json!(["not_found"]))),
)]
pub async fn read(State(app): State<App>, principal: Principal, uri: Uri) -> Result<Response> {
    let parameters = Parameters::read(&uri, &["offering_id", "format"])?;
    let mut tx = app.db.read_one_moment().await?;
    let (filter, format) = asked(&mut tx, &parameters).await?;
    let Some(offering_id) = filter.offering_id else {
        return Err(Problem::new(Code::InvalidParameter, "The parameter offering_id is required."));
    };
    let decimals = offering::find(&mut tx, &offering_id).await?.decimals();
    let place = cap_table::block_state(&mut tx, &offering_id).await?;
    let (masked, after) = (principal.0.is_masked(), Some((String::new(), -1)));
    drop(tx);
    Ok(answer(app, CapTable { offering_id, decimals, place, masked, after, sums: BTreeMap::new() }, format))
}

/// A report as JSON.
#[derive(ToSchema)]
#[schema(as = CapTable)]
#[allow(dead_code, reason = "the document reads it; answers are written line by line")]
pub struct View {
    #[schema(example = "cap-table")]
    report: String,
    offering_id: OfferingId,
    /// The final block of all lines. Null if the token has not been read yet.
    block_number: Option<i64>,
    read_at: Option<instant::Instant>,
    lines: Vec<Line>,
    totals: Vec<Total>,
}

/// The units of one wallet in one partition.
#[derive(Serialize, ToSchema)]
#[schema(as = CapTableLine)]
pub struct Line {
    wallet_address: Typed,
    partition: String,
    /// The investor who owns the wallet. Null if unknown.
    investor_id: Option<InvestorId>,
    legal_name: Option<String>,
    country: Option<String>,
    quantity: String,
    base_units: String,
    /// The share of the partition in percent, rounded down.
    #[schema(example = "33.3333")]
    percentage: String,
    /// Whether the wallet is frozen now, not at the block of the report.
    frozen: bool,
}

/// The total of a partition.
#[derive(ToSchema)]
#[schema(as = CapTableTotal)]
#[allow(dead_code, reason = "the document reads it")]
struct Total {
    partition: String,
    quantity: String,
    base_units: String,
    /// The number of holders.
    holders: i64,
}

struct CapTable {
    offering_id: OfferingId,
    decimals: u32,
    place: Option<BlockState>,
    masked: bool,
    after: Option<Key>,
    sums: BTreeMap<i64, (u128, i64)>,
}

impl CapTable {
    fn line(&mut self, line: cap_table::Line, supply: u128) -> Line {
        let units = line.balance.0;
        let sum = self.sums.entry(line.partition_id).or_default();
        *sum = (sum.0 + units, sum.1 + 1);
        Line {
            wallet_address: Typed(line.wallet_address.0),
            partition: line.partition_id.to_string(),
            investor_id: line.investor_id,
            legal_name: line.legal_name.map(|name| if self.masked { masked_name(&name) } else { name }),
            country: line.country,
            quantity: money::quantity(units, self.decimals),
            base_units: units.to_string(),
            percentage: percentage(units, supply),
            frozen: line.frozen,
        }
    }
}

impl Report for CapTable {
    const NAME: &'static str = "cap-table";
    const COLUMNS: &'static [&'static str] = &[
        "wallet_address",
        "partition",
        "investor_id",
        "legal_name",
        "country",
        "quantity",
        "base_units",
        "percentage",
        "frozen",
    ];
    type Line = Line;

    fn head(&self) -> Value {
        let read_at = instant::optional(self.place.as_ref().map(|place| place.read_at));
        json!({ "report": Self::NAME, "offering_id": self.offering_id, "read_at": read_at,
            "block_number": self.place.as_ref().map(|place| place.block_number) })
    }

    async fn next(&mut self, tx: &mut Tx) -> muniment_domain::Result<Option<Vec<Line>>> {
        let (Some(place), Some(after)) = (self.place.clone(), self.after.take()) else { return Ok(None) };
        let (lines, last) = cap_table::page(tx, &self.offering_id, place.block_number, &after, PAGE).await?;
        self.after = last;
        let supply = |partition| place.supplies.get(&partition).copied().unwrap_or_default();
        Ok(Some(
            lines
                .into_iter()
                .map(|line| (supply(line.partition_id), line))
                .map(|(s, line)| self.line(line, s))
                .collect(),
        ))
    }

    fn totals(&self) -> Vec<Value> {
        let total = |(partition, (units, holders)): (&i64, &(u128, i64))| {
            json!({ "partition": partition.to_string(), "quantity": money::quantity(*units, self.decimals),
                "base_units": units.to_string(), "holders": holders })
        };
        self.sums.iter().map(total).collect()
    }
}
