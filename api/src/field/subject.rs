//! The subjects of operations and approvals, and their errors.

use serde::Serialize;
use utoipa::ToSchema;

/// The subject of an object.
#[derive(Serialize, ToSchema)]
pub struct Subject {
    #[serde(rename = "type")]
    #[schema(example = "offering")]
    pub kind: String,
    #[schema(example = "off_01jc8yq3k5e9v8w2m4n6p7r9st")]
    pub id: String,
}

/// An error code.
#[derive(Serialize, ToSchema)]
pub struct Trouble {
    #[schema(example = "snapshot_mismatch")]
    pub code: String,
    pub detail: Option<String>,
}
