//! `GET /v1/networks`: the chains that offerings can name.

use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use muniment_activities::config::Finality;
use serde::Serialize;
use utoipa::ToSchema;

use crate::access::permission::Access;
use crate::access::route::{Route, route};
use crate::app::App;
use crate::http::error::Result;
use crate::http::pages::Parameters;

/// The endpoints of networks.
pub fn routes() -> Vec<Route> {
    vec![route!(list, Access::Public)]
}

/// The configured networks.
#[derive(Serialize, ToSchema)]
pub struct Networks {
    data: Vec<View>,
}

/// A chain that offerings can name.
#[derive(Serialize, ToSchema)]
#[schema(as = Network)]
struct View {
    /// What an offering names as its `network`.
    #[schema(example = "sepolia")]
    key: String,
    /// The name that answers show.
    #[schema(example = "Sepolia")]
    name: String,
    chain_id: u64,
    /// Where people see a transaction. Null if there is no explorer.
    explorer_url: Option<String>,
    /// The number of confirmations that make a block final. Null where the chain itself says which block is final.
    confirmations: Option<u64>,
}

/// List the networks that offerings can be on.
#[utoipa::path(get, path = "/v1/networks", responses((status = 200, body = Networks)))]
pub async fn list(State(app): State<App>, uri: Uri) -> Result<Json<Networks>> {
    Parameters::read(&uri, &[])?;
    let view = |chain: &muniment_activities::config::ChainConfig| View {
        key: chain.key.clone(),
        name: chain.name.clone(),
        chain_id: chain.chain_id,
        explorer_url: chain.explorer_url.clone(),
        confirmations: match chain.finality {
            Finality::Tag => None,
            Finality::Confirmations(number) => Some(number),
        },
    };
    Ok(Json(Networks { data: app.chains().iter().map(view).collect() }))
}
