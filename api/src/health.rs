//! Whether the process lives, whether it can serve, and what it is.

use axum::Json;
use axum::extract::State;
use muniment_domain::{chain, migrate};
use serde_json::{Value, json};

use crate::app::App;
use crate::error::{Problem, Result};

/// `GET /healthz`: the process answers.
pub async fn alive() -> Json<Value> {
    Json(json!({ "status": "ok" }))
}

/// `GET /readyz`: the database is there and current. A chain that is away makes it degraded, not unready: work is accepted and waits.
pub async fn ready(State(app): State<App>) -> Result<Json<Value>> {
    let (applied, newest) = (migrate::applied_version(&app.db).await?, migrate::newest_version());
    if applied != Some(newest) {
        return Err(Problem::unavailable(format!("the database is at migration {applied:?}, this binary at {newest}")));
    }
    let mut tx = app.db.read().await?;
    let chains = chain::all(&mut tx).await?;
    let troubled = chains.iter().any(|chain| chain.halted_reason.is_some() || chain.blocked_reason.is_some());
    let chains: Vec<_> = chains
        .iter()
        .map(|chain| {
            let status = match (&chain.halted_reason, &chain.blocked_reason) {
                (Some(_), _) => "halted",
                (None, Some(_)) => "unreachable",
                (None, None) => "ok",
            };
            json!({ "chain_id": chain.chain_id, "status": status, "head_block": chain.head_number, "final_block": chain.final_number })
        })
        .collect();
    Ok(Json(json!({ "status": if troubled { "degraded" } else { "ok" }, "chains": chains })))
}

/// `GET /version`.
pub async fn version() -> Json<Value> {
    Json(json!({ "name": "muniment", "version": env!("CARGO_PKG_VERSION"), "migration": migrate::newest_version() }))
}
