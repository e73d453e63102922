//! An offering that closed by its cap and has room again, because a subscription ended: a person can open it again before its end.

use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::id::OfferingId;
use muniment_domain::offering::{self, Move, Offering, Scope, Status, raise_limit};
use muniment_domain::{Result, issuer, subscription};

use super::{blocked, lock, make_move};
use crate::requester::Requester;
use crate::token::deploy;

/// The reason of a close by the cap, which no person can give.
pub const BY_CAP: &str = "hard_cap_reached";

/// Whether the offering closed by its cap, has room again, and has not reached its end.
pub fn has_room(o: &Offering, now: DateTime<Utc>) -> bool {
    o.status == Status::Closed
        && o.status_reason.as_deref() == Some(BY_CAP)
        && o.closes_at.is_some_and(|at| at > now)
        && o.committed_total < o.hard_cap
}

/// Opens the offering again. Nothing of it may be minted or in a mint, because a mint is made for a closed list of holders.
pub async fn reopen(tx: &mut Tx, scope: &Scope, id: &OfferingId, by: &Requester) -> Result<Offering> {
    let mut o = lock(tx, scope, id).await?;
    if o.status == Status::Closed {
        issuer::active(tx, &o.issuer_id).await?;
        let minted = subscription::totals(tx, &o.id).await?.minted > 0;
        if minted || offering::live_mint(tx, &o.id).await?.is_some() {
            return Err(blocked(&o, "Units of the offering are minted or being minted.".to_owned()));
        }
        if !has_room(&o, tx.now()) {
            let detail = "Only an offering that closed by its cap, has room again and has not reached its end can be opened again.";
            return Err(blocked(&o, detail.to_owned()));
        }
        // A closed offering counts with what it sold, an open one with its whole hard cap.
        raise_limit::check(tx, &o).await?;
        // A closed offering may deploy a token for its sold units alone.
        if let Some(ceiling) = deploy::ceiling_below_hard_cap(tx, &o).await? {
            let detail = format!(
                "The token is deployed with a cap of {ceiling} base units. The hard cap buys more, and they could not be minted."
            );
            return Err(blocked(&o, detail));
        }
    }
    make_move(tx, &mut o, Move::Reopen, &by.actor, None).await?;
    Ok(o)
}
