//! `GET /blockchain/signers`: the lanes, and how busy each is.

use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use muniment_domain::lane::{self, Lane};
use muniment_domain::{chain, step};
use serde_json::{Value, json};

use crate::app::App;
use crate::error::Result;
use crate::instant;
use crate::pages::Parameters;

/// Every lane of every chain. What the chain itself knows of them, `muniment doctor` asks: a request never waits for a node.
pub async fn list(State(app): State<App>, uri: Uri) -> Result<Json<Value>> {
    Parameters::read(&uri, &[])?;
    let mut tx = app.db.read().await?;
    let mut data = Vec::new();
    for chain in chain::all(&mut tx).await? {
        for lane in lane::of_chain(&mut tx, chain.chain_id).await? {
            let in_flight = step::in_flight(&mut tx, &lane.id).await?;
            data.push(item(&app, &lane, in_flight));
        }
    }
    Ok(Json(json!({ "data": data })))
}

fn item(app: &App, lane: &Lane, in_flight: i64) -> Value {
    json!({
        "id": lane.id, "address": lane.signer.0.to_checksum(None), "chain_id": lane.chain_id, "network": app.network(lane.chain_id),
        "next_nonce": lane.next_nonce, "in_flight": in_flight,
        "in_flight_max": app.chain(lane.chain_id).map(|chain| chain.in_flight_max),
        "balance_wei": lane.balance_wei.map(|wei| wei.to_string()), "lane_state": lane.mode, "lane_reason": lane.mode_reason,
        "version": lane.version, "created_at": instant::text(lane.created_at), "updated_at": instant::text(lane.updated_at),
    })
}
