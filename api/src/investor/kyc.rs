//! `POST /v1/investor/kyc`: an investor shows who he is. What is handed in can be written and not read: it is sealed before it is stored.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use chrono::NaiveDate;
use muniment_domain::investor::{Level, of_user};
use muniment_domain::kyc::NewCase;
use muniment_domain::point::Point;
use muniment_workflows::kyc;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::profile::check_country;
use super::record;
use crate::app::App;
use crate::body::Input;
use crate::error::{Problem, Result};
use crate::principal::Principal;

const REFERENCE_CHARACTERS_MAX: usize = 200;
const TEXT_CHARACTERS_MAX: usize = 200;

/// What is handed in: a provider's reference, or the data.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Papers {
    level: Level,
    country: Option<String>,
    provider_reference: Option<String>,
    data: Option<Data>,
}

/// What only the platform can open again. No `Debug`: it must not slip into a log.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    date_of_birth: Option<NaiveDate>,
    nationality: Option<String>,
    document_type: Option<String>,
    document_number: Option<String>,
    address: Option<String>,
    source_of_funds: Option<String>,
    document_sha256s: Option<Vec<String>>,
}

/// Hands it in: 202, a reviewer decides.
pub async fn submit(
    State(app): State<App>,
    principal: Principal,
    Input(body): Input<Papers>,
) -> Result<impl IntoResponse> {
    principal.email_proved(&app)?;
    check(&body)?;
    let mut tx = app.db.begin().await?;
    let user_id = &principal.0.user_id;
    let owner = of_user(&mut tx, user_id).await?.id;
    let sealed = match &body.data {
        Some(data) => {
            let plain = serde_json::to_vec(data).map_err(Problem::internal)?;
            let sealed = app.auth.secrets.seal(&format!("kyc {owner}"), &plain, app.db.ids().bytes());
            Some(sealed.ok_or_else(|| Problem::internal("papers cannot be sealed"))?)
        }
        None => None,
    };
    let new = NewCase {
        level: body.level,
        provider_reference: body.provider_reference.as_deref(),
        data_sealed: sealed.as_deref(),
        submitted_by: user_id,
    };
    let (i, case_id) = kyc::submit(&mut tx, &new, body.country.as_deref()).await?;
    let kyc = record::full(&mut tx, &i, false).await?["kyc"].take();
    tx.commit(Point::Account).await?;
    let answer = json!({ "case_id": case_id, "investor_id": i.id, "kyc": kyc });
    Ok((StatusCode::ACCEPTED, [(header::LOCATION, "/v1/investor/profile")], Json(answer)))
}

fn check(body: &Papers) -> Result<()> {
    check_country("/country", body.country.as_deref())?;
    match (&body.provider_reference, &body.data) {
        (None, None) => {
            Err(Problem::field("/data", "required", "Hand in data, or the reference of a provider that has it."))
        }
        (Some(_), Some(_)) => {
            Err(Problem::field("/data", "unexpected", "Either a provider has the data, or it is handed in here."))
        }
        (Some(reference), None) => check_text("/provider_reference", Some(reference), REFERENCE_CHARACTERS_MAX),
        (None, Some(data)) => check_data(data, body.level),
    }
}

fn check_data(data: &Data, level: Level) -> Result<()> {
    check_country("/data/nationality", data.nationality.as_deref())?;
    let texts = [
        ("/data/document_type", &data.document_type),
        ("/data/document_number", &data.document_number),
        ("/data/address", &data.address),
        ("/data/source_of_funds", &data.source_of_funds),
    ];
    for (pointer, text) in texts {
        check_text(pointer, text.as_deref(), TEXT_CHARACTERS_MAX)?;
    }
    if data.date_of_birth.is_none() || data.document_number.is_none() {
        return Err(Problem::field("/data", "required", "At least date_of_birth and document_number are needed."));
    }
    if level == Level::Enhanced && data.source_of_funds.is_none() {
        return Err(Problem::field(
            "/data/source_of_funds",
            "required",
            "The enhanced level asks where the money comes from.",
        ));
    }
    Ok(())
}

fn check_text(pointer: &'static str, text: Option<&str>, characters_max: usize) -> Result<()> {
    let sound =
        |text: &str| (1..=characters_max).contains(&text.trim().chars().count()) && !text.chars().any(char::is_control);
    if text.is_none_or(sound) {
        return Ok(());
    }
    Err(Problem::field(pointer, "text_format", format!("One line of 1 to {characters_max} characters is expected.")))
}
