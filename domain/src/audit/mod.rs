//! The audit log: who did what, and a proof that nobody changed the log since.
//!
//! 1. **Act.** The request's task carries who acts (`recorder::Act`), every transaction takes it over, and `Tx::commit` writes
//!    the entry. So a handler does nothing for it and cannot avoid it. Commands on the host do the same.
//! 2. **Engine.** Without a caller the actor is `engine` and the action is the name of the commit. Its events become the entries,
//!    one for each changed object.
//! 3. **Content.** An entry has the status before and after. For an offering, an investor or a user it also has hashes over the
//!    row and the changed fields; personal fields appear by name only. A refusal with 401 or 403 to a known caller and a read of
//!    personal data are entries too, within the rate limits (`api/src/access/audited.rs`).
//! 4. **Chain hash.** An entry commits with its act, its place in the chain does not: otherwise all writers would wait for each
//!    other. The leader of the sweep chains entries in order, each hash over the one before and the entry. Until then, a few
//!    seconds, an entry is protected like any row.
//! 5. **Anchor.** A person with all rights can rewrite the chain from some position on. So each day ends with an anchor: a Merkle
//!    root over its hashes, signed by the key of `auth.key_file`, which the database does not have. The host's anchor file has a copy,
//!    and the head of the chain each minute that it moved; its lines are a chain under a key of the host (`api/src/anchor_file.rs`). A day
//!    that the file has is never signed again.
//! 6. **Verify.** Verification computes the chain again and compares it with the anchors and with the anchor file, and names what was done:
//!    the tail cut, a line changed, an anchor deleted, a day forged. An entry's `proof` leads from its text to the root.

mod anchor;
mod guard;
mod list;
mod seal;
mod tree;
mod verify;

pub use anchor::{Anchor, AnchorProblem, CheckedAnchor, Proof, anchors, draft, insert_anchor, proof};
pub(crate) use guard::create_triggers;
pub use list::{Filter, count, list};
pub use seal::{chain_entries, hash_at, head};
pub use tree::{Sibling, Side};
pub use verify::{ChainProblem, Mismatch, Verification, verify};

use crate::Result;
use crate::db::Db;
use crate::point::Point;
pub use crate::recorder::{Act, ActorKind, Entry, acting};

/// The hash before the first entry of the chain.
const BEGINNING: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Writes an entry for an act without changes: a read of personal data or, with a code, a refusal.
pub async fn write_single(db: &Db, act: Act, refused: Option<&'static str>) -> Result<()> {
    acting(act, async {
        let mut tx = db.begin().await?;
        if let Some(code) = refused {
            tx.recorder().record_refusal(code);
        }
        tx.commit(Point::Account).await
    })
    .await
}
