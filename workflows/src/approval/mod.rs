//! Approvals: an action that one person requested is executed when another person approves it, once, and exactly as requested.
//!
//! 1. A request stores the action as canonical JSON with its hash, and nothing else. A live key refuses a second request of the same
//!    action.
//! 2. The approver sends the hash that they saw. `approve` computes it again, compares, checks the action again and executes it in the same
//!    commit. An action that can no longer be executed ends the approval as `execution_failed`.
//! 3. An action that must ask the chain, such as abandoning an operation, is executed by a worker that the commit wakes.
//! 4. A timer ends requests that nobody decided.
//! 5. Membership of the staff, platform keys and changes of the business limits take two admins. Where there is only one, the rule of
//!    `approval_request::lone_admin` applies.
//! 6. Until the decision, `simulation` shows what the action would do on the chain.
//! 7. Only the requester of a platform key can collect it, so nobody else ever sees its secret.

pub mod action;
pub mod simulation;

use chrono::Duration;
use muniment_domain::approval::{self, Approval, Move, Status};
use muniment_domain::db::Tx;
use muniment_domain::id::ApprovalId;
use muniment_domain::operation;
use muniment_domain::point::Point;
use muniment_domain::user::Roles;
use muniment_domain::{Code, Error, Result};

use crate::approval::action::Action;
use crate::approval_request::{self, NewRequest, lone_admin};
use crate::engine::Engine;
use crate::engine::queue;
use crate::operator::{abandon, chain_history, close_nonce};
use crate::own_record::not_own_subject;
use crate::payout::approval as payout_approval;
use crate::requester::Requester;
use crate::settings::Settings;

/// Approvals that one pass of the sweep wakes.
const WAKES_PER_PASS: i64 = 500;

/// A decision about an approval.
#[derive(Clone, Debug)]
pub struct Decision {
    /// The approval.
    pub approval_id: ApprovalId,
    /// The version that the person read.
    pub version: i64,
    /// The person who decides.
    pub by: Requester,
    /// The person's roles.
    pub roles: Roles,
    /// The person's comment.
    pub comment: Option<String>,
}

/// Requests an approval for an action. An action that could not be executed now is refused.
pub async fn request(tx: &mut Tx, settings: &Settings, action: Action, by: &Requester) -> Result<Approval> {
    action.check(tx, settings).await?;
    let (by_admins, about, payload) = (action.takes_admins(), action.about(), action.payload()?);
    let request = NewRequest { action: action.word(), by_admins, about, payload };
    approval_request::store(tx, settings, request, by).await
}

