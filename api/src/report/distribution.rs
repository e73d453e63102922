//! `GET /v1/reports/distributions`: the distributions of a year and their results.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::Uri;
use axum::response::Response;
use muniment_domain::db::Tx;
use muniment_domain::distribution::{Kind, Method, Status};
use muniment_domain::entitlement::Totals;
use muniment_domain::id::{DistributionId, OfferingId};
use muniment_domain::money::Money;
use muniment_domain::report::Filter;
use muniment_domain::report::distribution as domain;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::{OfTime, Report, answer, asked};
use crate::app::App;
use crate::field::amount::Amount;
use crate::http::error::Result;
use crate::http::instant::Instant;
use crate::http::pages::Parameters;

/// How many distributions are summed up by one statement: each may have many thousand parts.
const PAGE: i64 = 20;

/// Report the distributions paid in a year.
///
/// Contains distributions with a payment date in the year (UTC): owed, withheld, paid and held amounts, with totals for each currency.
#[utoipa::path(
    get,
    path = "/v1/reports/distributions",
    params(OfTime),
    responses((status = 200, content((View = "application/json"), (String = "text/csv")))),
    extensions(("x-codes" = json!(["not_found"]))),
)]
pub async fn read(State(app): State<App>, uri: Uri) -> Result<Response> {
    let parameters = Parameters::read(&uri, &["offering_id", "year", "format"])?;
    let (filter, format) = asked(&mut app.db.read().await?, &parameters).await?;
    Ok(answer(app, Distributions { filter, after: Some(DistributionId::default()), sums: BTreeMap::new() }, format))
}

/// A report as JSON.
#[derive(ToSchema)]
#[schema(as = DistributionsReport)]
#[allow(dead_code, reason = "the document reads it; answers are written line by line")]
pub struct View {
    #[schema(example = "distributions")]
    report: String,
    offering_id: Option<OfferingId>,
    from: Instant,
    to: Instant,
    lines: Vec<Line>,
    totals: Vec<Total>,
}

/// A distribution in the report.
#[derive(Serialize, ToSchema)]
#[schema(as = DistributionsReportLine)]
pub struct Line {
    distribution_id: DistributionId,
    offering_id: OfferingId,
    offering_name: String,
    #[serde(rename = "type")]
    kind: Kind,
    status: Status,
    method: Method,
    currency: String,
    #[schema(example = "EURC")]
    payout_token: String,
    record_date: Instant,
    payment_date: Instant,
    executed_at: Option<Instant>,
    completed_at: Option<Instant>,
    holder_count: i64,
    #[serde(flatten)]
    sums: Sums,
}

/// Sums of entitlements by status. `paid` to `open` add up to `net`.
#[derive(Serialize, ToSchema)]
#[schema(as = DistributionsReportSums)]
struct Sums {
    gross: Amount,
    withholding: Amount,
    net: Amount,
    paid: Amount,
    held: Amount,
    failed: Amount,
    excluded: Amount,
    open: Amount,
}

impl Sums {
    fn of(totals: &Totals) -> Self {
        let amount = |minor| Amount(Money::from_minor(minor));
        Self {
            gross: amount(totals.gross),
            withholding: amount(totals.withholding),
            net: amount(totals.net),
            paid: amount(totals.paid),
            held: amount(totals.held),
            failed: amount(totals.failed),
            excluded: amount(totals.excluded),
            open: amount(totals.open),
        }
    }
}

/// The totals of a currency.
#[derive(Serialize, ToSchema)]
#[schema(as = DistributionsReportTotal)]
struct Total {
    currency: String,
    holder_count: i64,
    #[serde(flatten)]
    sums: Sums,
}

struct Distributions {
    filter: Filter,
    after: Option<DistributionId>,
    sums: BTreeMap<String, Totals>,
}

fn line(domain::Line { distribution: d, offering_name, totals }: domain::Line) -> Line {
    Line {
        distribution_id: d.id,
        offering_id: d.offering_id,
        offering_name,
        kind: d.kind,
        status: d.status,
        method: d.method,
        currency: d.currency,
        payout_token: d.payout_symbol,
        record_date: Instant(d.record_date),
        payment_date: Instant(d.payment_date),
        executed_at: d.executed_at.map(Instant),
        completed_at: d.completed_at.map(Instant),
        holder_count: totals.count,
        sums: Sums::of(&totals),
    }
}

impl Report for Distributions {
    const NAME: &'static str = "distributions";
    const COLUMNS: &'static [&'static str] = &[
        "distribution_id",
        "offering_id",
        "offering_name",
        "type",
        "status",
        "method",
        "currency",
        "payout_token",
        "record_date",
        "payment_date",
        "executed_at",
        "completed_at",
        "holder_count",
        "gross",
        "withholding",
        "net",
        "paid",
        "held",
        "failed",
        "excluded",
        "open",
    ];
    type Line = Line;

    fn head(&self) -> Value {
        super::head(Self::NAME, &self.filter)
    }

    async fn next(&mut self, tx: &mut Tx) -> muniment_domain::Result<Option<Vec<Line>>> {
        let Some(after) = self.after.take() else { return Ok(None) };
        let lines = domain::page(tx, &self.filter, &after, PAGE).await?;
        self.after = lines.last().map(|line| line.distribution.id.clone());
        // A cancelled distribution owes nothing.
        for line in lines.iter().filter(|line| line.distribution.status != Status::Cancelled) {
            self.sums.entry(line.distribution.currency.clone()).or_default().add_all(&line.totals);
        }
        Ok(Some(lines.into_iter().map(line).collect()))
    }

    fn totals(&self) -> Vec<Value> {
        let total = |(currency, totals): (&String, &Totals)| {
            json!(Total { currency: currency.clone(), holder_count: totals.count, sums: Sums::of(totals) })
        };
        self.sums.iter().map(total).collect()
    }
}
