//! `GET /v1/reports/transactions`: the transactions of the platform and their cost.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::Uri;
use axum::response::Response;
use muniment_domain::db::Tx;
use muniment_domain::id::{OfferingId, OperationId};
use muniment_domain::operation::Kind;
use muniment_domain::report::Filter;
use muniment_domain::report::transaction as domain;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::{OfTime, PAGE, Report, answer, asked};
use crate::app::App;
use crate::field::address::Typed;
use crate::http::error::Result;
use crate::http::instant::Instant;
use crate::http::pages::Parameters;

/// Report the transactions of a year.
///
/// Contains the transactions of operations that were confirmed in the year (UTC), with their gas and totals for each chain.
#[utoipa::path(
    get,
    path = "/v1/reports/transactions",
    params(OfTime),
    responses((status = 200, content((View = "application/json"), (String = "text/csv")))),
    extensions(("x-codes" = json!(["not_found"]))),
)]
pub async fn read(State(app): State<App>, uri: Uri) -> Result<Response> {
    let parameters = Parameters::read(&uri, &["offering_id", "year", "format"])?;
    let (filter, format) = asked(&mut app.db.read().await?, &parameters).await?;
    Ok(answer(app, Transactions { filter, after: Some(String::new()), sums: BTreeMap::new() }, format))
}

/// A report as JSON.
#[derive(ToSchema)]
#[schema(as = TransactionsReport)]
#[allow(dead_code, reason = "the document reads it; answers are written line by line")]
pub struct View {
    #[schema(example = "transactions")]
    report: String,
    offering_id: Option<OfferingId>,
    from: Instant,
    to: Instant,
    lines: Vec<Line>,
    totals: Vec<Total>,
}

/// A transaction in the report.
#[derive(Serialize, ToSchema)]
#[schema(as = TransactionsReportLine)]
pub struct Line {
    tx_hash: String,
    operation_id: OperationId,
    #[serde(rename = "type")]
    kind: Kind,
    /// The index of the step.
    #[schema(example = "mint")]
    step: String,
    offering_id: Option<OfferingId>,
    chain_id: i64,
    contract_address: Typed,
    block_number: Option<i64>,
    /// The gas that was used. Null for a foreign transaction.
    gas_used: Option<u64>,
    effective_gas_price: Option<u64>,
    /// The fee in the smallest unit of the chain's native coin.
    #[schema(example = "2500000000000000")]
    fee: Option<String>,
    confirmed_at: Instant,
}

/// The totals of a chain.
#[derive(Serialize, ToSchema)]
#[schema(as = TransactionsReportTotal)]
struct Total {
    chain_id: i64,
    /// The number of transactions.
    transactions: i64,
    gas_used: u64,
    /// The fee.
    #[schema(example = "2500000000000000")]
    fee: String,
}

/// What a receipt says of the cost.
#[derive(Deserialize)]
struct Cost {
    gas_used: u64,
    effective_gas_price: u128,
}

struct Transactions {
    filter: Filter,
    after: Option<String>,
    sums: BTreeMap<i64, (i64, u64, u128)>,
}

impl Transactions {
    fn line(&mut self, line: domain::Line) -> Line {
        let cost: Option<Cost> = line.receipt.as_deref().and_then(|text| serde_json::from_str(text).ok());
        let gas_used = cost.as_ref().map(|cost| cost.gas_used);
        let effective_gas_price = cost.and_then(|cost| u64::try_from(cost.effective_gas_price).ok());
        let fee = gas_used.zip(effective_gas_price).map(|(gas, price)| u128::from(gas) * u128::from(price));
        let sum = self.sums.entry(line.chain_id).or_default();
        *sum = (sum.0 + 1, sum.1 + gas_used.unwrap_or_default(), sum.2 + fee.unwrap_or_default());
        Line {
            tx_hash: line.tx_hash.to_string(),
            operation_id: line.operation_id,
            kind: line.kind,
            step: line.name,
            offering_id: line.offering_id,
            chain_id: line.chain_id,
            contract_address: Typed(line.target.0),
            block_number: line.block_number,
            gas_used,
            effective_gas_price,
            fee: fee.map(|fee| fee.to_string()),
            confirmed_at: Instant(line.confirmed_at),
        }
    }
}

impl Report for Transactions {
    const NAME: &'static str = "transactions";
    const COLUMNS: &'static [&'static str] = &[
        "tx_hash",
        "operation_id",
        "type",
        "step",
        "offering_id",
        "chain_id",
        "contract_address",
        "block_number",
        "gas_used",
        "effective_gas_price",
        "fee",
        "confirmed_at",
    ];
    type Line = Line;

    fn head(&self) -> Value {
        super::head(Self::NAME, &self.filter)
    }

    async fn next(&mut self, tx: &mut Tx) -> muniment_domain::Result<Option<Vec<Line>>> {
        let Some(after) = self.after.take() else { return Ok(None) };
        let (lines, last) = domain::page(tx, &self.filter, &after, PAGE).await?;
        self.after = last;
        Ok(Some(lines.into_iter().map(|line| self.line(line)).collect()))
    }

    fn totals(&self) -> Vec<Value> {
        let total = |(chain_id, (transactions, gas_used, fee)): (&i64, &(i64, u64, u128))| {
            let (chain_id, transactions, gas_used) = (*chain_id, *transactions, *gas_used);
            json!(Total { chain_id, transactions, gas_used, fee: fee.to_string() })
        };
        self.sums.iter().map(total).collect()
    }
}
