//! `/blockchain/signers`: the lanes, how busy each is, and what a worker saw of it on its chain.

use alloy_primitives::U256;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::Uri;
use axum::response::Response;
use muniment_domain::db::Tx;
use muniment_domain::idempotency::Answer;
use muniment_domain::lane::{self as lanes, Lane};
use muniment_domain::point::Point;
use muniment_domain::{chain, id, step};
use muniment_workflows::lane::{self, Resumable};
use muniment_workflows::requester::Requester;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::act::{self, Act, Form, Written};
use crate::app::App;
use crate::error::Result;
use crate::instant;
use crate::pages::Parameters;

/// `GET`: every lane of every chain. A request never waits for a node: the chain's side is as of `observed_at`.
pub async fn list(State(app): State<App>, uri: Uri) -> Result<Json<Value>> {
    Parameters::read(&uri, &[])?;
    let mut tx = app.db.read().await?;
    let mut data = Vec::new();
    for chain in chain::all(&mut tx).await? {
        for lane in lanes::of_chain(&mut tx, chain.chain_id).await? {
            data.push(item(&app, &mut tx, &lane).await?);
        }
    }
    Ok(Json(json!({ "data": data })))
}

async fn item(app: &App, tx: &mut Tx, lane: &Lane) -> muniment_domain::Result<Value> {
    let config = app.chain(lane.chain_id);
    let in_flight = step::in_flight(tx, &lane.id).await?;
    let low = config.map(|chain| U256::from(chain.low_balance_gwei) * U256::from(1_000_000_000u64));
    Ok(json!({
        "id": lane.id, "address": lane.signer.0.to_checksum(None), "chain_id": lane.chain_id, "network": app.network(lane.chain_id),
        "next_nonce": lane.next_nonce, "chain_nonce_latest": lane.chain_nonce_latest, "chain_nonce_pending": lane.chain_nonce_pending,
        "chain_nonce_finalized": lane.chain_nonce_finalized, "in_flight": in_flight,
        "in_flight_max": config.map(|chain| chain.in_flight_max), "balance_wei": lane.balance_wei.map(|wei| wei.to_string()),
        "low_balance": lane.balance_wei.zip(low).map(|(balance, low)| balance.0 < low), "is_agent": lane.is_agent,
        "observed_at": instant::optional(lane.observed_at), "lane_state": lane.mode, "lane_reason": lane.mode_reason,
        "version": lane.version, "created_at": instant::text(lane.created_at), "updated_at": instant::text(lane.updated_at),
    }))
}

/// Why a signer is stopped, or signs again.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Body {
    reason: String,
}

impl Form for Body {
    fn check(&self) -> Result<()> {
        act::check_reason(&self.reason)
    }
}

/// `POST …/{id}/pause`: it signs nothing more; what it signed is still followed.
pub async fn pause(
    State(app): State<App>,
    Path(id): Path<String>,
    Written(submission): Written<Body>,
) -> Result<Response> {
    id::check("lan", &id)?;
    act::perform(&app, &submission, &Pause { id: &id, reason: &submission.body.reason }).await
}

/// `POST …/{id}/resume`: it signs again, out of quarantine above everything that is final on its chain.
pub async fn resume(
    State(app): State<App>,
    Path(id): Path<String>,
    Written(submission): Written<Body>,
) -> Result<Response> {
    id::check("lan", &id)?;
    act::perform(&app, &submission, &Resume { id: &id, reason: &submission.body.reason }).await
}

struct Pause<'a> {
    id: &'a str,
    reason: &'a str,
}

impl Act for Pause<'_> {
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
    id: &'a str,
    reason: &'a str,
}

impl Act for Resume<'_> {
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

async fn answer(app: &App, tx: &mut Tx, lane_id: &str) -> muniment_domain::Result<(Answer, Point)> {
    let lane = lanes::find(tx, lane_id).await?;
    let body = item(app, tx, &lane).await?.to_string();
    Ok((Answer { status: 200, location: None, body }, Point::Mode))
}
