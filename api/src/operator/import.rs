//! The calls of a signer that the database does not know, after a restore or a theft of its key: to read, and to import.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::Uri;
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::id::LaneId;
use muniment_domain::idempotency::Answer;
use muniment_domain::point::Point;
use muniment_workflows::reconciliation::import::{self, Call, Match, Origin, UnknownCalls};
use muniment_workflows::requester::Requester;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use crate::app::App;
use crate::change::idempotency::{self, IdempotencyKey};
use crate::change::submission::{Form, Submission};
use crate::change::{Change, check_reason};
use crate::field::address::Typed;
use crate::http::error::{Problem, Result};
use crate::http::pages::Parameters;

/// Calls that one request acknowledges.
const NAMES_MAX: usize = 500;

/// The calls of a signer that the database does not know, in the order of the chain.
#[derive(Serialize, ToSchema)]
#[schema(as = UnknownCalls)]
pub struct View {
    /// The first of the searched blocks. Null if the database cannot have lost a call.
    first_block: Option<u64>,
    /// The last of the searched blocks.
    last_block: Option<u64>,
    /// Whether every call is decided, so that the signer can be resumed.
    is_settled: bool,
    #[schema(max_items = 10000)]
    data: Vec<UnknownCall>,
}

/// A call that the database did not sign.
#[derive(Serialize, ToSchema)]
struct UnknownCall {
    /// The name for an acknowledgement: its transaction hash.
    #[schema(example = "0xabababababababababababababababababababababababababababababababab")]
    name: String,
    block_number: u64,
    nonce: u64,
    /// The function that was called.
    #[schema(example = "mintPage")]
    function: String,
    /// The contract that was called.
    target: Option<Typed>,
    /// Its relation to the platform, as text.
    #[schema(example = "unknown: the deployment of off_01jc8yq3k5e9v8w2m4n6p7r9st")]
    detail: String,
    /// Whether it is decided.
    is_settled: bool,
    /// Whether it matches nothing and must be acknowledged by its name.
    needs_acknowledgement: bool,
    /// The lines of a mint.
    lines: Vec<UnknownLine>,
}

/// A line of a mint that the database did not sign.
#[derive(Serialize, ToSchema)]
struct UnknownLine {
    /// The name for an acknowledgement: the transaction hash, a colon and the number of the line.
    #[schema(example = "0xabababababababababababababababababababababababababababababababab:3")]
    name: String,
    /// The wallet that received the units.
    holder: Typed,
    /// The minted units.
    #[schema(example = "12500")]
    units: String,
    /// The matching subscription, as text.
    #[schema(example = "sub_01jc8yq3k5e9v8w2m4n6p7r9st")]
    detail: String,
    /// Whether it matches no subscription and must be acknowledged by its name.
    needs_acknowledgement: bool,
}

impl View {
    fn of(found: &UnknownCalls) -> Self {
        Self {
            first_block: found.blocks.map(|(first, _)| first),
            last_block: found.blocks.map(|(_, last)| last),
            is_settled: found.calls.iter().all(Call::is_settled),
            data: found.calls.iter().map(UnknownCall::of).collect(),
        }
    }
}

impl UnknownCall {
    fn of(call: &Call) -> Self {
        let lines = match &call.origin {
            Origin::Page(_, _, lines) => lines.as_slice(),
            _ => &[],
        };
        let line = |(index, line): (usize, &Match)| UnknownLine {
            name: call.name(Some(index)),
            holder: Typed(line.line.holder()),
            units: line.line.units().to_string(),
            detail: line.in_words(),
            needs_acknowledgement: line.is_unmatched(),
        };
        Self {
            name: call.name(None),
            block_number: call.mined.block_number,
            nonce: call.mined.nonce,
            function: call.function.clone(),
            target: call.mined.to.map(Typed),
            detail: call.in_words(),
            is_settled: call.is_settled(),
            needs_acknowledgement: call.is_unmatched(),
            lines: lines.iter().enumerate().map(line).collect(),
        }
    }
}

