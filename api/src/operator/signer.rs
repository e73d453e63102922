//! `/blockchain/signers`: the signers with their lanes, and their chain values as a worker saw them.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::Uri;
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_activities::config::ChainConfig;
use muniment_activities::contract::registry;
use muniment_domain::db::Tx;
use muniment_domain::id::{LaneId, OfferingId};
use muniment_domain::idempotency::Answer;
use muniment_domain::lane::{self as lanes, Lane, Mode};
use muniment_domain::point::Point;
use muniment_domain::{chain, operation, step};
use muniment_workflows::operator::lane::{self, Resumable};
use muniment_workflows::requester::Requester;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use crate::app::App;
use crate::change::idempotency::{self, IdempotencyKey};
use crate::change::submission::{Form, Submission};
use crate::change::{Change, check_reason};
use crate::field::address::Typed;
use crate::http::error::Result;
use crate::http::instant::Instant;
use crate::http::pages::Parameters;
use crate::operation::{Short, short};

/// List the signers of every chain.
///
/// The request does not ask the chain. Chain values are as of `observed_at`.
#[utoipa::path(
    get,
    path = "/blockchain/signers",
    responses((status = 200, body = Signers)),
)]
pub async fn list(State(app): State<App>, uri: Uri) -> Result<Json<Signers>> {
    Parameters::read(&uri, &[])?;
    let mut tx = app.db.read().await?;
    let mut data = Vec::new();
    for chain in chain::all(&mut tx).await? {
        for lane in lanes::of_chain(&mut tx, chain.chain_id).await? {
            data.push(item(&app, &mut tx, &lane).await?);
        }
    }
    Ok(Json(Signers { data }))
}

/// A signer with its lane, and its chain values as a worker last saw them.
#[derive(Serialize, ToSchema)]
#[schema(as = Signer)]
pub struct View {
    id: LaneId,
    address: Typed,
    chain_id: i64,
    network: String,
    /// The next nonce that will be signed.
    next_nonce: i64,
    /// The nonce at the newest block.
    chain_nonce_latest: Option<i64>,
    /// The nonce including pending transactions.
    chain_nonce_pending: Option<i64>,
    /// The nonce at the newest final block.
    chain_nonce_finalized: Option<i64>,
    /// The number of signed transactions that are not in a block.
    in_flight: i64,
    in_flight_max: Option<u32>,
    /// What waits with the lowest nonce in no block; everything else in flight is behind it. Null if nothing is in flight.
    front: Option<Front>,
    /// The balance of the signer in wei.
    balance_wei: Option<String>,
    /// Whether the balance is below the warning level.
    low_balance: Option<bool>,
    /// What the signer spends on gas in a day, in wei, as its balance shows it. The last days count most. Null before it is known.
    #[schema(example = "4120000000000000")]
    spent_wei_per_day: Option<String>,
    /// How many hours the balance lasts at this pace. Null if nothing is spent.
    #[schema(example = 43)]
    gas_hours_left: Option<i64>,
    /// Whether the signer has an agent role, on the whole platform or for an offering.
    is_agent: Option<bool>,
    /// The roles of the signer in the registry. One entry for the whole platform, and one for each offering with roles of its own.
    roles: Option<Vec<Roles>>,
    /// When a worker last read the chain values.
    observed_at: Option<Instant>,
    /// The mode of the lane.
    lane_state: Mode,
    /// The reason of the lane's mode.
    lane_reason: Option<String>,
    version: i64,
    created_at: Instant,
    updated_at: Instant,
}

/// The transaction in flight with the lowest nonce.
#[derive(Serialize, ToSchema)]
#[schema(as = SignerFront)]
pub struct Front {
    nonce: i64,
    /// Its operation.
    operation: Short,
}

impl Front {
    async fn of(app: &App, tx: &mut Tx, lane: &Lane) -> muniment_domain::Result<Option<Self>> {
        let Some(step) = step::lowest_signed_of_lane(tx, &lane.id).await? else { return Ok(None) };
        let operation = short(app, &operation::find(tx, &step.operation_id).await?);
        Ok(step.nonce.map(|nonce| Self { nonce, operation }))
    }
}

/// Roles of a signer.
#[derive(Serialize, ToSchema)]
#[schema(as = SignerRoles)]
pub struct Roles {
    /// The offering to which the roles are limited. Null if they count on the whole platform.
    offering_id: Option<OfferingId>,
    /// The roles: issuer, custody, payout, compliance.
    #[schema(example = json!(["issuer", "compliance"]))]
    roles: Vec<&'static str>,
}

impl Roles {
    fn of(granted: &lanes::Granted) -> Self {
        Self { offering_id: granted.offering_id.clone(), roles: registry::Roles(granted.roles).list() }
    }
}

