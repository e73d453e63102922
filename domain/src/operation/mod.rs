//! Operations: durable requests for one effect on a chain, with their present state.

mod attention;
mod history;
mod kind;
mod list;
mod many;
mod new;
mod page;
mod state;
mod stats;
mod transition;

use alloy_primitives::B256;
use chrono::{DateTime, Utc};
use sha2::{Digest, Sha256};
use sqlx::types::Json;

pub use attention::{Attention, attention};
pub use history::{Transition, history};
pub use kind::Kind;
pub use list::{
    WAITS_FOR_LANE, asleep, by_batch, find, find_live, find_same_call, last_of_batch, parked, unfinished_overdue,
    waiting_for, waiting_for_lane,
};
pub use many::{chains, find_all, park, postpone_all, release, save_all, transition_all, versions};
pub use new::{NewOperation, NewStep, WAKE_AGAIN_SECONDS, find_by_key, insert, insert_all};
pub use page::{Filter, count, list};
pub use state::{Move, Status, picture};
pub use stats::{confirmed_since, oldest_at, open_failures, percentile, stats, times_to_final};
pub use transition::{resolve, save, transition};

use crate::Error;
use crate::column::{Dec, Hex};
use crate::id::{BatchId, Id, LaneId, OfferingId, OperationId};
pub use crate::step::UNREADABLE;

crate::words! {
    /// How an operator closed an operation that the engine could not finish.
    Resolution {
        /// The effect was proved to be on the chain.
        ConfirmedExternal = "confirmed_external",
        /// Abandoned without effect.
        Abandoned = "abandoned",
    }
}

crate::words! {
    /// The stage at which an operation failed.
    Stage {
        /// Before it was signed.
        Preflight = "preflight",
        /// During the broadcast.
        Broadcast = "broadcast",
        /// During execution on the chain.
        Execution = "execution",
        /// After a successful execution without the expected effect.
        Effect = "effect",
        /// While it was followed.
        Tracking = "tracking",
    }
}

/// The problem of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The stage.
    pub stage: Stage,
    /// A stable code.
    pub code: String,
    /// A sentence for people.
    pub message: String,
    /// The revert data, if any.
    pub data: Option<String>,
}

/// One row of `operations`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)] // Each field is its column; 0004_operation.sql explains those that need it.
pub struct Operation {
    pub id: OperationId,
    pub kind: Kind,
    pub status: Status,
    pub resolution: Option<Resolution>,
    pub subject_type: String,
    pub subject_id: String,
    pub offering_id: Option<OfferingId>,
    pub batch_id: Option<BatchId>,
    pub batch_index: i64,
    pub chain_id: i64,
    pub lane_id: Option<LaneId>,
    pub payload: Json<serde_json::Value>,
    pub payload_sha256: String,
    pub live_key: Option<String>,
    pub cycle: i64,
    pub faults: i64,
    pub next_action_at: Option<DateTime<Utc>>,
    pub blocked_reason: Option<String>,
    pub error_stage: Option<Stage>,
    pub error_code: Option<String>,
    pub error_message: Option<String>,
    pub error_data: Option<String>,
    pub suggested_action: Option<Json<serde_json::Value>>,
    pub tx_hash: Option<Hex<B256>>,
    pub requested_by: String,
    pub request_id: Option<String>,
    pub idempotency_key: Option<String>,
    pub max_fee_per_gas: Option<Dec<u128>>,
    pub version: i64,
    pub created_at: DateTime<Utc>,
    pub submitted_at: Option<DateTime<Utc>>,
    pub confirmed_at: Option<DateTime<Utc>>,
    pub failed_at: Option<DateTime<Utc>>,
    pub updated_at: DateTime<Utc>,
}

impl Operation {
    /// Whether an operator must act.
    pub fn needs_attention(&self) -> bool {
        self.status.needs_operator() && self.resolution.is_none()
    }

    /// The id of its subject, which the kind of operation makes an id of that kind.
    pub fn subject<K>(&self) -> Id<K> {
        self.subject_id.as_str().into()
    }

    /// The error for a request that the operation does not allow now.
    pub fn illegal(&self, detail: impl Into<String>) -> Error {
        let allowed = if self.resolution.is_some() { &[] } else { self.status.requests() };
        Error::illegal(detail, self.status.as_str(), allowed.to_vec())
    }

    /// Whether the payload still has the hash with which it was accepted.
    pub fn has_accepted_payload(&self) -> bool {
        payload_sha256(&self.payload.0) == self.payload_sha256
    }

    /// Sets or clears the problem.
    pub fn set_problem(&mut self, problem: Option<Problem>) {
        self.error_stage = problem.as_ref().map(|p| p.stage);
        self.error_code = problem.as_ref().map(|p| p.code.clone());
        self.error_message = problem.as_ref().map(|p| p.message.clone());
        self.error_data = problem.and_then(|p| p.data);
    }
}

/// The hash of a payload. serde_json keeps object keys sorted, so equal payloads have equal texts.
fn payload_sha256(payload: &serde_json::Value) -> String {
    format!("{:x}", Sha256::digest(payload.to_string()))
}
