//! What the calendar does to an offering: it opens, ends, ends in vain, is done.

use chrono::{DateTime, Duration, Utc};
use muniment_domain::db::Tx;
use muniment_domain::offering::{self, Move, Offering, Status};
use muniment_domain::{Result, exemption, subscription};

use super::open;

/// Who moves an offering when the calendar does.
const CALENDAR: &str = "calendar";
/// How many subscriptions one commit moves.
const PAGE: i64 = 200;
/// How often one is looked at that waits for its subscriptions, in seconds.
const LOOK_SECONDS: i64 = 60;
/// How long subscribers have for their yes to changed terms, in working days.
const RECONFIRM_DAYS: u32 = 5;

/// When the calendar has to look at an offering next.
pub fn next_look(o: &Offering, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    match o.status {
        Status::Approved => o.opens_at.filter(|_| o.auto_open),
        Status::Open | Status::Paused => o.closes_at,
        // They go on at once, until no subscription is left to do.
        Status::Closed | Status::Failed | Status::Cancelled => Some(now),
        _ => None,
    }
}

/// Does what the calendar asks for; when it has to be looked at next.
pub async fn on_timer(tx: &mut Tx, id: &str) -> Result<Option<DateTime<Utc>>> {
    let mut o = offering::hold(tx, id).await?;
    let now = tx.now();
    match o.status {
        Status::Approved if o.auto_open && o.opens_at.is_some_and(|at| at <= now) => {
            if let Err(refused) = open(tx, &mut o, CALENDAR).await {
                let Some((_, why)) = refused.refusal() else { return Err(refused) };
                // A person has to change something first, and publishes it then.
                tracing::warn!(offering.id = %o.id, "it does not open by itself: {why}");
                return Ok(None);
            }
            Ok(next_look(&o, now))
        }
        Status::Open | Status::Paused => run(tx, o, now).await,
        Status::Closed if follow(tx, &o, now).await? => Ok(Some(now)),
        Status::Closed => match offering::standing(tx, &o.id).await?.unfinished {
            0 => {
                offering::transition(tx, &mut o, Move::Settle, CALENDAR, None).await?;
                Ok(None)
            }
            _ => Ok(Some(now + Duration::seconds(LOOK_SECONDS))),
        },
        Status::Failed | Status::Cancelled => {
            let reason = if o.status == Status::Failed { "offering_failed" } else { "offering_cancelled" };
            let page = subscription::end_all_of(tx, &o, CALENDAR, reason, PAGE).await?;
            if page.more {
                return Ok(Some(now));
            }
            // One that is in a mint is left to the mint: it is looked at until that is decided.
            let left = offering::standing(tx, &o.id).await?.live;
            Ok((left > 0).then(|| now + Duration::seconds(LOOK_SECONDS)))
        }
        _ => Ok(next_look(&o, now)),
    }
}

/// What a moved end and changed terms mean for those who subscribed before, a page of it; whether there is more. It goes on in an offering
/// that was closed meanwhile: who was not asked by then would never be taken.
async fn follow(tx: &mut Tx, o: &Offering, now: DateTime<Utc>) -> Result<bool> {
    if subscription::move_windows_of(tx, o, PAGE).await?.more {
        return Ok(true);
    }
    let deadline = exemption::working_days_after(now, RECONFIRM_DAYS);
    Ok(subscription::reconfirm_all_of(tx, o, CALENDAR, deadline, PAGE).await?.more)
}

/// An offering that runs: its end, its being full, and its subscribers' yes to changed terms.
async fn run(tx: &mut Tx, mut o: Offering, now: DateTime<Utc>) -> Result<Option<DateTime<Utc>>> {
    if follow(tx, &o, now).await? {
        return Ok(Some(now));
    }
    let firm = offering::standing(tx, &o.id).await?.firm;
    let over = o.closes_at.is_some_and(|at| at <= now);
    let full = firm >= o.hard_cap;
    // Where an earlier end has to be said ahead, being full is none.
    let may_end = o.exemption.profile().early_end_notice_days.is_none();
    if over || (full && may_end) {
        let met = firm >= o.soft_cap.unwrap_or(0);
        let (by, why) = match (met, full) {
            (true, true) => (Move::Close, "hard_cap_reached"),
            (true, false) => (Move::Close, "end_reached"),
            (false, _) => (Move::Fail, "soft_cap_missed"),
        };
        offering::transition(tx, &mut o, by, CALENDAR, Some(why)).await?;
        return Ok(next_look(&o, now));
    }
    // Nobody can subscribe to what is full on paper: it is closed when nobody can withdraw any more.
    let watched = (may_end && o.committed_total >= o.hard_cap).then(|| now + Duration::seconds(LOOK_SECONDS));
    Ok(watched.into_iter().chain(o.closes_at).min())
}