/// All signers.
#[derive(Serialize, ToSchema)]
pub struct Signers {
    data: Vec<View>,
}

async fn item(app: &App, tx: &mut Tx, lane: &Lane) -> muniment_domain::Result<View> {
    let config = app.chain(lane.chain_id);
    let in_flight = step::in_flight(tx, &lane.id).await?;
    let front = if in_flight > 0 { Front::of(app, tx, lane).await? } else { None };
    let (now, spending) = (tx.now(), lane.spending(tx.now()));
    let low = config.map(ChainConfig::low_balance);
    Ok(View {
        id: lane.id.clone(),
        address: Typed(lane.signer.0),
        chain_id: lane.chain_id,
        network: app.network(lane.chain_id),
        next_nonce: lane.next_nonce,
        chain_nonce_latest: lane.chain_nonce_latest,
        chain_nonce_pending: lane.chain_nonce_pending,
        chain_nonce_finalized: lane.chain_nonce_finalized,
        in_flight,
        in_flight_max: config.map(|chain| chain.in_flight_max),
        front,
        balance_wei: lane.balance_wei.map(|wei| wei.to_string()),
        low_balance: lane.balance_wei.zip(low).map(|(balance, low)| balance.0 < low),
        spent_wei_per_day: spending.wei_per_day(now).map(|wei| wei.to_string()),
        gas_hours_left: lane.balance_wei.and_then(|balance| spending.hours_left(balance.0, now)),
        is_agent: lane.is_agent,
        roles: lane.roles.as_ref().map(|granted| granted.iter().map(Roles::of).collect()),
        observed_at: lane.observed_at.map(Instant),
        lane_state: lane.mode,
        lane_reason: lane.mode_reason.clone(),
        version: lane.version,
        created_at: Instant(lane.created_at),
        updated_at: Instant(lane.updated_at),
    })
}

/// The reason to pause or resume the signer.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = SignerMove)]
#[serde(deny_unknown_fields)]
pub struct Body {
    #[schema(max_length = 500)]
    reason: String,
}

impl Form for Body {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        check_reason(&self.reason)
    }
}

/// Pause a signer.
///
/// It signs nothing new. Transactions that are already signed are still followed.
#[utoipa::path(
    post,
    path = "/blockchain/signers/{id}/pause",
    request_body = Body,
    params(IdempotencyKey),
    responses((status = 200, body = View)),
    extensions(("x-codes" = json!(["invalid_state"]))),
)]
pub async fn pause(State(app): State<App>, Path(id): Path<LaneId>, submission: Submission<Body>) -> Result<Response> {
    id.check()?;
    idempotency::perform(&app, &submission, &Pause { id: &id, reason: &submission.body.reason }).await
}

/// Let a signer sign again.
///
/// After a quarantine it continues above every nonce that is final on its chain.
#[utoipa::path(
    post,
    path = "/blockchain/signers/{id}/resume",
    request_body = Body,
    params(IdempotencyKey),
    responses((status = 200, body = View)),
    extensions(("x-codes" = json!(["invalid_state", "unknown_calls", "chain_halted", "unknown_chain", "chain_unavailable"]))),
)]
pub async fn resume(State(app): State<App>, Path(id): Path<LaneId>, submission: Submission<Body>) -> Result<Response> {
    id.check()?;
    idempotency::perform(&app, &submission, &Resume { id: &id, reason: &submission.body.reason }).await
}

struct Pause<'a> {
    id: &'a LaneId,
    reason: &'a str,
}

impl Change for Pause<'_> {
    type Decision = ();

    async fn decide(&self, _: &App) -> Result<()> {
        Ok(())
    }

    async fn apply(&self, app: &App, tx: &mut Tx, (): (), by: Requester) -> muniment_domain::Result<(Answer, Point)> {
        lane::stop(tx, self.id, &by.actor, self.reason).await?;
        answer(app, tx, self.id).await
    }
}

struct Resume<'a> {
    id: &'a LaneId,
    reason: &'a str,
}

impl Change for Resume<'_> {
    type Decision = Resumable;

    async fn decide(&self, app: &App) -> Result<Resumable> {
        Ok(lane::may_resume(&app.desk, self.id).await?)
    }

    async fn apply(
        &self,
        app: &App,
        tx: &mut Tx,
        resumed: Resumable,
        by: Requester,
    ) -> muniment_domain::Result<(Answer, Point)> {
        lane::restart(tx, &resumed, &by.actor, self.reason).await?;
        answer(app, tx, self.id).await
    }
}

async fn answer(app: &App, tx: &mut Tx, lane_id: &LaneId) -> muniment_domain::Result<(Answer, Point)> {
    let lane = lanes::find(tx, lane_id).await?;
    let body = json!(item(app, tx, &lane).await?).to_string();
    Ok((Answer { status: 200, location: None, body }, Point::Mode))
}
