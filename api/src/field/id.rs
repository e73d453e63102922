//! Ids in bodies, and the paths of the objects behind them.

use muniment_domain::id::OfferingId;

use crate::http::error::{Result, check_that};

/// An id that cannot be one is a misfit of the body, not a missing thing.
pub fn check_offering_id(id: &OfferingId) -> Result<()> {
    check_that(id.is_sound(), "/offering_id", "id_format", "The id of an offering looks like off_01k….")
}

/// The path of the thing with this id, by the prefix of the id.
pub fn location(id: &str) -> String {
    let collection = match id.split_once('_').map(|(prefix, _)| prefix) {
        Some("apr") => "/v1/approvals",
        Some("dist") => "/v1/distributions",
        Some("inv") => "/v1/investors",
        Some("off") => "/v1/offerings",
        Some("sub") => "/v1/subscriptions",
        Some("whe") => "/v1/webhooks/endpoints",
        _ => "/blockchain/operations",
    };
    format!("{collection}/{id}")
}
