//! `GET /v1/distributions/{id}/report`: every holder with the result, as CSV and JSON.

use alloy_primitives::Address;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::Uri;
use axum::response::{IntoResponse, Response};
use muniment_domain::column::Hex;
use muniment_domain::distribution::{Distribution, Scope};
use muniment_domain::entitlement::{self, Reported};
use muniment_domain::id::DistributionId;
use muniment_domain::{money, offering};
use serde::Serialize;
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use super::{find, record};
use crate::access::principal::Principal;
use crate::app::App;
use crate::code::Code;
use crate::field::address::Typed;
use crate::field::name::masked_name;
use crate::http::error::{Problem, Result};
use crate::http::pages::Parameters;
use crate::http::{csv, instant};

const COLUMNS: &str = "entitlement_id,investor_id,legal_name,wallet_address,payee_address,balance_at_record,gross_amount,\
    withholding_amount,net_amount,currency,status,hold_reason,paid_to,units,payout_token,tx_hash,block_number,paid_at";

/// Read the report of a distribution, as CSV or JSON.
///
/// JSON contains the hash of the CSV. Auditors see masked names; the hash is that of the full table.
#[utoipa::path(
    get,
    path = "/v1/distributions/{id}/report",
    params(("format" = Option<String>, Query, pattern = "^(json|csv)$", example = "json")),
    responses((status = 200, content((Report = "application/json"), (String = "text/csv")))),
)]
pub async fn report(
    State(app): State<App>,
    Path(id): Path<DistributionId>,
    principal: Principal,
    uri: Uri,
) -> Result<Response> {
    let parameters = Parameters::read(&uri, &["format"])?;
    let mut tx = app.db.read().await?;
    let d = find(&mut tx, &Scope::All, &id).await?;
    let of = offering::find(&mut tx, &d.offering_id).await?;
    let (decimals, mut lines) = (of.decimals(), entitlement::report(&mut tx, &id).await?);
    let report_sha256 = format!("{:x}", Sha256::digest(table(&d, decimals, &lines)));
    if principal.0.is_masked() {
        lines.iter_mut().for_each(|line| line.legal_name = line.legal_name.as_deref().map(masked_name));
    }
    match parameters.text("format").unwrap_or("json") {
        "csv" => Ok((csv::headers(&id), table(&d, decimals, &lines)).into_response()),
        "json" => {
            let entitlements = lines.iter().map(|line| shown(line, decimals)).collect();
            Ok(Json(Report { full: record::full(&mut tx, &d, &of).await?, report_sha256, entitlements })
                .into_response())
        }
        other => {
            Err(Problem::new(Code::InvalidParameter, format!("The format {other} is not supported. Use csv or json.")))
        }
    }
}

/// A distribution with the result of each entitlement.
#[derive(Serialize, ToSchema)]
#[schema(as = DistributionReport)]
pub struct Report {
    #[serde(flatten)]
    full: record::Full,
    /// The SHA-256 of the CSV report.
    report_sha256: String,
    entitlements: Vec<Settled>,
}

/// The result of an entitlement.
#[derive(Serialize, ToSchema)]
#[schema(as = ReportedEntitlement)]
struct Settled {
    #[serde(flatten)]
    line: record::Line,
    legal_name: Option<String>,
    /// The payment as the chain shows it. Null if it is not paid.
    receipt: Option<Receipt>,
}

/// The payment as the chain shows it.
#[derive(Serialize, ToSchema)]
#[schema(as = PayoutReceipt)]
struct Receipt {
    /// The address that was paid.
    paid_to: Typed,
    /// The paid amount in base units of the payout token.
    #[schema(example = "2500000")]
    units: Option<String>,
}

fn shown(line: &Reported, decimals: u32) -> Settled {
    let receipt = |to: Hex<Address>| Receipt { paid_to: Typed(to.0), units: line.units.clone() };
    Settled {
        line: record::line(&line.entitlement, i64::from(decimals)),
        legal_name: line.legal_name.clone(),
        receipt: line.paid_to.map(receipt),
    }
}

fn table(d: &Distribution, decimals: u32, lines: &[Reported]) -> String {
    let mut text = format!("{COLUMNS}\r\n");
    for line in lines {
        let e = &line.entitlement;
        let fields = [
            e.id.to_string(),
            e.investor_id.as_deref().unwrap_or_default().to_owned(),
            line.legal_name.clone().unwrap_or_default(),
            e.wallet_address.0.to_checksum(None),
            e.payee_address.0.to_checksum(None),
            money::quantity(e.balance_at_record.0, decimals),
            record::amount(e.gross),
            record::amount(e.withholding),
            record::amount(e.net),
            d.currency.clone(),
            e.status.to_string(),
            e.hold_reason.map(|reason| reason.to_string()).unwrap_or_default(),
            line.paid_to.map(|to| to.0.to_checksum(None)).unwrap_or_default(),
            line.units.clone().unwrap_or_default(),
            d.payout_symbol.clone(),
            e.tx_hash.map(|hash| hash.to_string()).unwrap_or_default(),
            e.block_number.map(|number| number.to_string()).unwrap_or_default(),
            instant::optional(e.paid_at).unwrap_or_default(),
        ];
        text.push_str(&csv::line(fields));
    }
    text
}
