//! The audit log: one line for each act of a caller, in the commit of the act, and a chain of seals over the lines.

mod act;
mod guard;
mod list;
mod seal;
mod verify;

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::json;

pub use act::{Act, ActorKind, acting};
pub(crate) use act::{Doing, current};
pub(crate) use guard::raise;
pub use list::{COUNTED_MAX, Filter, count, list};
pub use seal::seal;
pub use verify::{Bad, Flaw, Verdict, verify};

use crate::db::Tx;
use crate::{Result, canonical, on};

/// What the first seal follows.
const BEGINNING: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Line {
    pub id: String,
    pub at: DateTime<Utc>,
    pub actor: Option<String>,
    pub actor_kind: ActorKind,
    pub session_id: Option<String>,
    pub ip: Option<String>,
    pub action: String,
    pub object_type: Option<String>,
    pub object_id: Option<String>,
    /// Canonical JSON.
    pub detail: String,
    pub request_id: Option<String>,
}

impl Line {
    /// What a seal is computed over: every column.
    fn canonical(&self) -> String {
        let value = json!({
            "id": self.id, "at": self.at.to_rfc3339_opts(SecondsFormat::Micros, true), "actor": self.actor,
            "actor_kind": self.actor_kind, "session_id": self.session_id, "ip": self.ip, "action": self.action,
            "object_type": self.object_type, "object_id": self.object_id, "detail": self.detail, "request_id": self.request_id,
        });
        canonical::text(&value).expect("texts alone always have a canonical form")
    }

    /// The hash of this line after that of the line before.
    fn hash_after(&self, previous: &str) -> String {
        canonical::sha256(&format!("{previous}{}", self.canonical()))
    }
}

/// Writes the line of what was done, into its own transaction.
pub(crate) async fn write(tx: &mut Tx, doing: &Doing) -> Result<()> {
    let Some(line) = doing.line(tx.new_id("aud"), tx.now()) else { return Ok(()) };
    on!(tx, conn => sqlx::query(
        "insert into audit_log (id, at, actor, actor_kind, session_id, ip, action, object_type, object_id, detail, request_id) \
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)")
        .bind(&line.id).bind(line.at).bind(&line.actor).bind(line.actor_kind).bind(&line.session_id).bind(&line.ip).bind(&line.action)
        .bind(&line.object_type).bind(&line.object_id).bind(&line.detail).bind(&line.request_id).execute(conn).await?.rows_affected());
    on!(tx, conn => sqlx::query("insert into audit_unsealed (audit_id) values ($1)").bind(&line.id).execute(conn).await?.rows_affected());
    Ok(())
}
