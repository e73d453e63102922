//! Identity data. An investor submits it (`POST /v1/investor/kyc`), it is encrypted before it is stored, and only the reviewer of a decision
//! reads it (`GET /v1/investors/{id}/kyc`).

use axum::Json;
use axum::extract::{Path, State};
use axum::http::Uri;
use axum::response::Response;
use chrono::{DateTime, NaiveDate, Utc};
use muniment_domain::db::Tx;
use muniment_domain::id::{InvestorId, KycCaseId};
use muniment_domain::idempotency::Answer;
use muniment_domain::investor::{self, Level, of_user};
use muniment_domain::kyc::{Case, NewCase, SealedCase, sealed_cases};
use muniment_workflows::investor::kyc;
use muniment_workflows::requester::Requester;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use super::record::{self, KycView};
use crate::app::App;
use crate::change::ChangeRequest;
use crate::change::idempotency::{self, IdempotencyKey};
use crate::change::submission::{Form, Submission};
use crate::field::cause::Digest;
use crate::field::name::check_country;
use crate::http::error::{Problem, Result, check_that};
use crate::http::instant::Instant;
use crate::http::pages::Parameters;

const REFERENCE_CHARACTERS_MAX: usize = 200;
const TEXT_CHARACTERS_MAX: usize = 200;
const DOCUMENTS_MAX: usize = 20;

/// The identity check: either a provider's reference or the data.
#[derive(Deserialize, ToSchema)]
#[schema(as = KycPapers)]
#[serde(deny_unknown_fields)]
pub struct Papers {
    level: Level,
    /// The country of residence. Required if it is not known yet.
    #[schema(example = "DE")]
    country: Option<String>,
    /// The reference at the identity provider, instead of `data`.
    #[schema(min_length = 1, max_length = 200, example = json!(null))]
    provider_reference: Option<String>,
    data: Option<Data>,
}

/// Personal data. It is stored encrypted.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = KycData)]
#[serde(deny_unknown_fields)]
struct Data {
    /// The date of birth. Required.
    #[schema(value_type = Option<String>, format = Date, example = "1984-02-29")]
    date_of_birth: Option<NaiveDate>,
    /// The nationality (ISO 3166-1).
    #[schema(pattern = "^[A-Z]{2}$", example = "PT")]
    nationality: Option<String>,
    /// The type of the identity document.
    #[schema(min_length = 1, max_length = 200, example = "passport")]
    document_type: Option<String>,
    /// The number of the identity document. Required.
    #[schema(min_length = 1, max_length = 200, example = "L01X00T47")]
    document_number: Option<String>,
    #[schema(min_length = 1, max_length = 200, example = "Rua das Flores 7, Porto")]
    address: Option<String>,
    /// The source of funds. Required for the level `enhanced`.
    #[schema(min_length = 1, max_length = 200, example = "The sale of a house.")]
    source_of_funds: Option<String>,
    /// The SHA-256 of each document.
    #[schema(max_items = 20)]
    document_sha256s: Option<Vec<Digest>>,
}

/// A submitted identity check.
#[derive(Serialize, ToSchema)]
#[schema(as = KycCase)]
pub struct Handed {
    case_id: KycCaseId,
    investor_id: InvestorId,
    kyc: KycView,
}

/// The submitted identity checks of an investor, for the reviewer.
#[derive(Serialize, ToSchema)]
#[schema(as = KycReview)]
pub struct Review {
    investor_id: InvestorId,
    /// The submissions, newest first.
    cases: Vec<Reviewed>,
}

/// A submitted identity check with its data.
#[derive(Serialize, ToSchema)]
#[schema(as = KycCaseReviewed)]
struct Reviewed {
    id: KycCaseId,
    level: Level,
    /// The reference at the identity provider, which then has the data.
    #[schema(example = json!(null))]
    provider_reference: Option<String>,
    /// The data as the investor sent it. Null if a provider has it, if the investor is erased, or if the key file that encrypted it was lost.
    data: Option<Data>,
    created_at: Instant,
}

/// Read the identity data that a decision is about.
///
/// The reviewer must have confirmed their identity, and each read is in the audit log.
#[utoipa::path(
    get,
    path = "/v1/investors/{id}/kyc",
    responses((status = 200, body = Review)),
    extensions(("x-codes" = json!(["unknown_parameter"]))),
)]
pub async fn review(State(app): State<App>, Path(id): Path<InvestorId>, uri: Uri) -> Result<Json<Review>> {
    Parameters::read(&uri, &[])?;
    let mut tx = app.db.read().await?;
    let owner = investor::find(&mut tx, &id).await?.id;
    let mut cases = Vec::new();
    for SealedCase { case, data_sealed } in sealed_cases(&mut tx, &owner).await? {
        let sealed = data_sealed.filter(|sealed| !sealed.is_empty());
        let data = sealed.and_then(|sealed| unsealed(&app, &owner, &case.id, &sealed));
        let Case { id, level, provider_reference, created_at } = case;
        cases.push(Reviewed { id, level, provider_reference, data, created_at: Instant(created_at) });
    }
    Ok(Json(Review { investor_id: owner, cases }))
}

