//! The audit log. Each act of a caller, and each change by the engine, writes an audit entry in its own commit. A chain of hashes
//! over the entries shows later changes.

mod anchor;
mod guard;
mod list;
mod seal;
mod tree;
mod verify;

pub use anchor::{Anchor, AnchorFlaw, CheckedAnchor, Proof, draft, insert_anchor, proof};
pub(crate) use guard::create_triggers;
pub use list::{Filter, count, list};
pub use seal::{head, seal};
pub use tree::{Sibling, Side};
pub use verify::{Bad, Flaw, Verdict, verify};

use crate::Result;
use crate::db::Db;
use crate::point::Point;
pub use crate::recorder::{Act, ActorKind, Line, acting};

/// The hash before the first entry of the chain.
const BEGINNING: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Writes an entry for an act without changes: a read of personal data or, with a code, a refusal.
pub async fn note(db: &Db, act: Act, refused: Option<&'static str>) -> Result<()> {
    acting(act, async {
        let mut tx = db.begin().await?;
        if let Some(code) = refused {
            tx.recorder().record_refusal(code);
        }
        tx.commit(Point::Account).await
    })
    .await
}
