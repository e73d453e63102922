//! Timed moves of an offering: it opens, closes, fails without its soft cap, and settles.

use chrono::{DateTime, Duration, Utc};
use muniment_domain::db::Tx;
use muniment_domain::id::OfferingId;
use muniment_domain::offering::{self, Move, Offering, Status};
use muniment_domain::subscription::{self, Totals};
use muniment_domain::{Result, exemption};

use super::{open, reopen};

/// The actor of a move that the calendar makes.
const CALENDAR: &str = "calendar";
/// Subscriptions that one commit moves.
const PAGE: i64 = 200;
/// Pause between two checks of an offering that waits for its subscriptions.
const CHECK_SECONDS: i64 = 60;
/// Working days in which subscribers can confirm changed terms.
const RECONFIRM_DAYS: u32 = 5;

/// The time at which the calendar checks an offering next.
pub fn next_check(o: &Offering, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    match o.status {
        Status::Approved => o.opens_at.filter(|_| o.auto_open),
        // The check itself finds out whether pages of subscriptions, a full cap or the end come next.
        Status::Open | Status::Paused | Status::Closed | Status::Failed | Status::Cancelled => Some(now),
        _ => None,
    }
}

/// Makes the move that is due, and returns the time of the next check.
pub async fn on_timer(tx: &mut Tx, id: &OfferingId) -> Result<Option<DateTime<Utc>>> {
    let mut o = offering::lock_row(tx, id).await?;
    let now = tx.now();
    match o.status {
        Status::Approved if o.auto_open && o.opens_at.is_some_and(|at| at <= now) => {
            if let Err(refused) = open(tx, &mut o, CALENDAR).await {
                let Some((_, why)) = refused.refusal() else { return Err(refused) };
                // A person must change the offering first, and then publish it.
                tracing::warn!(offering.id = %o.id, "the offering cannot open automatically: {why}");
                return Ok(None);
            }
            Ok(next_check(&o, now))
        }
        Status::Open | Status::Paused => run(tx, o, now).await,
        Status::Closed if follow_changes(tx, &o, now).await? => Ok(Some(now)),
        Status::Closed => {
            let Totals { minted, unfinished, .. } = subscription::totals(tx, &o.id).await?;
            if unfinished > 0 {
                return Ok(Some(now + Duration::seconds(CHECK_SECONDS)));
            }
            // All places were given up after the cap was reached: it can still be opened again.
            if minted == 0 && reopen::has_room(&o, now) {
                return Ok(o.closes_at);
            }
            offering::transition(tx, &mut o, Move::Settle, CALENDAR, None).await?;
            Ok(None)
        }
        Status::Failed | Status::Cancelled => {
            let reason = if o.status == Status::Failed { "offering_failed" } else { "offering_cancelled" };
            let page = subscription::end_all_of(tx, &o, CALENDAR, reason, PAGE).await?;
            if page.more {
                return Ok(Some(now));
            }
            // A subscription in an unfinished mint stays until the mint is decided.
            let left = subscription::totals(tx, &o.id).await?.live;
            Ok((left > 0).then(|| now + Duration::seconds(CHECK_SECONDS)))
        }
        _ => Ok(next_check(&o, now)),
    }
}

/// Applies a moved end and changed terms to one page of earlier subscriptions, and returns whether more are left. It continues after the
/// offering closes: a subscription that was not asked to confirm by then could never be accepted.
async fn follow_changes(tx: &mut Tx, o: &Offering, now: DateTime<Utc>) -> Result<bool> {
    if subscription::move_windows_of(tx, o, PAGE).await?.more {
        return Ok(true);
    }
    let deadline = exemption::working_days_after(now, RECONFIRM_DAYS);
    Ok(subscription::reconfirm_all_of(tx, o, CALENDAR, deadline, PAGE).await?.more)
}

/// Moves an open offering: it applies changes to the subscriptions, and closes the offering at its end or when it is full.
async fn run(tx: &mut Tx, mut o: Offering, now: DateTime<Utc>) -> Result<Option<DateTime<Utc>>> {
    if follow_changes(tx, &o, now).await? {
        return Ok(Some(now));
    }
    let Totals { firm, paid, minted, .. } = subscription::totals(tx, &o.id).await?;
    let over = o.closes_at.is_some_and(|at| at <= now);
    // A cap is reached by money. Words reserve it for a time only.
    let full = paid >= o.hard_cap;
    // Where an earlier end needs notice, a full offering stays open until its end.
    let may_end = o.exemption.profile().early_end_notice_days.is_none();
    if over || (full && may_end) {
        // An offering with minted units cannot fail, even if others left after the soft cap was paid.
        let met = firm >= o.soft_cap.unwrap_or(0) || minted > 0;
        if !met && offering::live_mint(tx, &o.id).await?.is_some() {
            return Ok(Some(now + Duration::seconds(CHECK_SECONDS)));
        }
        let (by, why) = match (met, full) {
            (true, true) => (Move::Close, reopen::BY_CAP),
            (true, false) => (Move::Close, "end_reached"),
            (false, _) => (Move::Fail, "soft_cap_missed"),
        };
        offering::transition(tx, &mut o, by, CALENDAR, Some(why)).await?;
        return Ok(next_check(&o, now));
    }
    // A fully committed offering accepts no more subscriptions. It closes when all of them are paid and none can be withdrawn any more.
    let watched = (may_end && o.committed_total >= o.hard_cap).then(|| now + Duration::seconds(CHECK_SECONDS));
    Ok(watched.into_iter().chain(o.closes_at).min())
}
