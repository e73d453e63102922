//! The life of an offering: people and the calendar move it. Each move locks its row first, so that nobody subscribes to an offering that
//! ends at the same moment.
//!
//! 1. **Draft.** `POST /v1/offerings` creates it for an issuer that an operator approved. The terms are checked as one row, against the
//!    table of exemptions too (`muniment_domain::exemption`): an issuer may tighten, never loosen.
//! 2. **Review.** `submit` names every missing field. Another person than the submitter approves, which fixes the terms under a hash.
//! 3. **Open.** `publish` opens it, or the calendar at its opening time. In public only a few fields may change. Other changes are a
//!    `material_change`, which every subscriber must confirm.
//! 4. **Calendar.** Each move is one commit with its event and its next time in `timers` (`engine::timer`). The calendar closes the
//!    offering at its end, or when it is full of money that nobody can withdraw. It lets it fail below its soft cap. One that closed by its cap and has room again can
//!    be opened again (`reopen`).
//! 5. **Follow-up.** When the end or the terms change, the calendar updates the subscriptions page by page. Two numbers on each
//!    subscription say which calendar and which terms it has seen, so a late page finds its work and nobody is accepted or bound by unseen
//!    changes.
//! 6. **End.** A failed or cancelled offering ends its subscriptions in pages, one commit each. A closed one settles when no subscription
//!    is unfinished. Before that nobody archives it.
//! 7. **Cancel.** An issuer never cancels alone, and nobody does once money is committed: `Action::CancelOffering` is an approval.
//! 8. **Limit of the issuer.** Where the law limits what an issuer raises in a year (`muniment_domain::offering::raise_limit`), `submit`,
//!    `publish`, `reopen` and enlarging lock the issuer after the offering. An open offering counts in full, an ended one with its committed amount.
//! 9. **Early end.** Where the right to withdraw is counted back from the end, an earlier end is announced five working days ahead, and a
//!    full offering stays open until its end.
//!
//! Every read takes the caller's `offering::Scope`; an offering outside it is answered as not found.

mod calendar;
mod cancel;
mod change;
mod reopen;
mod review;

use chrono::Duration;
use muniment_domain::db::Tx;
use muniment_domain::id::OfferingId;
use muniment_domain::offering::{self, Move, Offering, Scope, raise_limit, terms};
use muniment_domain::operation::Operation;
use muniment_domain::{Error, Result, holding, issuer, subscription};

pub use calendar::on_timer;
pub use cancel::{CANCEL, CancelResult, Request, cancel, check, end};
pub use change::{add_document, change, create, material_change};
pub use reopen::reopen;
pub use review::{approve, request_changes, submit};

use crate::engine::timer;
use crate::requester::Requester;

/// The actor of a move that the engine makes.
const ENGINE: &str = "engine";
/// The reason of a pause while the offering's partition is restricted.
const RESTRICTED: &str = "partition_restricted";
/// The reason of a pause that follows from the pause of the token.
const TOKEN_PAUSED: &str = "token_paused";

/// Locks an offering until the commit. An offering outside the caller's scope is `not_found`.
pub async fn lock(tx: &mut Tx, scope: &Scope, id: &OfferingId) -> Result<Offering> {
    offering::find_visible(tx, scope, id).await?;
    offering::lock_row(tx, id).await
}

/// Opens an offering for subscriptions. Its token can be deployed later.
pub async fn publish(tx: &mut Tx, scope: &Scope, id: &OfferingId, by: &Requester) -> Result<Offering> {
    let mut o = lock(tx, scope, id).await?;
    open(tx, &mut o, &by.actor).await?;
    Ok(o)
}

/// Opens an offering if its opening time has come and its issuer is active.
async fn open(tx: &mut Tx, o: &mut Offering, actor: &str) -> Result<()> {
    let now = tx.now();
    if o.status.next(Move::Publish).is_some() {
        issuer::active(tx, &o.issuer_id).await?;
        if let Some(opens_at) = o.opens_at.filter(|at| *at > now) {
            return Err(blocked(o, format!("The offering opens at {}.", opens_at.to_rfc3339())));
        }
        if o.closes_at.is_none_or(|at| at <= now) {
            return Err(blocked(o, "The end of the offering has passed. Change it first.".to_owned()));
        }
        let days = o.exemption.profile().open_days_min;
        if o.closes_at < Some(terms::opening_time(o, now) + Duration::days(days)) {
            let detail =
                format!("Under {} an offering is open for at least {days} days. Move its end first.", o.exemption);
            return Err(blocked(o, detail));
        }
        raise_limit::check(tx, o).await?;
        o.lockup_release_at = o.lockup_end();
    }
    make_move(tx, o, Move::Publish, actor, None).await
}

/// Stops new subscriptions until the offering is resumed.
pub async fn pause(tx: &mut Tx, scope: &Scope, id: &OfferingId, reason: &str, by: &Requester) -> Result<Offering> {
    let mut o = lock(tx, scope, id).await?;
    make_move(tx, &mut o, Move::Pause, &by.actor, Some(reason)).await?;
    Ok(o)
}

