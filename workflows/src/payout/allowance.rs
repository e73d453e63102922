//! Allowances: before a platform contract can pull a coin from the payer, the payer approves it, once and without a limit. The contracts
//! pull only from their caller, so an unlimited allowance gives nobody else access to the money.

use alloy_primitives::Address;
use muniment_activities::payout::coin;
use muniment_domain::db::Tx;
use muniment_domain::distribution::{self, Distribution};
use muniment_domain::id::{BatchId, of};
use muniment_domain::lane::Lane;
use muniment_domain::operation::{self, Kind, NewOperation, NewStep, Operation};
use muniment_domain::step::{self, Outcome, Step};
use muniment_domain::{Result, payout_token};

use crate::engine::queue;
use crate::payout;
use crate::payout::{distributor, payer};
use crate::requester::Requester;

/// The reason why a payout waits: its allowance is not final yet.
pub const PENDING: &str = "allowance_pending";

/// The function of the coin.
pub const STEP: &str = "approve";

/// The state of an allowance.
#[derive(Clone, Debug)]
pub enum AllowanceState {
    /// The allowance is final.
    Granted,
    /// An earlier operation that grants it is not finished.
    UnderWay,
    /// This new operation grants it.
    Requested(Box<Operation>),
}

impl AllowanceState {
    /// The new operation, if there is one.
    pub fn operation(self) -> Option<Operation> {
        if let Self::Requested(op) = self { Some(*op) } else { None }
    }
}

/// Makes sure that a contract has an allowance from the payer of a distribution. All payouts share one operation for it: some coins refuse
/// a second `approve`.
pub async fn ensure(
    tx: &mut Tx,
    d: &Distribution,
    spender: Address,
    lane: &Lane,
    batch_id: &BatchId,
    by: &Requester,
) -> Result<AllowanceState> {
    if payout_token::is_allowed(tx, d.chain_id, d.payout_token.0, d.funding_wallet.0, spender).await? {
        return Ok(AllowanceState::Granted);
    }
    let key = key(d.chain_id, d.payout_token.0, d.funding_wallet.0, spender);
    if operation::find_live(tx, &key).await?.is_some() {
        return Ok(AllowanceState::UnderWay);
    }
    let new = payout::new_operation(d, lane, Kind::Payout, payout::payload(d), vec![call(d, spender)], by);
    let new = NewOperation { batch: Some((batch_id.clone(), 0)), live_key: Some(key), ..new };
    let op = operation::insert(tx, new).await?;
    queue::first_wake(tx, &op).await?;
    Ok(AllowanceState::Requested(Box::new(op)))
}

/// Lets new or retried operations wait for their allowance. It needs no wake: the allowance wakes them when it is final, or the sweep does if
/// that wake is lost.
pub fn wait(ops: &mut [Operation]) {
    ops.iter_mut().for_each(|op| op.blocked_reason = Some(PENDING.to_owned()));
}

/// Makes sure that a retried operation has its allowance. If the allowance operation was abandoned meanwhile, a new one grants it and the
/// retried one waits.
pub async fn renew(tx: &mut Tx, op: &mut Operation, by: &Requester) -> Result<bool> {
    let steps = step::of_operation(tx, &op.id).await?;
    let Some(pulling) = steps.iter().find(|step| pulls(op, step)) else { return Ok(false) };
    if pulling.outcome == Some(Outcome::Success) || steps.iter().any(|step| step.name == STEP) {
        return Ok(false);
    }
    let d = distribution::lock_row(tx, &op.subject()).await?;
    let (lane, batch_id) = (payer::lane_of(tx, d.chain_id, d.funding_wallet.0).await?, tx.new_id::<of::Batch>());
    let state = ensure(tx, &d, pulling.target.0, &lane, &batch_id, by).await?;
    let waits = !matches!(state, AllowanceState::Granted);
    if waits {
        wait(std::slice::from_mut(op));
    }
    Ok(waits)
}

/// Whether a step pulls the coin from the payer.
fn pulls(op: &Operation, step: &Step) -> bool {
    match op.kind {
        Kind::Payout => op.subject_type == "distribution" && step.name != STEP,
        Kind::DistributorPayout => step.name == distributor::CREATE,
        _ => false,
    }
}

/// The step that grants the allowance.
fn call(d: &Distribution, spender: Address) -> NewStep {
    payout::step(STEP, d.payout_token.0, &coin::approve(Address::ZERO, d.payout_token.0, spender).data)
}

fn key(chain_id: i64, asset: Address, payer: Address, spender: Address) -> String {
    format!("allowance:{chain_id}:{asset:#x}:{payer:#x}:{spender:#x}")
}

/// Whether the allowance of a step is not final yet. A trial call that reverts is then not a failure.
pub async fn is_under_way(tx: &mut Tx, op: &Operation, step: &Step) -> Result<bool> {
    if !pulls(op, step) {
        return Ok(false);
    }
    let address = |field: &str| op.payload.0[field].as_str().and_then(|text| text.parse::<Address>().ok());
    let (Some(asset), Some(payer)) = (address("asset"), address("payer")) else { return Ok(false) };
    Ok(operation::find_live(tx, &key(op.chain_id, asset, payer, step.target.0)).await?.is_some())
}

/// Stores the final allowance, and wakes the payouts that waited for it.
pub async fn settle(tx: &mut Tx, op: &Operation, asset: Address, owner: Address, spender: Address) -> Result<()> {
    payout_token::set_allowed(tx, op.chain_id, asset, owner, spender, &op.id).await?;
    let mut waiting = operation::waiting_for(tx, op.chain_id, PENDING).await?;
    queue::line_up(tx, &mut waiting).await
}
