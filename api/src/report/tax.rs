//! `GET /v1/reports/tax`: the payments to each investor in a year and the withheld tax.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::Uri;
use axum::response::Response;
use muniment_domain::db::Tx;
use muniment_domain::id::{InvestorId, OfferingId};
use muniment_domain::investor::TaxForm;
use muniment_domain::money::Money;
use muniment_domain::report::Filter;
use muniment_domain::report::tax as domain;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::{OfTime, PAGE, Report, answer, asked};
use crate::access::principal::Principal;
use crate::app::App;
use crate::field::amount::Amount;
use crate::field::name::masked_name;
use crate::http::error::Result;
use crate::http::instant::Instant;
use crate::http::pages::Parameters;

/// Report the payments to each investor in a year.
///
/// Contains final payments of the year (UTC): one line for each investor, currency and rate, with totals for each currency. Auditors see
/// masked names.
#[utoipa::path(
    get,
    path = "/v1/reports/tax",
    params(OfTime),
    responses((status = 200, content((View = "application/json"), (String = "text/csv")))),
    extensions(("x-codes" = json!(["not_found"]))),
)]
pub async fn read(State(app): State<App>, principal: Principal, uri: Uri) -> Result<Response> {
    let parameters = Parameters::read(&uri, &["offering_id", "year", "format"])?;
    let (filter, format) = asked(&mut app.db.read().await?, &parameters).await?;
    let masked = principal.0.is_masked();
    Ok(answer(app, Tax { filter, masked, after: Some(String::new()), sums: BTreeMap::new() }, format))
}

/// A report as JSON.
#[derive(ToSchema)]
#[schema(as = TaxReport)]
#[allow(dead_code, reason = "the document reads it; answers are written line by line")]
pub struct View {
    #[schema(example = "tax")]
    report: String,
    offering_id: Option<OfferingId>,
    from: Instant,
    to: Instant,
    lines: Vec<Line>,
    totals: Vec<Total>,
}

/// The payments to an investor in one currency at one rate.
#[derive(Serialize, ToSchema)]
#[schema(as = TaxReportLine)]
pub struct Line {
    investor_id: InvestorId,
    legal_name: String,
    country: String,
    #[schema(example = "PT")]
    tax_residency: Option<String>,
    tax_form: TaxForm,
    #[schema(example = "PT")]
    treaty_country: Option<String>,
    currency: String,
    /// The withholding rate in percent at the time of the calculation.
    #[schema(example = "15.00")]
    withholding_rate: String,
    payments: i64,
    gross: Amount,
    withheld: Amount,
    net: Amount,
}

/// The totals of a currency.
#[derive(Serialize, ToSchema)]
#[schema(as = TaxReportTotal)]
struct Total {
    currency: String,
    payments: i64,
    gross: Amount,
    withheld: Amount,
    net: Amount,
}

struct Tax {
    filter: Filter,
    masked: bool,
    after: Option<String>,
    sums: BTreeMap<String, [i64; 4]>,
}

const fn cents(minor: i64) -> Amount {
    Amount(Money::from_minor(minor))
}

impl Tax {
    fn line(&mut self, line: domain::Line) -> Line {
        let parts = [line.payments, line.gross, line.withholding, line.net];
        let sums = self.sums.entry(line.currency.clone()).or_default();
        sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
        Line {
            investor_id: line.investor_id,
            legal_name: if self.masked { masked_name(&line.legal_name) } else { line.legal_name },
            country: line.country,
            tax_residency: line.tax_residency,
            tax_form: line.tax_form,
            treaty_country: line.treaty_country,
            currency: line.currency,
            // Hundredths of a percent look like cents.
            withholding_rate: Money::from_minor(line.rate_basis_points).to_string(),
            payments: line.payments,
            gross: cents(line.gross),
            withheld: cents(line.withholding),
            net: cents(line.net),
        }
    }
}

impl Report for Tax {
    const NAME: &'static str = "tax";
    const COLUMNS: &'static [&'static str] = &[
        "investor_id",
        "legal_name",
        "country",
        "tax_residency",
        "tax_form",
        "treaty_country",
        "currency",
        "withholding_rate",
        "payments",
        "gross",
        "withheld",
        "net",
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
        let total = |(currency, sums): (&String, &[i64; 4])| {
            let [payments, gross, withheld, net] = *sums;
            let (gross, withheld, net) = (cents(gross), cents(withheld), cents(net));
            json!(Total { currency: currency.clone(), payments, gross, withheld, net })
        };
        self.sums.iter().map(total).collect()
    }
}
