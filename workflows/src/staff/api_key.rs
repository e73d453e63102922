//! Platform API keys: one admin requests a key, another approves it, and the requester collects it and alone sees its secret.

use chrono::{DateTime, Utc};
use muniment_domain::approval::{self, Status};
use muniment_domain::db::Tx;
use muniment_domain::id::{ApiKeyId, ApprovalId, UserId};
use muniment_domain::user;
use muniment_domain::{Code, Error, Result, api_key};
use serde::{Deserialize, Serialize};

use crate::approval_request::About;
use crate::requester::Requester;

/// The name of the action that an approval of a key executes.
pub const ACTION: &str = "create_api_key";

/// The key that another admin approves.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    /// The owner: the admin who requested it.
    pub user_id: UserId,
    /// The owner's name for it.
    pub name: String,
    /// Its scopes.
    pub scopes: Vec<String>,
    /// The networks from which it can be used. Empty means any.
    pub allowed_cidrs: Vec<String>,
    /// Requests a minute. Without it, the platform's limit.
    pub per_minute: Option<i64>,
    /// Its expiry.
    pub expires_at: DateTime<Utc>,
}

impl Request {
    /// What the approval shows.
    pub fn about(&self) -> About {
        About::of(
            "user",
            &self.user_id,
            Some(format!("the key {}", self.name)),
            format!("create_api_key:{}:{}", self.user_id, self.name),
        )
    }

    /// Refuses a key that could not be used: its owner is no longer an admin, or it has expired.
    pub async fn check(&self, tx: &mut Tx) -> Result<()> {
        if !user::find(tx, &self.user_id).await?.is_admin() {
            return Err(Error::refused(Code::InvalidState, format!("{} is no longer an admin.", self.user_id)));
        }
        if self.expires_at <= tx.now() {
            return Err(Error::refused(Code::InvalidState, "The expiry of this key has passed."));
        }
        Ok(())
    }
}

/// Creates the approved key, once, for its requester. Returns its id and the key itself.
pub async fn collect(
    tx: &mut Tx,
    approval_id: &ApprovalId,
    keys_max: i64,
    secret: [u8; 32],
    by: &Requester,
) -> Result<(ApiKeyId, String)> {
    let a = approval::find_visible(tx, Some(&by.actor), approval_id).await?;
    let payload = a.verified_payload()?;
    if payload["action"] != ACTION {
        let detail = format!("The approval {} is not for an API key, but for {}.", a.id, a.action);
        return Err(Error::refused(Code::InvalidState, detail));
    }
    let request: Request = serde_json::from_value(payload).map_err(|e| Error::Unreadable {
        what: "approval",
        id: a.id.to_string(),
        why: e.to_string(),
    })?;
    if a.status != Status::Executed {
        return Err(Error::refused(
            Code::InvalidState,
            format!("The approval {} is {}. A key can only be collected after it is executed.", a.id, a.status),
        ));
    }
    if a.expires_at <= tx.now() {
        let detail = "The approval expired before the key was collected. Request a new key.";
        return Err(Error::refused(Code::InvalidState, detail));
    }
    // The count locks the owner's row, so the roles are checked after it.
    api_key::check_limit(tx, &request.user_id, keys_max).await?;
    request.check(tx).await?;
    let new = api_key::New {
        user_id: &request.user_id,
        name: &request.name,
        scopes: &request.scopes.join(" "),
        allowed_cidrs: &request.allowed_cidrs.join(" "),
        per_minute: request.per_minute,
        expires_at: request.expires_at,
        approval_id: Some(&a.id),
        secret,
    };
    api_key::insert(tx, &new).await
}
