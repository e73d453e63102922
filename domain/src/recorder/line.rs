//! One audit entry, and how it is hashed and stored.

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::json;

use super::ActorKind;
use crate::id::{AuditId, SessionId};
use crate::rows::portions;
use crate::sql::{Conn, sql};
use crate::{Result, canonical};

/// One audit entry.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Entry {
    pub id: AuditId,
    pub at: DateTime<Utc>,
    pub actor: Option<String>,
    pub actor_kind: ActorKind,
    pub session_id: Option<SessionId>,
    pub ip: Option<String>,
    pub action: String,
    pub object_type: Option<String>,
    pub object_id: Option<String>,
    /// Canonical JSON.
    pub detail: String,
    pub request_id: Option<String>,
}

impl Entry {
    /// The text that is hashed: every column.
    pub(crate) fn canonical(&self) -> String {
        let value = json!({
            "id": self.id, "at": self.at.to_rfc3339_opts(SecondsFormat::Micros, true), "actor": self.actor,
            "actor_kind": self.actor_kind, "session_id": self.session_id, "ip": self.ip, "action": self.action,
            "object_type": self.object_type, "object_id": self.object_id, "detail": self.detail, "request_id": self.request_id,
        });
        canonical::text(&value).expect("strings always have a canonical form")
    }

    /// The chain hash of this entry after the hash of the previous one.
    pub(crate) fn hash_after(&self, previous: &str) -> String {
        canonical::sha256(&format!("{previous}{}", self.canonical()))
    }
}

/// Writes the entries of a transaction into that transaction.
pub(crate) async fn write(conn: &mut Conn, entries: &[Entry]) -> Result<()> {
    for portion in portions(conn, entries) {
        sql("insert into audit_log (id, at, actor, actor_kind, session_id, ip, action, object_type, object_id, detail,
                 request_id)")
        .values(portion, |line| {
            (
                &line.id,
                line.at,
                &line.actor,
                line.actor_kind,
                &line.session_id,
                &line.ip,
                &line.action,
                &line.object_type,
                &line.object_id,
                &line.detail,
                &line.request_id,
            )
        })
        .write(conn)
        .await?;
        sql("insert into audit_unsealed (audit_id)").values(portion, |line| &line.id).write(conn).await?;
    }
    Ok(())
}
