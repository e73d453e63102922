//! Four eyes: what one person asked for is done when another one allows it, once, and exactly as it was asked for. What needs no look
//! at the chain is done in the commit that allows it; the rest is done by the engine, woken by that commit.

pub mod action;
pub(crate) mod lone_admin;

use chrono::Duration;
use muniment_domain::approval::{self, Approval, Move, NewApproval, Status};
use muniment_domain::db::Tx;
use muniment_domain::operation;
use muniment_domain::point::Point;
use muniment_domain::user::Roles;
use muniment_domain::{Code, Error, Result};

use crate::approval::action::Action;
use crate::engine::Engine;
use crate::engine::queue;
use crate::operator::abandon;
use crate::payout::approval as payout_approval;
use crate::requester::Requester;
use crate::settings::Settings;
use crate::staff::policy;

/// How many approvals one pass of the sweep wakes.
const WAKES_PER_PASS: i64 = 500;

/// A second person, and what they saw when they decided.
#[derive(Clone, Debug)]
pub struct Decision {
    /// The approval.
    pub approval_id: String,
    /// Its version as they saw it.
    pub version: i64,
    /// Who decides.
    pub by: Requester,
    /// What they are to the platform.
    pub roles: Roles,
    /// Why.
    pub comment: Option<String>,
}

/// Asks for an action that a second person has to allow. It is refused now if it could not be done now.
pub async fn ask(tx: &mut Tx, settings: &Settings, action: Action, by: &Requester) -> Result<Approval> {
    action.check(tx, settings).await?;
    let about = action.about();
    let hours = policy::limits(tx, settings).await?.approval_hours;
    let expires_at = tx.now() + Duration::hours(hours.into());
    let alone_from = lone_admin::from(tx, &action, &by.actor).await?;
    let new = NewApproval {
        action: action.word(),
        subject_type: about.subject_type,
        subject_id: about.subject_id,
        offering_id: about.offering_id,
        amount: about.amount,
        payload: action.payload()?,
        live_key: about.live_key,
        maker: by.actor.clone(),
        reason: about.reason,
        request_id: by.request_id.clone(),
        idempotency_key: by.idempotency_key.clone(),
        expires_at,
        alone_from,
    };
    let approval = approval::insert(tx, new).await?;
    lone_admin::notify_staff(tx, &approval).await?;
    queue::wake_id(tx, queue::APPROVAL, &approval.id, expires_at).await?;
    Ok(approval)
}

/// Allows it, and does it. What the rules refuse by now ends it as `execution_failed`, with nothing else changed. A lone admin allows what he
/// asked for himself, when he waited for it.
pub async fn approve(tx: &mut Tx, settings: &Settings, payload_sha256: &str, d: Decision) -> Result<Approval> {
    let mut a = decidable(tx, &d, Word::Yes).await?;
    let payload = a.sealed().inspect_err(|_| {
        tracing::error!(approval.id = %a.id, "the payload of an approval was changed behind the platform's back");
    })?;
    if payload_sha256 != a.payload_sha256 {
        let detail =
            format!("What was seen has the hash {payload_sha256}, what is stored {}. Read it again.", a.payload_sha256);
        return Err(Error::refused(Code::SnapshotMismatch, detail));
    }
    let action = Action::read(&a.id, payload)?;
    must_show(&a, &action)?;
    if !d.roles.any_of(action.checkers()) {
        let detail = format!("The role {} cannot allow {}.", d.roles, a.action);
        return Err(Error::refused(Code::RoleForbidden, detail));
    }
    a.checker = Some(d.by.actor.clone());
    if a.maker == d.by.actor {
        lone_admin::take(tx, &mut a).await?;
        a.checker = Some(lone_admin::CHECKER.to_owned());
    }
    a.decision_reason.clone_from(&d.comment);
    a.next_action_at =
        action.asks_chain().then(|| tx.now() + Duration::seconds(settings.outage_pause_seconds.cast_signed()));
    approval::transition(tx, &mut a, Move::Approve, &d.by.actor, d.comment.as_deref().unwrap_or("approved")).await?;
    if action.asks_chain() {
        let now = tx.now();
        queue::wake_id(tx, queue::APPROVAL, &a.id, now).await?;
        return Ok(a);
    }
    // The operation is the maker's, under the key with which it was asked for; the request that brings it about is this one.
    let maker = Requester {
        actor: a.maker.clone(),
        request_id: d.by.request_id.clone(),
        idempotency_key: a.idempotency_key.clone(),
    };
    tx.mark().await?;
    match action.execute(tx, settings, &maker).await {
        Ok(done) => {
            a.operation_id = done.operation_id;
            a.batch_id = done.batch_id;
            approval::transition(tx, &mut a, Move::Execute, "engine", "executed").await?;
        }
        Err(error) => {
            tx.rewind().await?;
            fail(tx, &mut a, error).await?;
        }
    }
    Ok(a)
}