/// The data of a case. A case that only a lost key file decrypts shows none, so that what the investor submits again can be read.
fn unsealed(app: &App, owner: &str, case_id: &KycCaseId, sealed: &str) -> Option<Data> {
    let plain = app.auth.secrets.unseal(&purpose(owner), sealed);
    let data = plain.and_then(|plain| serde_json::from_slice(&plain).ok());
    if data.is_none() {
        tracing::error!(kyc.case_id = %case_id, "the data of a case cannot be decrypted by auth.key_file");
    }
    data
}

/// The purpose of the encryption. It binds the data to its investor.
fn purpose(owner: &str) -> String {
    format!("kyc {owner}")
}

/// Submit identity documents (KYC).
///
/// Answers 202. A reviewer decides.
#[utoipa::path(
    post,
    path = "/v1/investor/kyc",
    request_body = Papers,
    params(IdempotencyKey),
    responses((status = 202, body = Handed, headers(("Location" = String)))),
    extensions(("x-codes" = json!(["not_found", "invalid_state"]))),
)]
pub async fn submit(State(app): State<App>, submission: Submission<Papers>) -> Result<Response> {
    idempotency::once(&app, &submission).await
}

impl Form for Papers {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        check(self)
    }
}

impl ChangeRequest for Papers {
    async fn accept(&self, app: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        let owner = of_user(tx, &by.user_id()).await?.id;
        let sealed = self.data.as_ref().map(|data| sealed(app, &owner, data)).transpose()?;
        let new = NewCase {
            level: self.level,
            provider_reference: self.provider_reference.as_deref(),
            data_sealed: sealed.as_deref(),
            submitted_by: &by.actor,
        };
        let (i, case_id) = kyc::submit(tx, &new, self.country.as_deref()).await?;
        let handed = Handed { case_id, kyc: record::kyc_of(&i), investor_id: i.id };
        let location = Some("/v1/investor/profile".to_owned());
        Ok(Answer { status: 202, location, body: json!(handed).to_string() })
    }
}

fn sealed(app: &App, owner: &str, data: &Data) -> muniment_domain::Result<String> {
    app.seal(&purpose(owner), json!(data).to_string().as_bytes())
}

fn check(body: &Papers) -> Result<()> {
    Problem::all([check_country("/country", body.country.as_deref()), check_evidence(body)])
}

fn check_evidence(body: &Papers) -> Result<()> {
    match (&body.provider_reference, &body.data) {
        (None, None) => Err(Problem::field("/data", "required", "Send either data or provider_reference.")),
        (Some(_), Some(_)) => {
            Err(Problem::field("/data", "unexpected", "Send either data or provider_reference, not both."))
        }
        (Some(reference), None) => check_text("/provider_reference", Some(reference), REFERENCE_CHARACTERS_MAX),
        (None, Some(data)) => check_data(data, body.level),
    }
}

fn check_data(data: &Data, level: Level) -> Result<()> {
    let texts = [
        ("/data/document_type", &data.document_type),
        ("/data/document_number", &data.document_number),
        ("/data/address", &data.address),
        ("/data/source_of_funds", &data.source_of_funds),
    ];
    let fits = data.document_sha256s.as_ref().is_none_or(|digests| digests.len() <= DOCUMENTS_MAX);
    let has_source = level != Level::Enhanced || data.source_of_funds.is_some();
    let (source, is_required) = ("source_of_funds is required for the level enhanced.", "required");
    let most = format!("At most {DOCUMENTS_MAX} documents are allowed.");
    let others = [
        check_country("/data/nationality", data.nationality.as_deref()),
        check_that(fits, "/data/document_sha256s", "too_long", most),
        check_that(data.date_of_birth.is_some(), "/data/date_of_birth", is_required, "The date of birth is required."),
        check_that(
            data.document_number.is_some(),
            "/data/document_number",
            is_required,
            "The number of the identity document is required.",
        ),
        check_that(has_source, "/data/source_of_funds", is_required, source),
    ];
    let texts = texts.map(|(pointer, text)| check_text(pointer, text.as_deref(), TEXT_CHARACTERS_MAX));
    Problem::all(texts.into_iter().chain(others))
}

fn check_text(pointer: &'static str, text: Option<&str>, characters_max: usize) -> Result<()> {
    let sound =
        |text: &str| (1..=characters_max).contains(&text.trim().chars().count()) && !text.chars().any(char::is_control);
    if text.is_none_or(sound) {
        return Ok(());
    }
    Err(Problem::field(pointer, "text_format", format!("Use one line of 1 to {characters_max} characters.")))
}
