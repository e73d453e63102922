//! Webhook endpoints that the platform disabled. One that its owner disabled needs no attention.

use muniment_domain::webhook::DISABLED_BY_OWNER;
use serde::Deserialize;

use crate::console::desk::Desk;
use crate::http::error::Result;

/// No owner can have more endpoints, so none that the platform disabled is left out.
const DISABLED: &str = "/v1/webhooks/endpoints?status=disabled&limit=50";

/// A disabled endpoint.
#[derive(Deserialize)]
pub struct Endpoint {
    pub id: String,
    pub url: String,
    pub disabled_reason: Option<String>,
}

#[derive(Deserialize)]
struct Disabled {
    data: Vec<Endpoint>,
}

/// Reads them.
pub async fn endpoints(desk: &Desk) -> Result<Vec<Endpoint>> {
    let disabled: Disabled = desk.read(DISABLED).await?;
    let by_platform = |one: &Endpoint| one.disabled_reason.as_deref().is_some_and(|why| why != DISABLED_BY_OWNER);
    Ok(disabled.data.into_iter().filter(by_platform).collect())
}
