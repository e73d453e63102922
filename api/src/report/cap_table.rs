//! `GET /v1/reports/cap-table`: who holds an offering's token, as of the last final block that is read.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::Uri;
use axum::response::Response;
use muniment_domain::db::Tx;
use muniment_domain::report::cap_table::{self, Key, Place};
use muniment_domain::{money, offering};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::{PAGE, Report, answer, asked};
use crate::address::Typed;
use crate::app::App;
use crate::code::Code;
use crate::error::{Problem, Result};
use crate::holder::percentage;
use crate::instant;
use crate::investor::masked_name;
use crate::pages::Parameters;
use crate::principal::Principal;

/// The holders of a token, in the order of their wallets, with the sum of each partition. An auditor sees the first letters of a name.
#[utoipa::path(
    get,
    path = "/v1/reports/cap-table",
    params(
        ("offering_id" = String, Query, example = "off_01jc8yq3k5e9v8w2m4n6p7r9st"),
        ("format" = Option<String>, Query, pattern = "^(json|csv)$", example = "json"),
    ),
    responses((status = 200, content((Shown = "application/json"), (String = "text/csv")))),
    extensions(("x-codes" = json!(["not_found"]))),
)]
pub async fn read(State(app): State<App>, principal: Principal, uri: Uri) -> Result<Response> {
    let parameters = Parameters::read(&uri, &["offering_id", "format"])?;
    let mut tx = app.db.read().await?;
    let (filter, format) = asked(&mut tx, &parameters).await?;
    let Some(offering_id) = filter.offering_id else {
        return Err(Problem::new(Code::InvalidParameter, "Name the offering: offering_id=off_…."));
    };
    let decimals = offering::find(&mut tx, &offering_id).await?.decimals();
    let place = cap_table::place(&mut tx, &offering_id).await?;
    let (masked, after) = (principal.0.sees_masked(), Some((String::new(), -1)));
    drop(tx);
    Ok(answer(app, CapTable { offering_id, decimals, place, masked, after, sums: BTreeMap::new() }, format))
}

/// The report, as the document shows it.
#[derive(ToSchema)]
#[schema(as = CapTable)]
#[allow(dead_code, reason = "the document reads it; answers are written line by line")]
pub struct Shown {
    #[schema(example = "cap-table")]
    report: String,
    offering_id: String,
    /// The final block that all lines are of; null before any of the token is read.
    block_number: Option<i64>,
    read_at: Option<instant::Instant>,
    lines: Vec<Line>,
    totals: Vec<Total>,
}

/// A wallet's units of a partition.
#[derive(Serialize, ToSchema)]
#[schema(as = CapTableLine)]
pub struct Line {
    wallet_address: Typed,
    partition: String,
    /// Null for a wallet that nobody is known for.
    investor_id: Option<String>,
    legal_name: Option<String>,
    country: Option<String>,
    quantity: String,
    base_units: String,
    /// Of the partition, rounded down.
    #[schema(example = "33.3333")]
    percentage: String,
    /// Now, and not at that block.
    frozen: bool,
}

/// The sum of a partition.
#[derive(ToSchema)]
#[schema(as = CapTableTotal)]
#[allow(dead_code, reason = "the document reads it")]
struct Total {
    partition: String,
    quantity: String,
    base_units: String,
    holders: i64,
}

struct CapTable {
    offering_id: String,
    decimals: u32,
    place: Option<Place>,
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
