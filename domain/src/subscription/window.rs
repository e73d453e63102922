//! Until when a subscription can be withdrawn, where that is counted back from its offering's end and the end was moved.

use chrono::TimeDelta;
use serde_json::json;

use super::end::{Ended, some};
use super::{Status, Subscription, save, tell};
use crate::db::Tx;
use crate::exemption::{self, CoolingOff};
use crate::offering::Offering;
use crate::{Result, timer};

/// Lets the subscriptions of an offering follow its end, at most `limit` of them. The caller holds the offering and comes again while there
/// are more.
pub async fn move_windows_of(tx: &mut Tx, offering: &Offering, limit: i64) -> Result<Ended> {
    let behind = format!(
        "s.status in ('committed', 'pending_reconfirmation') and s.calendar_version < {}",
        offering.calendar_version
    );
    let page = some(tx, &offering.id, &behind, limit).await?;
    let moved = Ended { moved: page.len(), more: page.len() as i64 == limit };
    for mut s in page {
        renew_window(tx, offering, &mut s).await?;
    }
    Ok(moved)
}

/// Computes the time to withdraw anew if the end was moved since. Whoever moves a subscription by that time calls it first: its page may
/// not have come yet. The offering is held.
pub async fn renew_window(tx: &mut Tx, offering: &Offering, s: &mut Subscription) -> Result<()> {
    let open = matches!(s.status, Status::Committed | Status::PendingReconfirmation);
    if !open || s.calendar_version >= offering.calendar_version {
        return Ok(());
    }
    s.calendar_version = offering.calendar_version;
    let before = s.cooling_off_expires_at;
    // A window that was over before the terms changed stays over.
    let runs = s.status == Status::Committed || s.previous_status == Some(Status::Committed);
    if runs {
        let after = exemption::cooling_off_expires_at(offering, s.created_at);
        let by_end = !matches!(offering.exemption.profile().cooling_off, CoolingOff::After(_));
        // Who could withdraw until now is not told afterwards that the time was over before.
        s.cooling_off_expires_at = after.max(if by_end { before.min(tx.now()) } else { before });
    }
    let longer = s.cooling_off_expires_at - before;
    if longer > TimeDelta::zero() {
        // Nobody has to pay while they may still withdraw.
        s.payment_due_at = s.payment_due_at.map(|due| due + longer);
    }
    save(tx, s).await?;
    if longer == TimeDelta::zero() {
        return Ok(());
    }
    // Without a wake: the sweep looks at what is due.
    timer::set(tx, &s.id, s.next_look()).await?;
    tell(tx, offering, s, "cooling_off_changed", json!({ "cooling_off_expired_at": before })).await
}
