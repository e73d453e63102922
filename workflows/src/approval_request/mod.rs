//! The request for an approval. An operation that needs two people stores it here; `approval` decides it and executes the action.

pub mod lone_admin;

use chrono::Duration;
use muniment_domain::approval::{self, Approval, NewApproval};
use muniment_domain::db::Tx;
use muniment_domain::id::OfferingId;
use muniment_domain::{Error, Result};
use serde::Serialize;
use serde_json::Value;

use crate::engine::queue;
use crate::limits;
use crate::requester::Requester;
use crate::settings::Settings;

/// What the approver sees of an action, and the key that keeps it from being requested twice.
#[derive(Clone, Debug)]
pub struct About {
    /// The type of the subject.
    pub subject_type: &'static str,
    /// The id of the subject.
    pub subject_id: String,
    /// The offering that the subject belongs to.
    pub offering_id: Option<OfferingId>,
    /// The amount in minor units and its currency, if the action moves money.
    pub amount: Option<(i64, String)>,
    /// The requester's reason.
    pub reason: Option<String>,
    /// At most one pending approval may hold this key.
    pub live_key: String,
}

impl About {
    /// An action that belongs to no offering and moves no money.
    pub fn of(subject_type: &'static str, id: &str, reason: Option<String>, live_key: String) -> Self {
        Self { subject_type, subject_id: id.to_owned(), offering_id: None, amount: None, reason, live_key }
    }

    /// A decision about an operation. At most one of each kind waits for an operation.
    pub fn of_operation(decision: &str, id: &str, reason: &str) -> Self {
        Self::of("operation", id, Some(reason.to_owned()), format!("{decision}:{id}"))
    }
}

/// An action that was validated and needs an approval.
#[derive(Clone, Debug)]
pub struct NewRequest {
    /// The name of the action.
    pub action: &'static str,
    /// Whether only an admin can approve it.
    pub by_admins: bool,
    /// What the approver sees.
    pub about: About,
    /// What is stored, hashed and executed.
    pub payload: Value,
}

impl NewRequest {
    /// A request that operators and admins can approve.
    pub fn new(action: &'static str, about: About, request: &impl Serialize) -> Result<Self> {
        let unreadable = |why: String| Error::Unreadable { what: "approval", id: "new".to_owned(), why };
        let mut payload = serde_json::to_value(request).map_err(|e| unreadable(e.to_string()))?;
        payload["action"] = action.into();
        Ok(Self { action, by_admins: false, about, payload })
    }
}

/// Stores the request, with the wake at its expiry.
pub async fn store(tx: &mut Tx, settings: &Settings, request: NewRequest, by: &Requester) -> Result<Approval> {
    let NewRequest { action, by_admins, about, payload } = request;
    let hours = limits::current(tx, settings).await?.1.approval_hours;
    let expires_at = tx.now() + Duration::hours(hours.into());
    let alone_from = if by_admins { lone_admin::from(tx, &by.actor, action, &about.subject_id).await? } else { None };
    // A request must outlive the wait of a lone admin.
    let expires_at = alone_from.map_or(expires_at, |from| expires_at.max(from + Duration::hours(1)));
    let new = NewApproval {
        action,
        subject_type: about.subject_type,
        subject_id: about.subject_id,
        offering_id: about.offering_id,
        amount: about.amount,
        payload,
        live_key: about.live_key,
        maker: by.actor.clone(),
        reason: about.reason,
        request_id: by.request_id.clone(),
        idempotency_key: by.idempotency_key.clone(),
        expires_at,
        alone_from,
    };
    let approval = approval::insert(tx, new).await?;
    lone_admin::notify_staff(tx, &approval).await?;
    queue::wake_id(tx, queue::APPROVAL, &approval.id, expires_at).await?;
    Ok(approval)
}
