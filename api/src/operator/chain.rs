//! `GET /blockchain/chains`: how far each chain is followed, and how its endpoints answer.

use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use muniment_domain::chain::{self, Chain, Endpoint};
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::http::error::Result;
use crate::http::instant::Instant;
use crate::http::pages::Parameters;

/// All chains.
#[derive(Serialize, ToSchema)]
pub struct Chains {
    data: Vec<View>,
}

/// A chain as a worker last saw it.
#[derive(Serialize, ToSchema)]
#[schema(as = ChainInFull)]
struct View {
    chain_id: i64,
    network: String,
    /// `ok`, `unreachable` or `halted`.
    #[schema(example = "ok")]
    status: &'static str,
    /// Why it is halted or unreachable.
    #[schema(example = "no endpoint answers")]
    reason: Option<String>,
    /// The number of the newest block.
    head_block: i64,
    /// The number of the newest final block.
    final_block: i64,
    /// When the newest block or the newest final block last changed.
    moved_at: Instant,
    /// Its RPC endpoints, in the order of the configuration.
    endpoints: Vec<EndpointView>,
    /// When the endpoints were last looked at. Null if no worker has done so yet.
    endpoints_seen_at: Option<Instant>,
}

/// An RPC endpoint as the worker that follows its chain last saw it.
#[derive(Serialize, ToSchema)]
#[schema(as = ChainEndpoint)]
struct EndpointView {
    /// The host. The path is not shown: it can hold a key.
    #[schema(example = "https://rpc-1.example")]
    name: String,
    /// Whether its last answer was usable.
    is_up: bool,
    /// Since when it is up or down.
    since: Option<Instant>,
    /// How long its last answer took.
    #[schema(example = 38)]
    latency_milliseconds: Option<i64>,
    /// The number of the newest block that it showed.
    head_block: Option<i64>,
    /// Why it is asked last or never, or did not answer. Null if nothing is wrong with it.
    #[schema(example = "stands still at block 21044170")]
    trouble: Option<String>,
}

/// List the chains with the health of their endpoints.
///
/// The request does not ask a chain. The values are those that a worker last saw.
#[utoipa::path(
    get,
    path = "/blockchain/chains",
    responses((status = 200, body = Chains)),
)]
pub async fn list(State(app): State<App>, uri: Uri) -> Result<Json<Chains>> {
    Parameters::read(&uri, &[])?;
    let mut tx = app.db.read().await?;
    let data = chain::all(&mut tx).await?.into_iter().map(|chain| view(&app, chain)).collect();
    Ok(Json(Chains { data }))
}

fn view(app: &App, chain: Chain) -> View {
    View {
        chain_id: chain.chain_id,
        network: app.network(chain.chain_id),
        status: chain.condition(),
        head_block: chain.head_number,
        final_block: chain.final_number,
        moved_at: Instant(chain.updated_at),
        endpoints: chain.endpoints.map(|known| known.0).unwrap_or_default().into_iter().map(endpoint).collect(),
        endpoints_seen_at: chain.endpoints_seen_at.map(Instant),
        reason: chain.halted_reason.or(chain.blocked_reason),
    }
}

fn endpoint(seen: Endpoint) -> EndpointView {
    let Endpoint { name, up, since, latency_milliseconds, head, trouble } = seen;
    EndpointView { name, is_up: up, since: since.map(Instant), latency_milliseconds, head_block: head, trouble }
}