/// List the calls of a signer that the database does not know.
///
/// Asks the chain and changes nothing. Only a signer that was in quarantine can have such calls.
#[utoipa::path(
    get,
    path = "/blockchain/signers/{id}/unknown-calls",
    responses((status = 200, body = View)),
    extensions(("x-codes" = json!(["not_found", "unknown_chain", "chain_unavailable"]))),
)]
pub async fn list(State(app): State<App>, Path(id): Path<LaneId>, uri: Uri) -> Result<Json<View>> {
    id.check()?;
    Parameters::read(&uri, &[])?;
    let network = import::network_of(&app.desk, &id).await?;
    Ok(Json(View::of(&import::find(&app.desk, network, &id).await?)))
}

/// The calls to import.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ImportCalls)]
#[serde(deny_unknown_fields)]
pub struct Body {
    #[schema(max_length = 500)]
    reason: String,
    /// The names of calls and lines to accept although they match nothing.
    #[serde(default)]
    #[schema(max_items = 500, example = json!(["0xabababababababababababababababababababababababababababababababab:3"]))]
    acknowledge: Vec<String>,
}

impl Form for Body {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        let too_many = || {
            let detail = format!("At most {NAMES_MAX} names at once.");
            Problem::malformed("/acknowledge", "count_out_of_range", detail)
        };
        let unreadable = |index: usize| {
            let detail = "Send 0x and 64 hexadecimal digits for a call, with a colon and a number for a line of it.";
            Problem::malformed(format!("/acknowledge/{index}"), "hash_format", detail)
        };
        let names = self.acknowledge.iter().map(|name| import::parse_name(name));
        let wrong = names.enumerate().filter(|(_, name)| name.is_none()).map(|(index, _)| Err(unreadable(index)));
        let many = (self.acknowledge.len() > NAMES_MAX).then(|| Err(too_many()));
        Problem::all([check_reason(&self.reason)].into_iter().chain(many).chain(wrong))
    }
}

/// Import the calls of a signer that the database does not know.
///
/// Stores each call that matches the platform's data as a confirmed operation, and stores the acknowledgement of the named ones. Nothing is
/// sent. The answer shows the calls that are left; a signer can be resumed when there are none.
#[utoipa::path(
    post,
    path = "/blockchain/signers/{id}/import-calls",
    request_body = Body,
    params(IdempotencyKey),
    responses((status = 200, body = View)),
    extensions(("x-codes" = json!(["not_found", "invalid_state", "unknown_calls", "effect_mismatch", "unknown_chain", "chain_unavailable"]))),
)]
pub async fn handle(State(app): State<App>, Path(id): Path<LaneId>, submission: Submission<Body>) -> Result<Response> {
    id.check()?;
    let actor = submission.sent.key.principal.as_str();
    idempotency::perform(&app, &submission, &Import { id: &id, body: &submission.body, actor }).await
}

struct Import<'a> {
    id: &'a LaneId,
    body: &'a Body,
    actor: &'a str,
}

impl Change for Import<'_> {
    type Decision = UnknownCalls;

    /// Each call is imported in a commit of its own, with a claim on its hash. So a request that is repeated after a crash goes on where
    /// the first one ended.
    async fn decide(&self, app: &App) -> Result<UnknownCalls> {
        let network = import::network_of(&app.desk, self.id).await?;
        let names: Vec<_> = self.body.acknowledge.iter().filter_map(|name| import::parse_name(name)).collect();
        import::acknowledge(&app.desk, network, self.id, &names, self.actor).await?;
        import::apply(&app.desk, network, self.id, self.actor).await?;
        Ok(import::find(&app.desk, network, self.id).await?)
    }

    async fn apply(
        &self,
        _: &App,
        _: &mut Tx,
        found: UnknownCalls,
        _: Requester,
    ) -> muniment_domain::Result<(Answer, Point)> {
        let body = json!(View::of(&found)).to_string();
        Ok((Answer { status: 200, location: None, body }, Point::Adopt))
    }
}
