//! The life of an offering: people write and move it, and the calendar does. Who moves one holds its row first, so that nobody subscribes
//! to what ends in the same moment.

mod calendar;
mod cancel;
mod change;
mod review;

use chrono::{DateTime, Duration, Utc};
use muniment_domain::db::Tx;
use muniment_domain::offering::{self, Move, Offering, Scope, raise, terms};
use muniment_domain::operation::Operation;
use muniment_domain::{Error, Result, holding, issuer};

pub use calendar::on_timer;
pub use cancel::{Ended, Request, cancel, check, end};
pub use change::{add_document, change, create, material_change};
pub use review::{approve, request_changes, submit};

use crate::engine::timer;
use crate::requester::Requester;

/// Who moves an offering when the engine does.
const ENGINE: &str = "engine";
/// Why an offering is paused whose partition is restricted.
const RESTRICTED: &str = "partition_restricted";

/// The offering, held until the commit, if the caller may move it; `not_found` if it is somebody else's.
pub async fn hold(tx: &mut Tx, scope: &Scope, id: &str) -> Result<Offering> {
    offering::see(tx, scope, id).await?;
    offering::hold(tx, id).await
}

/// Lets it take subscriptions. Its token may come later.
pub async fn publish(tx: &mut Tx, scope: &Scope, id: &str, by: &Requester) -> Result<Offering> {
    let mut o = hold(tx, scope, id).await?;
    open(tx, &mut o, &by.actor).await?;
    Ok(o)
}

/// Opens it, if its time has come and its issuer still may offer.
async fn open(tx: &mut Tx, o: &mut Offering, actor: &str) -> Result<()> {
    let now = tx.now();
    if o.status.next(Move::Publish).is_some() {
        issuer::active(tx, &o.issuer_id).await?;
        if let Some(opens_at) = o.opens_at.filter(|at| *at > now) {
            return Err(blocked(o, format!("It opens at {}.", opens_at.to_rfc3339())));
        }
        if o.closes_at.is_none_or(|at| at <= now) {
            return Err(blocked(o, "Its end lies behind: it has to be changed first.".to_owned()));
        }
        let days = o.exemption.profile().open_days_min;
        if o.closes_at < Some(terms::begins(o, now) + Duration::days(days)) {
            let detail = format!("Under {} it is open for {days} days: its end has to be moved first.", o.exemption);
            return Err(blocked(o, detail));
        }
        raise::must_fit(tx, o).await?;
        o.lockup_release_at = lockup_release_at(o);
    }
    moved(tx, o, Move::Publish, actor, None).await
}

/// Takes no subscriptions for now.
pub async fn pause(tx: &mut Tx, scope: &Scope, id: &str, reason: &str, by: &Requester) -> Result<Offering> {
    let mut o = hold(tx, scope, id).await?;
    moved(tx, &mut o, Move::Pause, &by.actor, Some(reason)).await?;
    Ok(o)
}

/// Nothing is sold of a partition that compliance has restricted.
pub async fn on_restriction(tx: &mut Tx, op: &Operation, partition: u32) -> Result<()> {
    let Some(id) = &op.offering_id else { return Ok(()) };
    let mut o = offering::hold(tx, id).await?;
    if o.partition_id != i64::from(partition) || o.status.next(Move::Pause).is_none() {
        return Ok(());
    }
    moved(tx, &mut o, Move::Pause, ENGINE, Some(RESTRICTED)).await
}

/// The same where somebody else restricted it, by what the books say now. The offering is held.
pub async fn on_token_read(tx: &mut Tx, id: &str) -> Result<()> {
    let mut o = offering::find(tx, id).await?;
    if o.status.next(Move::Pause).is_none() || !holding::is_restricted(tx, &o.id, o.partition_id).await? {
        return Ok(());
    }
    moved(tx, &mut o, Move::Pause, ENGINE, Some(RESTRICTED)).await
}

/// Takes them again; not while its partition is restricted, whatever it was paused for.
pub async fn resume(tx: &mut Tx, scope: &Scope, id: &str, by: &Requester) -> Result<Offering> {
    let mut o = hold(tx, scope, id).await?;
    if o.status.next(Move::Resume).is_some() && holding::is_restricted(tx, &o.id, o.partition_id).await? {
        return Err(blocked(&o, "Its partition is restricted: the restriction has to be removed first.".to_owned()));
    }
    moved(tx, &mut o, Move::Resume, &by.actor, None).await?;
    Ok(o)
}

/// Ends it before its time, where its exemption lets it and enough money is firm.
pub async fn close(tx: &mut Tx, scope: &Scope, id: &str, reason: Option<&str>, by: &Requester) -> Result<Offering> {
    let mut o = hold(tx, scope, id).await?;
    let now = tx.now();
    if o.status.next(Move::Close).is_some() {
        if o.exemption.profile().open_days_min > 0 && o.closes_at.is_some_and(|at| at > now) {
            return Err(blocked(&o, format!("Under {} it ends when it was said to end.", o.exemption)));
        }
        let firm = offering::standing(tx, &o.id).await?.firm;
        if o.soft_cap.is_some_and(|soft_cap| firm < soft_cap) {
            return Err(blocked(&o, "Its soft cap is not met by what nobody can withdraw any more.".to_owned()));
        }
    }
    moved(tx, &mut o, Move::Close, &by.actor, reason).await?;
    Ok(o)
}

/// Puts it away.
pub async fn archive(tx: &mut Tx, scope: &Scope, id: &str, by: &Requester) -> Result<Offering> {
    let mut o = hold(tx, scope, id).await?;
    moved(tx, &mut o, Move::Archive, &by.actor, None).await?;
    Ok(o)
}

/// Moves it, and sets when the calendar looks at it next.
async fn moved(tx: &mut Tx, o: &mut Offering, by: Move, actor: &str, reason: Option<&str>) -> Result<()> {
    offering::transition(tx, o, by, actor, reason).await?;
    let now = tx.now();
    timer::set(tx, &o.id, calendar::next_look(o, now)).await
}

/// The status would allow the move, something else does not.
fn blocked(o: &Offering, detail: String) -> Error {
    Error::illegal(detail, o.status.as_str(), o.status.moves())
}

/// Locked tokens are free so many days after the offering was said to end, for every holder alike.
fn lockup_release_at(o: &Offering) -> Option<DateTime<Utc>> {
    match (o.lockup_days.filter(|days| *days > 0), o.closes_at) {
        (Some(days), Some(closes_at)) => Some(closes_at + Duration::days(days)),
        _ => o.lockup_release_at,
    }
}
