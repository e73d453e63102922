//! The health endpoints: whether the process is alive, whether it is ready, and its version.

use axum::Json;
use axum::extract::State;
use muniment_domain::{chain, lease, migrate};
use serde::Serialize;
use utoipa::ToSchema;

use crate::access::permission::Access;
use crate::access::route::{Route, route};
use crate::app::App;
use crate::http::error::{Problem, Result};

/// The endpoints of the process itself.
pub fn routes() -> Vec<Route> {
    vec![route!(alive, Access::Open).probe(), route!(ready, Access::Open).probe(), route!(version, Access::Open)]
}

#[derive(Serialize, ToSchema)]
pub struct Alive {
    #[schema(example = "ok")]
    status: &'static str,
}

/// Check that the process answers.
#[utoipa::path(
    get,
    path = "/healthz",
    responses((status = 200, body = Alive)),
)]
pub async fn alive() -> Json<Alive> {
    Json(Alive { status: "ok" })
}

/// The readiness of the service.
#[derive(Serialize, ToSchema)]
pub struct Ready {
    /// `ok`, or `degraded` if a chain does not answer or a loop of the engine stands still.
    #[schema(example = "ok")]
    status: &'static str,
    chains: Vec<Seen>,
    /// The loops of the engine that some worker has begun.
    loops: Vec<Loop>,
}

/// A loop of the engine, as its lease shows it.
#[derive(Serialize, ToSchema)]
#[schema(as = EngineLoop)]
pub struct Loop {
    /// `chain:` with the chain's id, which follows and settles; or `sweep`.
    #[schema(example = "chain:1")]
    name: String,
    /// `ok`, or `still` if no worker has renewed the lease in time: the loop hangs, or no worker runs.
    #[schema(example = "ok")]
    status: &'static str,
}

/// The state of a chain as a worker last saw it.
#[derive(Serialize, ToSchema)]
#[schema(as = ChainSeen)]
pub struct Seen {
    chain_id: i64,
    /// `ok`, `unreachable` or `halted`.
    #[schema(example = "ok")]
    status: &'static str,
    /// The RPC endpoints that are asked last or never, each with the reason.
    #[schema(required)]
    endpoint_warning: Option<String>,
    /// The number of the newest block.
    head_block: i64,
    /// The number of the newest final block.
    final_block: i64,
}

/// Check that the service is ready.
///
/// The database must answer and be migrated. A chain that does not answer, or an RPC endpoint that lags behind the others, makes the status `degraded`; work is accepted.
#[utoipa::path(
    get,
    path = "/readyz",
    responses((status = 200, body = Ready)),
)]
pub async fn ready(State(app): State<App>) -> Result<Json<Ready>> {
    let (applied, newest) = (migrate::applied_version(&app.db).await?, migrate::newest_version());
    // A newer process may have migrated the database during an update. This one goes on beside it.
    if applied < Some(newest) {
        return Err(Problem::unavailable(format!(
            "the database has migration {applied:?}, this binary needs {newest}"
        )));
    }
    let mut tx = app.db.read().await?;
    let chains = chain::all(&mut tx).await?;
    let now = tx.now();
    let loops = lease::all(&mut tx).await?.into_iter();
    let loops = loops.map(|l| Loop { name: l.name, status: if l.until < now { "still" } else { "ok" } });
    let loops: Vec<_> = loops.collect();
    let stands_still = loops.iter().any(|l| l.status != "ok");
    let is_troubled = |chain: &chain::Chain| {
        chain.halted_reason.is_some() || chain.blocked_reason.is_some() || chain.endpoint_warning.is_some()
    };
    let troubled = stands_still || chains.iter().any(is_troubled);
    let chains: Vec<_> = chains
        .iter()
        .map(|chain| {
            let status = chain.condition();
            let (head_block, final_block) = (chain.head_number, chain.final_number);
            let endpoint_warning = chain.endpoint_warning.clone();
            Seen { chain_id: chain.chain_id, status, endpoint_warning, head_block, final_block }
        })
        .collect();
    Ok(Json(Ready { status: if troubled { "degraded" } else { "ok" }, chains, loops }))
}

/// The version of the service.
#[derive(Serialize, ToSchema)]
pub struct Version {
    #[schema(example = "muniment")]
    name: &'static str,
    #[schema(example = "0.1.0")]
    version: &'static str,
    /// The newest migration that this binary contains.
    migration: i64,
}

/// Read the version of the service.
#[utoipa::path(
    get,
    path = "/version",
    responses((status = 200, body = Version)),
)]
pub async fn version() -> Json<Version> {
    Json(Version { name: "muniment", version: env!("CARGO_PKG_VERSION"), migration: migrate::newest_version() })
}