/// Pauses an offering when compliance restricts its partition, or pauses its token.
pub async fn on_restriction(tx: &mut Tx, op: &Operation, partition: Option<u32>) -> Result<()> {
    let Some(id) = &op.offering_id else { return Ok(()) };
    let mut o = offering::lock_row(tx, id).await?;
    let other = partition.is_some_and(|partition| o.partition_id != i64::from(partition));
    if other || o.status.next(Move::Pause).is_none() {
        return Ok(());
    }
    let reason = if partition.is_some() { RESTRICTED } else { TOKEN_PAUSED };
    make_move(tx, &mut o, Move::Pause, ENGINE, Some(reason)).await
}

/// Pauses an offering when the ledger shows that somebody else restricted its partition or paused its token. The caller has locked the
/// offering.
pub async fn on_token_read(tx: &mut Tx, id: &OfferingId) -> Result<()> {
    let mut o = offering::find(tx, id).await?;
    if o.status.next(Move::Pause).is_none() {
        return Ok(());
    }
    match stopped(tx, &o).await? {
        Some((reason, _)) => make_move(tx, &mut o, Move::Pause, ENGINE, Some(reason)).await,
        None => Ok(()),
    }
}

/// Why the token of an offering does not issue or move its units, and what ends that.
async fn stopped(tx: &mut Tx, o: &Offering) -> Result<Option<(&'static str, &'static str)>> {
    if holding::is_paused(tx, &o.id).await? {
        return Ok(Some((TOKEN_PAUSED, "The token of the offering is paused. End the pause first.")));
    }
    let restricted = holding::is_restricted(tx, &o.id, o.partition_id).await?;
    let what = "The partition of the offering is restricted. Remove the restriction first.";
    Ok(restricted.then_some((RESTRICTED, what)))
}

/// Resumes a paused offering, whatever the reason of the pause was, unless its partition is restricted or its token paused.
pub async fn resume(tx: &mut Tx, scope: &Scope, id: &OfferingId, by: &Requester) -> Result<Offering> {
    let mut o = lock(tx, scope, id).await?;
    if o.status.next(Move::Resume).is_some()
        && let Some((_, what)) = stopped(tx, &o).await?
    {
        return Err(blocked(&o, what.to_owned()));
    }
    make_move(tx, &mut o, Move::Resume, &by.actor, None).await?;
    Ok(o)
}

/// Closes an offering before its end, if its exemption allows that and its soft cap is reached.
pub async fn close(
    tx: &mut Tx,
    scope: &Scope,
    id: &OfferingId,
    reason: Option<&str>,
    by: &Requester,
) -> Result<Offering> {
    if reason == Some(reopen::BY_CAP) {
        let detail = "This word says that the calendar closed the offering. Give the reason in other words.";
        return Err(Error::field("/reason", "unexpected", detail));
    }
    let mut o = lock(tx, scope, id).await?;
    let now = tx.now();
    if o.status.next(Move::Close).is_some() {
        let until = o.closes_at.filter(|at| o.exemption.profile().open_days_min > 0 && *at > now);
        if let Some(until) = until {
            let detail = format!("Under {} an offering cannot close before its announced end.", o.exemption);
            return Err(blocked(&o, detail).with_until(until));
        }
        let firm = subscription::totals(tx, &o.id).await?.firm;
        if o.soft_cap.is_some_and(|soft_cap| firm < soft_cap) {
            return Err(blocked(
                &o,
                "The soft cap is not reached by subscriptions that can no longer be withdrawn.".to_owned(),
            ));
        }
    }
    make_move(tx, &mut o, Move::Close, &by.actor, reason).await?;
    Ok(o)
}

/// Archives an offering whose subscriptions have all ended: the calendar, which ends them, leaves an archived offering.
pub async fn archive(tx: &mut Tx, scope: &Scope, id: &OfferingId, by: &Requester) -> Result<Offering> {
    let mut o = lock(tx, scope, id).await?;
    if o.status.next(Move::Archive).is_some() && subscription::totals(tx, &o.id).await?.live > 0 {
        let detail = "Some subscriptions of the offering have not ended yet. Archive it when they have.";
        return Err(blocked(&o, detail.to_owned()));
    }
    make_move(tx, &mut o, Move::Archive, &by.actor, None).await?;
    Ok(o)
}

/// Makes a move, and sets the time of the calendar's next check.
async fn make_move(tx: &mut Tx, o: &mut Offering, by: Move, actor: &str, reason: Option<&str>) -> Result<()> {
    offering::transition(tx, o, by, actor, reason).await?;
    let now = tx.now();
    timer::set(tx, &o.id, calendar::next_check(o, now)).await
}

/// The refusal of a move that the status allows and another condition prevents.
fn blocked(o: &Offering, detail: String) -> Error {
    Error::illegal(detail, o.status.as_str(), o.status.requests())
}
