//! Changes of all subscriptions of an offering: ending them, or requiring a reconfirmation. One page at a time, oldest first.

use chrono::{DateTime, Utc};
use serde_json::json;

use super::{Move, Status, Subscription, save, transition, write_event};
use crate::db::Tx;
use crate::id::OfferingId;
use crate::offering::Offering;
use crate::sql::sql;
use crate::{Result, timer};

/// The result of one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageResult {
    /// The number of subscriptions changed.
    pub moved: usize,
    /// Whether there are more pages.
    pub more: bool,
}

/// Ends up to `limit` open subscriptions of a failed or cancelled offering. The caller locks the offering and repeats while there are
/// more. Subscriptions in a live mint are left out: they can already be on the way to the chain, so an operator decides.
pub async fn end_all_of(tx: &mut Tx, offering: &Offering, actor: &str, reason: &str, limit: i64) -> Result<PageResult> {
    let page = some(tx, &offering.id, "s.status in :open", limit).await?;
    let ended = PageResult { moved: page.len(), more: page.len() as i64 == limit };
    for mut s in page {
        transition(tx, offering, &mut s, Move::End, actor, reason).await?;
    }
    Ok(ended)
}

/// Takes the deadline from subscriptions that were asked to confirm terms which have changed again, so that they are asked anew. A
/// deadline that has passed stays. The caller locks the offering.
pub async fn forget_deadlines_of(tx: &mut Tx, offering_id: &OfferingId) -> Result<()> {
    let now = tx.now();
    sql("update subscriptions set reconfirm_by = null, version = version + 1, updated_at = $2
         where offering_id = $1 and status = 'pending_reconfirmation' and reconfirm_by > $2")
    .bind((offering_id, now))
    .execute(tx)
    .await?;
    Ok(())
}

/// Requires a reconfirmation of up to `limit` subscriptions under older terms, until the deadline.
pub async fn reconfirm_all_of(
    tx: &mut Tx,
    offering: &Offering,
    actor: &str,
    deadline: DateTime<Utc>,
    limit: i64,
) -> Result<PageResult> {
    let unasked = "(s.status in :reconfirmable or (s.status = 'pending_reconfirmation' and s.reconfirm_by is null))";
    let older = format!("{unasked} and s.terms_version < {}", offering.terms_version);
    let page = some(tx, &offering.id, &older, limit).await?;
    let asked = PageResult { moved: page.len(), more: page.len() as i64 == limit };
    for mut s in page {
        s.reconfirm_by = Some(deadline);
        if s.status == Status::PendingReconfirmation {
            save(tx, &mut s).await?;
            let data = json!({ "from": s.status, "actor": actor, "reason": s.status_reason });
            write_event(tx, offering, &s, "reconfirmation_required", data).await?;
        } else {
            transition(tx, offering, &mut s, Move::ChangeTerms, actor, "the terms changed").await?;
        }
        // No wake is needed: the sweep finds due timers.
        timer::set(tx, &s.id, Some(deadline)).await?;
    }
    Ok(asked)
}

pub(super) async fn some(
    tx: &mut Tx,
    offering_id: &OfferingId,
    condition: &str,
    limit: i64,
) -> Result<Vec<Subscription>> {
    sql("select s.* from subscriptions s where s.offering_id = $1 and ")
        .push(condition)
        .push(
            " and not exists (select 1 from operation_items m
                where m.subject_type = 'subscription' and m.subject_id = s.id and m.live)
            order by s.id limit $2",
        )
        .words(":open", &Status::OPEN)
        .words(":reconfirmable", &Status::RECONFIRMABLE)
        .words(":withdrawable", &Status::WITHDRAWABLE)
        .bind((offering_id, limit))
        .rows(tx)
        .await
}

/// The number of subscriptions of an offering that are not final. The offering can settle when there are none.
pub async fn unfinished(tx: &mut Tx, offering_id: &OfferingId) -> Result<i64> {
    let open: Vec<_> = Status::ALL.iter().filter(|status| !status.is_final()).collect();
    let counted = sql("select count(*) from subscriptions where offering_id = ").value(offering_id);
    counted.one_of("status", &open).scalar(tx).await
}
