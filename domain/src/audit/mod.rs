//! The audit log: one line for each act of a caller and for everything that it, or the engine of itself, moved, in the commit of the act, and
//! a chain of seals over the lines.

mod act;
mod anchor;
mod change;
mod doing;
mod guard;
mod list;
mod seal;
mod tree;
mod verify;

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::json;

pub use act::{Act, ActorKind, acting};
pub use anchor::{Anchor, AnchorFlaw, Proof, Weighed, draft, insert_anchor, proof};
pub(crate) use change::Facts;
pub(crate) use doing::Doing;
pub(crate) use guard::raise;
pub use list::{COUNTED_MAX, Filter, count, list};
pub use seal::{head, seal};
pub use tree::{Sibling, Side};
pub use verify::{Bad, Flaw, Verdict, verify};

use crate::db::{Db, Tx};
use crate::point::Point;
use crate::rows::portions;
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

/// Writes a line of something that changed nothing: a look at what is somebody's own, or, with a code, a refusal.
pub async fn note(db: &Db, act: Act, refused: Option<&'static str>) -> Result<()> {
    acting(act, async {
        let mut tx = db.begin().await?;
        if let Some(code) = refused {
            tx.doing().refuse(code);
        }
        tx.commit(Point::Account).await
    })
    .await
}

/// Writes the lines of what was done, into its own transaction.
pub(crate) async fn write(tx: &mut Tx, doing: &Doing, point: Point) -> Result<()> {
    let lines = doing.lines(point, tx.now(), || tx.new_id("aud"));
    for portion in portions(&lines) {
        on!(tx, conn => {
            let mut query = sqlx::QueryBuilder::new(
                "insert into audit_log (id, at, actor, actor_kind, session_id, ip, action, object_type, object_id, detail, request_id) ");
            query.push_values(portion, |mut row, line| {
                row.push_bind(&line.id).push_bind(line.at).push_bind(&line.actor).push_bind(line.actor_kind).push_bind(&line.session_id)
                    .push_bind(&line.ip).push_bind(&line.action).push_bind(&line.object_type).push_bind(&line.object_id)
                    .push_bind(&line.detail).push_bind(&line.request_id);
            });
            query.build().execute(conn).await?.rows_affected()
        });
        on!(tx, conn => {
            let mut query = sqlx::QueryBuilder::new("insert into audit_unsealed (audit_id) ");
            query.push_values(portion, |mut row, line| {
                row.push_bind(&line.id);
            });
            query.build().execute(conn).await?.rows_affected()
        });
    }
    Ok(())
}
