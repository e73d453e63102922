//! Cooling-off periods that are counted back from the end of the offering, after that end was moved.

use chrono::TimeDelta;
use serde_json::json;

use super::end::{PageResult, some};
use super::{Status, Subscription, save, write_event};
use crate::db::Tx;
use crate::exemption::CoolingOff;
use crate::offering::Offering;
use crate::{Result, timer};

/// Recomputes the cooling-off periods of up to `limit` subscriptions. The caller locks the offering and repeats while there are more.
pub async fn move_windows_of(tx: &mut Tx, offering: &Offering, limit: i64) -> Result<PageResult> {
    let behind = format!("s.status in :withdrawable and s.calendar_version < {}", offering.calendar_version);
    let page = some(tx, &offering.id, &behind, limit).await?;
    let moved = PageResult { moved: page.len(), more: page.len() as i64 == limit };
    for mut s in page {
        renew_window(tx, offering, &mut s).await?;
    }
    Ok(moved)
}

/// Recomputes the cooling-off period if the end of the offering was moved since. A move that depends on the period calls it first,
/// because the page of this subscription may not have been processed yet. The caller locks the offering.
pub async fn renew_window(tx: &mut Tx, offering: &Offering, s: &mut Subscription) -> Result<()> {
    if !Status::WITHDRAWABLE.contains(&s.status) || s.calendar_version >= offering.calendar_version {
        return Ok(());
    }
    // Also without a change of the period, so that the next page does not find it again.
    s.calendar_version = offering.calendar_version;
    let before = s.cooling_off_expires_at;
    // A period that was over before the terms changed stays over.
    let runs = s.status == Status::Committed || s.previous_status == Some(Status::Committed);
    if runs {
        let after = offering.cooling_off_expires_at(s.created_at);
        let by_end = !matches!(offering.exemption.profile().cooling_off, CoolingOff::After(_));
        // A period that runs now never ends in the past.
        s.cooling_off_expires_at = after.max(if by_end { before.min(tx.now()) } else { before });
    }
    let longer = s.cooling_off_expires_at - before;
    if longer > TimeDelta::zero() {
        // Nobody has to pay before the end of the cooling-off period.
        s.payment_due_at = s.payment_due_at.map(|due| due + longer);
    }
    save(tx, s).await?;
    if longer == TimeDelta::zero() {
        return Ok(());
    }
    // No wake is needed: the sweep finds due timers.
    timer::set(tx, &s.id, s.next_due()).await?;
    write_event(tx, offering, s, "cooling_off_changed", json!({ "cooling_off_expired_at": before })).await
}
