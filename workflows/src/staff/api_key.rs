//! A key of the platform: asked for by one admin, allowed by another, and made for whoever asked, who alone sees its secret.

use chrono::{DateTime, Utc};
use muniment_domain::approval::{self, Status};
use muniment_domain::db::Tx;
use muniment_domain::user;
use muniment_domain::{Code, Error, Result, api_key};
use serde::{Deserialize, Serialize};

use crate::approval::action::{About, Action};
use crate::requester::Requester;

/// Exactly the key that another admin allows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    /// For whom it acts: whoever asked.
    pub user_id: String,
    /// What its owner calls it.
    pub name: String,
    /// What it may do.
    pub scopes: Vec<String>,
    /// The networks it may come from; none for any.
    pub allowed_cidrs: Vec<String>,
    /// Requests a minute; none for the platform's limit.
    pub per_minute: Option<i64>,
    /// When it ends.
    pub expires_at: DateTime<Utc>,
}

impl Request {
    /// What it is about.
    pub fn about(&self) -> About {
        About {
            subject_type: "user",
            subject_id: self.user_id.clone(),
            offering_id: None,
            amount: None,
            reason: Some(format!("the key {}", self.name)),
            live_key: format!("create_api_key:{}:{}", self.user_id, self.name),
        }
    }

    /// Refuses a key that would be worth nothing by now: its owner is no admin any more, or its time is over.
    pub async fn check(&self, tx: &mut Tx) -> Result<()> {
        if !user::find(tx, &self.user_id).await?.is_admin() {
            return Err(Error::refused(Code::InvalidState, format!("{} is no admin any more.", self.user_id)));
        }
        if self.expires_at <= tx.now() {
            return Err(Error::refused(Code::InvalidState, "The time of this key is over."));
        }
        Ok(())
    }
}

/// Makes the key that was allowed, for whoever asked for it and once: its id, and the key itself.
pub async fn collect(
    tx: &mut Tx,
    approval_id: &str,
    keys_max: i64,
    secret: [u8; 32],
    by: &Requester,
) -> Result<(String, String)> {
    let a = approval::see(tx, Some(&by.actor), approval_id).await?;
    let action = Action::read(&a.id, a.sealed()?)?;
    let Action::CreateApiKey(request) = action else {
        return Err(Error::refused(Code::InvalidState, format!("{} is about no key, but {}.", a.id, a.action)));
    };
    if a.status != Status::Executed {
        return Err(Error::refused(
            Code::InvalidState,
            format!("The approval {} is {}: it gives no key.", a.id, a.status),
        ));
    }
    if a.expires_at <= tx.now() {
        let detail = "The key was not taken in the time of its approval. Ask for it again.";
        return Err(Error::refused(Code::InvalidState, detail));
    }
    request.check(tx).await?;
    api_key::make_room(tx, &request.user_id, keys_max).await?;
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
