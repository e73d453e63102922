//! Reclaiming an escrow: two people end a list early that cannot be finished. The distributor returns the unpaid pages' money to the payer,
//! and the unpaid holders can be paid by a reissue. Amounts withheld for a holder stay in escrow to be claimed.

use alloy_primitives::{Address, B256, U256};
use muniment_activities::payout::distributor;
use muniment_domain::db::Tx;
use muniment_domain::distribution::{self, Distribution, Method, Scope};
use muniment_domain::entitlement::{self, HoldReason, Status};
use muniment_domain::id::{DistributionId, OperationId};
use muniment_domain::operation::{self, Kind, Operation, Resolution};
use muniment_domain::step::{self, Outcome, State, Step};
use muniment_domain::{Code, Error, Result, event, operation_item};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::approval_request::About;
use crate::engine::queue;
use crate::payout;
use crate::payout::distributor::{CREATE, PAGE};
use crate::payout::payer;
use crate::requester::Requester;

/// The name of the step.
pub const STEP: &str = "cancelDistribution";

/// Failed operations of a distribution among which that with the escrow is searched. The others are claims.
const FAILED_MAX: i64 = 1_000;

/// A request to end a list early.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    /// The distribution.
    pub distribution_id: DistributionId,
    /// The reason.
    pub reason: String,
}

impl Request {
    /// What the approval shows.
    pub fn about(&self) -> About {
        About::of("distribution", &self.distribution_id, Some(self.reason.clone()), key(&self.distribution_id))
    }
}

/// The live key of the operation that reclaims an escrow.
pub fn key(distribution_id: &DistributionId) -> String {
    format!("reclaim:{distribution_id}")
}

/// Refuses a distribution without money in escrow, and one whose signed pages may still be included.
pub async fn check(tx: &mut Tx, r: &Request) -> Result<()> {
    failed_operation(tx, &r.distribution_id).await.map(drop)
}

/// The failed operation that has money in escrow, with its steps.
async fn failed_operation(
    tx: &mut Tx,
    distribution_id: &DistributionId,
) -> Result<(Distribution, Operation, Vec<Step>)> {
    let d = distribution::find(tx, &Scope::All, distribution_id).await?;
    let none = |detail: &str| d.illegal(detail);
    if d.method != Method::Distributor || !d.status.is_executed() {
        return Err(none("This distribution has no money in escrow."));
    }
    let failed = operation::Filter {
        subject_id: Some(distribution_id.to_string()),
        kinds: vec![Kind::DistributorPayout],
        needs_attention: Some(true),
        ..operation::Filter::default()
    };
    for op in operation::list(tx, &failed, FAILED_MAX, 0).await? {
        let steps = step::of_operation(tx, &op.id).await?;
        if !steps.iter().any(|s| s.name == CREATE && s.outcome == Some(Outcome::Success)) {
            continue;
        }
        if steps.iter().any(|s| matches!(s.state, State::Signed | State::Included)) {
            let detail =
                "A page of this distribution may still be included in a block. Wait for it, or cancel its nonce first.";
            return Err(Error::refused(Code::NonceStillOpen, detail));
        }
        return Ok((d, op, steps));
    }
    Err(none("No operation of this distribution failed with money in escrow, so there is nothing to reclaim."))
}

/// Accepts the request: one call, on the lane of the payer.
pub async fn request(tx: &mut Tx, r: &Request, by: &Requester) -> Result<Operation> {
    distribution::lock_row(tx, &r.distribution_id).await?;
    let (d, mut ended, steps) = failed_operation(tx, &r.distribution_id).await?;
    // The new version makes a retry that was decided before this one stale.
    operation::save(tx, &mut ended).await?;
    let escrow = steps.iter().find(|s| s.name == CREATE).map(|s| s.target.0).unwrap_or_default();
    let lane = payer::lane_of(tx, d.chain_id, d.funding_wallet.0).await?;
    let data = distributor::cancel(Address::ZERO, escrow, d.chain_key()).data;
    let mut payload = payout::payload(&d);
    payload["ends"] = json!(ended.id);
    let mut new =
        payout::new_operation(&d, &lane, Kind::DistributorPayout, payload, vec![payout::step(STEP, escrow, &data)], by);
    new.live_key = Some(key(&d.id));
    let op = operation::insert(tx, new).await?;
    queue::first_wake(tx, &op).await?;
    Ok(op)
}

/// Resolves the failed operation when the return of the money is final. Its unpaid holders can be paid by a reissue.
pub async fn settle(tx: &mut Tx, op: &Operation, returned: U256, tx_hash: B256) -> Result<()> {
    let d = distribution::lock_row(tx, &op.subject()).await?;
    let ended: OperationId = crate::engine::effect::payload(op, "ends")?;
    let mut ended = operation::find(tx, &ended).await?;
    if ended.status.is_live() {
        // One of its pages is not settled yet, or not refused by the contract yet. Both end the operation.
        return Err(Error::refused(Code::OperationInProgress, format!("{} is not finished yet.", ended.id)));
    }
    if ended.needs_attention() {
        hold_doubtful(tx, &ended).await?;
        hold_unless_returned(tx, &d, &ended, returned).await?;
        entitlement::fail(tx, &ended.id).await?;
        operation_item::release(tx, &ended.id).await?;
        ended.resolution = Some(Resolution::Abandoned);
        ended.live_key = None;
        ended.suggested_action = None;
        let reason = format!("its escrow was reclaimed in {tx_hash} ({})", op.id);
        operation::resolve(tx, &mut ended, &op.requested_by, &reason).await?;
        let data = json!({ "resolution": "abandoned", "ended_by": op.id });
        event::write(tx, "operation.resolved", "operation", &ended.id, ended.version, data).await?;
    }
    payout::finish(tx, d).await
}

/// Holds all unpaid lines if another amount came back than they sum up to: some of them were paid on the chain, as after a restore, and the
/// database does not know which.
async fn hold_unless_returned(tx: &mut Tx, d: &Distribution, ended: &Operation, returned: U256) -> Result<()> {
    let mut unpaid = entitlement::of_operation(tx, &ended.id).await?;
    unpaid.retain(|e| e.status == Status::Queued);
    let units: u128 = unpaid.iter().map(|e| d.units(e.net)).sum();
    if U256::from(units) == returned {
        return Ok(());
    }
    tracing::error!(operation.id = %ended.id, "{returned} units came back for unpaid lines of {units}: all of them are held");
    let lines: Vec<_> = unpaid.iter().filter_map(|e| e.line_index).map(|line| (line, HoldReason::Operator)).collect();
    entitlement::withhold(tx, &ended.id, &lines).await
}

/// Holds the lines of a page that was executed without its whole effect: who received the money is unknown, and a person must decide.
async fn hold_doubtful(tx: &mut Tx, ended: &Operation) -> Result<()> {
    if ended.error_code.as_deref() != Some("effect_mismatch") {
        return Ok(());
    }
    for step in step::of_operation(tx, &ended.id).await? {
        let executed = step.name == PAGE && step.outcome == Some(Outcome::Reverted);
        let Some(page) = distributor::page_of(&step.calldata).filter(|_| executed) else { continue };
        let first = i64::try_from(page.from).unwrap_or(i64::MAX);
        let lines: Vec<_> = (first..).zip(&page.lines).map(|(line, _)| (line, HoldReason::Operator)).collect();
        entitlement::withhold(tx, &ended.id, &lines).await?;
    }
    Ok(())
}
