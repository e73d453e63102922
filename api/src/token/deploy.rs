//! `POST /blockchain/deploy-token`.

use axum::extract::State;
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::id::OfferingId;
use muniment_domain::idempotency::Answer;
use muniment_workflows::requester::Requester;
use muniment_workflows::token::deploy;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::change::ChangeRequest;
use crate::change::idempotency::{self, IdempotencyKey};
use crate::change::submission::{Form, Submission};
use crate::field::id::check_offering_id;
use crate::http::error::{Problem, Result, check_that};
use crate::operation;

/// How long a name is.
const NAME_CHARACTERS: std::ops::RangeInclusive<usize> = 3..=160;

/// The request body.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = DeployToken)]
#[serde(deny_unknown_fields)]
pub struct Body {
    offering_id: OfferingId,
    #[schema(min_length = 3, max_length = 160, example = "Solar Park Alentejo")]
    name: Option<String>,
    #[schema(pattern = "^[A-Z0-9]{2,11}$", example = "SOLAR")]
    symbol: Option<String>,
    caps: Option<Caps>,
    #[schema(min_items = 1, max_items = 32)]
    partitions: Option<Vec<Partition>>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = NewTokenCaps)]
#[serde(deny_unknown_fields)]
struct Caps {
    /// The maximum supply in base units, as digits.
    #[schema(example = "100000000")]
    supply_units: Option<String>,
    #[schema(minimum = 1)]
    holder_cap: Option<i64>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = NewTokenPartition)]
#[serde(deny_unknown_fields)]
struct Partition {
    /// The maximum supply in base units, as digits.
    #[schema(example = "100000000")]
    cap_units: Option<String>,
    /// Whether transfers are restricted.
    #[serde(default)]
    restricted: bool,
    #[serde(default)]
    rule144: bool,
}

/// Deploy the token of an offering.
///
/// Answers 202 with the operation to follow.
#[utoipa::path(
    post,
    path = "/blockchain/deploy-token",
    request_body = Body,
    params(IdempotencyKey),
    responses((status = 202, body = operation::Short)),
    extensions(("x-codes" = json!(["not_found", "invalid_state", "token_already_deployed", "operation_in_progress", "unknown_chain", "contract_missing"]))),
)]
pub async fn deploy_token(State(app): State<App>, submission: Submission<Body>) -> Result<Response> {
    idempotency::once(&app, &submission).await
}

impl Form for Body {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        let is_name = self.name.as_ref().is_none_or(|name| NAME_CHARACTERS.contains(&name.trim().chars().count()));
        let is_symbol = |text: &String| {
            (2..=11).contains(&text.len())
                && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
        };
        let is_symbol = self.symbol.as_ref().is_none_or(is_symbol);
        let is_cap = self.caps.as_ref().and_then(|caps| caps.holder_cap).is_none_or(|cap| cap >= 1);
        let symbol = "The symbol must have 2 to 11 capital letters and digits.";
        Problem::all([
            check_offering_id(&self.offering_id),
            check_that(is_name, "/name", "length_out_of_range", "The name must have 3 to 160 characters."),
            check_that(is_symbol, "/symbol", "symbol_format", symbol),
            check_that(is_cap, "/caps/holder_cap", "below_minimum", "At least one holder must be allowed."),
        ])
    }
}

impl ChangeRequest for Body {
    async fn accept(&self, app: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        let request = self.request();
        let operation = deploy::request(tx, &app.settings, request, &by).await?;
        Ok(operation::accepted(app, &operation))
    }
}

impl Body {
    fn request(&self) -> deploy::Request {
        let partition = |p: &Partition| deploy::Partition {
            cap_units: p.cap_units.clone(),
            restricted: p.restricted,
            rule144: p.rule144,
        };
        deploy::Request {
            offering_id: self.offering_id.clone(),
            name: self.name.as_ref().map(|name| name.trim().to_owned()),
            symbol: self.symbol.clone(),
            supply_units: self.caps.as_ref().and_then(|caps| caps.supply_units.clone()),
            holder_cap: self.caps.as_ref().and_then(|caps| caps.holder_cap),
            partitions: self.partitions.as_ref().map(|list| list.iter().map(partition).collect()),
        }
    }
}