/// Approves and executes the action. If the rules refuse the action by now, the approval ends as `execution_failed` and nothing else
/// changes. A single admin can approve their own request after the waiting time.
pub async fn approve(tx: &mut Tx, settings: &Settings, payload_sha256: &str, d: Decision) -> Result<Approval> {
    let mut a = decidable(tx, &d, DecisionKind::Approve).await?;
    let payload = a.verified_payload().inspect_err(|_| {
        tracing::error!(approval.id = %a.id, "the payload of an approval was changed outside the platform");
    })?;
    if payload_sha256 != a.payload_sha256 {
        let detail = format!(
            "The payload that you read has the hash {payload_sha256}, but the stored one has {}. Read the approval again.",
            a.payload_sha256
        );
        return Err(Error::refused(Code::SnapshotMismatch, detail));
    }
    let action = Action::read(&a.id, payload)?;
    validate_summary(&a, &action)?;
    if !d.roles.any_of(action.approver_roles()) {
        let detail = format!("The role {} cannot approve {}.", d.roles, a.action);
        return Err(Error::refused(Code::RoleForbidden, detail));
    }
    a.checker = Some(d.by.actor.clone());
    if a.maker == d.by.actor {
        lone_admin::approve_alone(tx, &mut a).await?;
        a.checker = Some(lone_admin::CHECKER.to_owned());
    } else {
        not_for_oneself(tx, &action, &d.by).await?;
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
    // The operation belongs to the requester and keeps the key of that request. The request id is the approver's, whose request executes
    // it.
    let requester = Requester {
        actor: a.maker.clone(),
        request_id: d.by.request_id.clone(),
        idempotency_key: a.idempotency_key.clone(),
    };
    tx.savepoint().await?;
    let executed = async {
        let done = action.execute(tx, settings, &requester).await?;
        tx.run_writes().await?;
        Ok(done)
    };
    match executed.await {
        Ok(done) => {
            a.operation_id = done.operation_id;
            a.batch_id = done.batch_id;
            approval::transition(tx, &mut a, Move::Execute, "engine", "executed").await?;
        }
        Err(error) => {
            tx.rollback_to_savepoint().await?;
            fail(tx, &mut a, error).await?;
        }
    }
    Ok(a)
}

/// Refuses an approval of units for the approver's own wallet, or of a payment for them alone.
async fn not_for_oneself(tx: &mut Tx, action: &Action, by: &Requester) -> Result<()> {
    match action {
        Action::Compliance(request) => {
            not_own_subject(tx, "address", &request.terms().recipient.1.to_string(), by).await
        }
        Action::Reissue(list) => match list.lines.as_slice() {
            [line] => not_own_subject(tx, "entitlement", &line.entitlement_id, by).await,
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

/// Refuses an approval whose summary differs from its payload.
fn validate_summary(a: &Approval, action: &Action) -> Result<()> {
    let about = action.about();
    let amount = a.amount.zip(a.currency.clone());
    if (a.action.as_str(), &a.subject_id, &amount) == (action.word(), &about.subject_id, &about.amount) {
        return Ok(());
    }
    tracing::error!(approval.id = %a.id, "the summary of an approval differs from its payload");
    let detail = format!("The summary of the approval {} differs from its payload. It was not executed.", a.id);
    Err(Error::refused(Code::SnapshotMismatch, detail))
}

/// Rejects the request.
pub async fn reject(tx: &mut Tx, d: Decision) -> Result<Approval> {
    let mut a = decidable(tx, &d, DecisionKind::Reject).await?;
    a.checker = Some(d.by.actor.clone());
    a.decision_reason.clone_from(&d.comment);
    approval::transition(tx, &mut a, Move::Reject, &d.by.actor, d.comment.as_deref().unwrap_or("rejected")).await?;
    payout_approval::lapse(tx, &a, &d.by.actor).await?;
    Ok(a)
}

/// Cancels the request. Only the requester can.
pub async fn cancel(tx: &mut Tx, d: Decision) -> Result<Approval> {
    let mut a = decidable(tx, &d, DecisionKind::Cancel).await?;
    a.decision_reason.clone_from(&d.comment);
    approval::transition(tx, &mut a, Move::Cancel, &d.by.actor, d.comment.as_deref().unwrap_or("cancelled")).await?;
    payout_approval::lapse(tx, &a, &d.by.actor).await?;
    Ok(a)
}

/// The kind of a decision.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DecisionKind {
    Approve,
    Reject,
    Cancel,
}

/// Finds an approval that is pending and that this person can decide in the version that they read.
async fn decidable(tx: &mut Tx, d: &Decision, kind: DecisionKind) -> Result<Approval> {
    let a = approval::find(tx, &d.approval_id).await?;
    payout_approval::lock_distribution_of(tx, &a).await?;
    match (a.maker == d.by.actor, kind == DecisionKind::Cancel) {
        // The right of a single admin is checked last, in `approve`.
        (true, false) if kind == DecisionKind::Reject || a.alone_from.is_none() => {
            return Err(lone_admin::self_approval());
        }
        // For a person outside the staff, the approvals of others do not exist.
        (false, true) if !d.roles.is_staff() => return Err(approval::not_found(&a.id)),
        (false, true) => {
            let detail = format!("Only the requester {} can cancel this approval. Reject it instead.", a.maker);
            return Err(Error::refused(Code::RoleForbidden, detail));
        }
        // The subject of a request does not decide it either.
        (false, false) => not_own_subject(tx, &a.subject_type, &a.subject_id, &d.by).await?,
        (true, _) => {}
    }
    if a.version != d.version {
        let detail = format!("The approval {} has version {}, not {}. Read it again.", a.id, a.version, d.version);
        return Err(Error::refused(Code::VersionConflict, detail));
    }
    if a.status != Status::Pending {
        return Err(approval::not_pending(&a));
    }
    // The timer may be late, but the approval has expired anyway.
    if a.expires_at <= tx.now() {
        let detail = format!("The approval {} has expired. Request it again.", a.id);
        return Err(Error::refused(Code::ApprovalNotPending, detail));
    }
    Ok(a)
}

/// Ends the approval as failed, if the error is a refusal. Any other error is returned, because it says nothing about the action.
async fn fail(tx: &mut Tx, a: &mut Approval, error: Error) -> Result<()> {
    let Some((code, detail)) = error.refusal() else { return Err(error) };
    tracing::warn!(approval.id = %a.id, error.code = code, "an approved action can no longer be executed: {detail}");
    a.error_code = Some(code.to_owned());
    a.error_message = Some(detail.to_owned());
    approval::transition(tx, a, Move::Fail, "engine", detail).await?;
    payout_approval::lapse(tx, a, "engine").await
}

/// Makes the due move of an approval: its expiry, or the execution by the engine. An early, late or repeated wake finds nothing to do.
pub async fn run_due(engine: &Engine, approval_id: &ApprovalId) -> Result<()> {
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
        // A person decided between the read and the write.
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

/// An approved action with the results of its checks on the chain.
enum CheckedAction {
    Abandon(Box<abandon::Examined>),
    CloseNonce(Box<close_nonce::Examined>),
    AcceptHistory(Box<chain_history::Examined>),
}

/// Executes an approved action that asks the chain. While the chain is not available, it waits.
async fn execute(engine: &Engine, mut a: Approval) -> Result<()> {
    let outcome = match a.verified_payload().and_then(|payload| Action::read(&a.id, payload)) {
        Ok(Action::Abandon(request)) => {
            let examined = abandon::examine_agreed(engine, &request).await;
            examined.map(|examined| (CheckedAction::Abandon(Box::new(examined)), request.reason))
        }
        Ok(Action::CloseNonce(request)) => {
            let examined = close_nonce::examine_agreed(engine, &request).await;
            examined.map(|examined| (CheckedAction::CloseNonce(Box::new(examined)), request.reason))
        }
        Ok(Action::AcceptHistory(request)) => {
            let examined = chain_history::examine_agreed(engine, &request).await;
            examined.map(|examined| (CheckedAction::AcceptHistory(Box::new(examined)), request.reason))
        }
        Ok(other) => Err(Error::Unreadable {
            what: "approval",
            id: a.id.to_string(),
            why: format!("{} is executed in the commit of its approval", other.word()),
        }),
        Err(error) => Err(error),
    };
    let mut tx = engine.db.begin().await?;
    match outcome {
        Ok((examined, reason)) => {
            let reason = format!("{reason} (requested by {}, {})", a.maker, a.id);
            let checker = a.checker.as_deref().unwrap_or_default();
            match examined {
                CheckedAction::Abandon(examined) => abandon::write(&mut tx, *examined, checker, &reason).await?,
                CheckedAction::CloseNonce(examined) => close_nonce::write(&mut tx, *examined, checker, &reason).await?,
                CheckedAction::AcceptHistory(examined) => {
                    chain_history::write(&mut tx, *examined, checker, &reason).await?
                }
            }
            approval::transition(&mut tx, &mut a, Move::Execute, "engine", "executed").await?;
        }
        Err(Error::Refused { code: Code::ChainUnavailable, detail }) => {
            tracing::warn!(approval.id = %a.id, "an approved action waits for the chain: {detail}");
            let later = tx.now() + Duration::seconds(engine.settings.outage_pause_seconds.cast_signed());
            approval::postpone(&mut tx, &a, later).await?;
        }
        Err(error) => fail(&mut tx, &mut a, error).await?,
    }
    tx.commit(Point::Approval).await
}

/// Wakes overdue approvals, and returns their number.
pub async fn sweep(engine: &Engine) -> Result<usize> {
    let mut tx = engine.db.begin().await?;
    let now = tx.now();
    let overdue = approval::overdue(&mut tx, now, WAKES_PER_PASS).await?;
    if overdue.is_empty() {
        return Ok(0);
    }
    for a in &overdue {
        match approval::postpone(&mut tx, a, now + Duration::seconds(operation::WAKE_AGAIN_SECONDS)).await {
            Err(Error::Stale { .. }) => continue,
            postponed => postponed?,
        }
        queue::wake_id(&mut tx, queue::APPROVAL, &a.id, now).await?;
    }
    tx.commit(Point::Sweep).await?;
    Ok(overdue.len())
}
