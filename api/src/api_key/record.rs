//! An API key in answers.

use muniment_domain::api_key::ApiKey;
use muniment_domain::id::{ApiKeyId, ApprovalId, UserId};
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::instant::Instant;

/// An API key, without its secret.
#[derive(Serialize, ToSchema)]
#[schema(as = ApiKey)]
pub struct View {
    id: ApiKeyId,
    user_id: UserId,
    name: String,
    prefix: String,
    scopes: Vec<String>,
    allowed_cidrs: Vec<String>,
    /// Requests per minute. Null means the platform's limit.
    rate_limit: Option<i64>,
    expires_at: Instant,
    revoked_at: Option<Instant>,
    replaced_by: Option<String>,
    /// The approval of a platform key. Null for a key that replaced another one.
    approval_id: Option<ApprovalId>,
    created_at: Instant,
}

/// An API key with its secret, which is shown once.
#[derive(Serialize, ToSchema)]
#[schema(as = NewApiKey)]
pub struct Made {
    #[serde(flatten)]
    pub shown: View,
    pub key: String,
}

/// An API key as lists show it.
pub fn item(key: &ApiKey) -> View {
    let words = |text: &str| text.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect::<Vec<_>>();
    View {
        id: key.id.clone(),
        user_id: key.user_id.clone(),
        name: key.name.clone(),
        prefix: key.prefix.clone(),
        scopes: words(&key.scopes),
        allowed_cidrs: words(&key.allowed_cidrs),
        rate_limit: key.per_minute,
        expires_at: Instant(key.expires_at),
        revoked_at: key.revoked_at.map(Instant),
        replaced_by: key.replaced_by.clone(),
        approval_id: key.approval_id.clone(),
        created_at: Instant(key.created_at),
    }
}