/// Refuses an approval whose list entry shows something else than its payload says.
fn must_show(a: &Approval, action: &Action) -> Result<()> {
    let about = action.about();
    let amount = a.amount.zip(a.currency.clone());
    if (a.action.as_str(), &a.subject_id, &amount) == (action.word(), &about.subject_id, &about.amount) {
        return Ok(());
    }
    tracing::error!(approval.id = %a.id, "an approval shows something else than what it would do");
    let detail = format!("The approval {} shows something else than what it would do. Nothing was executed.", a.id);
    Err(Error::refused(Code::SnapshotMismatch, detail))
}

/// Says no.
pub async fn reject(tx: &mut Tx, d: Decision) -> Result<Approval> {
    let mut a = decidable(tx, &d, Word::No).await?;
    a.checker = Some(d.by.actor.clone());
    a.decision_reason.clone_from(&d.comment);
    approval::transition(tx, &mut a, Move::Reject, &d.by.actor, d.comment.as_deref().unwrap_or("rejected")).await?;
    payout_approval::lapse(tx, &a, &d.by.actor).await?;
    Ok(a)
}

/// Takes it back: its maker alone can.
pub async fn cancel(tx: &mut Tx, d: Decision) -> Result<Approval> {
    let mut a = decidable(tx, &d, Word::NeverMind).await?;
    a.decision_reason.clone_from(&d.comment);
    approval::transition(tx, &mut a, Move::Cancel, &d.by.actor, d.comment.as_deref().unwrap_or("cancelled")).await?;
    payout_approval::lapse(tx, &a, &d.by.actor).await?;
    Ok(a)
}

/// What somebody says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    Yes,
    No,
    NeverMind,
}

/// The approval, if this person may decide, saw what stands there, and it still waits.
async fn decidable(tx: &mut Tx, d: &Decision, word: Word) -> Result<Approval> {
    let a = approval::find(tx, &d.approval_id).await?;
    payout_approval::lock_distribution_of(tx, &a).await?;
    match (a.maker == d.by.actor, word == Word::NeverMind) {
        // The right of a lone admin is looked at when all else is well.
        (true, false) if word == Word::No || a.alone_from.is_none() => return Err(lone_admin::self_approval()),
        // To whoever is none of the staff, what others asked for is not there.
        (false, true) if !d.roles.is_staff() => return Err(approval::missing(&a.id)),
        (false, true) => {
            let detail = format!("{} asked for it, and only its maker takes it back. Reject it instead.", a.maker);
            return Err(Error::refused(Code::RoleForbidden, detail));
        }
        _ => {}
    }
    if a.version != d.version {
        let detail = format!("The approval {} has version {}, not {}. Read it again.", a.id, a.version, d.version);
        return Err(Error::refused(Code::VersionConflict, detail));
    }
    if a.status != Status::Pending {
        return Err(approval::not_pending(&a));
    }
    // The timer may be late; the time is over all the same.
    if a.expires_at <= tx.now() {
        let detail = format!("The approval {} expired. Ask for it again.", a.id);
        return Err(Error::refused(Code::ApprovalNotPending, detail));
    }
    Ok(a)
}

/// Ends it with the reason, if it is a refusal; any other error says nothing about what was allowed.
async fn fail(tx: &mut Tx, a: &mut Approval, error: Error) -> Result<()> {
    let Some((code, detail)) = error.refusal() else { return Err(error) };
    tracing::warn!(approval.id = %a.id, error.code = code, "what was allowed cannot be done any more: {detail}");
    a.error_code = Some(code.to_owned());
    a.error_message = Some(detail.to_owned());
    approval::transition(tx, a, Move::Fail, "engine", detail).await?;
    payout_approval::lapse(tx, a, "engine").await
}

/// What an approval is due without a person: its end, or the doing of what was allowed. A wake that comes early, late or twice finds
/// nothing to do.
pub async fn act(engine: &Engine, approval_id: &str) -> Result<()> {
    let mut tx = engine.db.read().await?;
    let a = match approval::find(&mut tx, approval_id).await {
        Err(Error::Refused { code: Code::NotFound, .. }) => return Ok(()),
        found => found?,
    };
    let over = a.expires_at <= tx.now();
    drop(tx);
    let acted = match a.status {
        Status::Pending if over => expire(engine, a).await,
        Status::Approved => execute(engine, a).await,
        _ => Ok(()),
    };
    match acted {
        // Somebody decided between our look and our write.
        Err(Error::Stale { .. }) => Ok(()),
        acted => acted,
    }
}

async fn expire(engine: &Engine, mut a: Approval) -> Result<()> {
    let mut tx = engine.db.begin().await?;
    payout_approval::lock_distribution_of(&mut tx, &a).await?;
    approval::transition(&mut tx, &mut a, Move::Expire, "engine", "nobody decided in time").await?;
    payout_approval::lapse(&mut tx, &a, "engine").await?;
    tx.commit(Point::Approval).await
}

/// Does what was allowed and needs a look at the chain. While the chain cannot be asked, it waits.
async fn execute(engine: &Engine, mut a: Approval) -> Result<()> {
    let outcome = match a.sealed().and_then(|payload| Action::read(&a.id, payload)) {
        Ok(Action::Abandon(request)) => {
            abandon::examine_agreed(engine, &request).await.map(|examined| (examined, request.reason))
        }
        Ok(other) => Err(Error::Unreadable {
            what: "approval",
            id: a.id.clone(),
            why: format!("{} is done by the commit that allows it", other.word()),
        }),
        Err(error) => Err(error),
    };
    let mut tx = engine.db.begin().await?;
    match outcome {
        Ok((examined, reason)) => {
            let reason = format!("{reason} (asked for by {}, {})", a.maker, a.id);
            abandon::write(&mut tx, examined, a.checker.as_deref().unwrap_or_default(), &reason).await?;
            approval::transition(&mut tx, &mut a, Move::Execute, "engine", "executed").await?;
        }
        Err(Error::Refused { code: Code::ChainUnavailable, detail }) => {
            tracing::warn!(approval.id = %a.id, "what was allowed waits for the chain: {detail}");
            let later = tx.now() + Duration::seconds(engine.settings.outage_pause_seconds.cast_signed());
            approval::postpone(&mut tx, &a, later).await?;
        }
        Err(error) => fail(&mut tx, &mut a, error).await?,
    }
    tx.commit(Point::Approval).await
}

/// Wakes approvals whose time has come; how many it was.
pub async fn sweep(engine: &Engine) -> Result<usize> {
    let mut tx = engine.db.begin().await?;
    let now = tx.now();
    let overdue = approval::overdue(&mut tx, now, WAKES_PER_PASS).await?;
    if overdue.is_empty() {
        return Ok(0);
    }
    for a in &overdue {
        match approval::postpone(&mut tx, a, now + Duration::seconds(operation::PATIENCE_SECONDS)).await {
            Err(Error::Stale { .. }) => continue,
            postponed => postponed?,
        }
        queue::wake_id(&mut tx, queue::APPROVAL, &a.id, now).await?;
    }
    tx.commit(Point::Sweep).await?;
    Ok(overdue.len())
}
