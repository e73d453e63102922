//! Splitting a payout page that would certainly fail, before anything is signed. If it would revert because of some of its lines, the
//! frozen payees are held, the other named payees become one operation, and the rest another. If it needs more gas than a transaction can
//! have, it is split in half.

use std::collections::BTreeSet;

use alloy_primitives::Address;
use muniment_activities::chain::Chain;
use muniment_activities::chain::simulate::{At, Call, Simulation};
use muniment_activities::payout::direct::{self, PayoutPage};
use muniment_activities::revert::Revert;
use muniment_activities::token;
use muniment_domain::db::Tx;
use muniment_domain::distribution::{self, Distribution};
use muniment_domain::entitlement::{self, Entitlement, HoldReason, Move as Moved};
use muniment_domain::id::{DistributionId, EntitlementId, InvestorId, OperationId};
use muniment_domain::operation::{self, Kind, NewOperation, Operation, Stage};
use muniment_domain::point::Point;
use muniment_domain::step::{self, Step};
use muniment_domain::{Error, Result, contract, lane, operation_item};

use crate::engine::failure::Failure;
use crate::engine::page;
use crate::engine::queue;
use crate::engine::refusal::disagreement;
use crate::engine::{Engine, Network};
use crate::payout;
use crate::requester::Requester;

/// A planned split of a page: the places of the held lines, and of the lines that are separated from the rest.
#[derive(Clone, Debug)]
struct Split {
    held: BTreeSet<usize>,
    hold_reason: HoldReason,
    separate: BTreeSet<usize>,
    /// Whether the lines are the cause, and not the size. A part that was split because of its lines is not split again.
    by_lines: bool,
    why: String,
}

/// The payees that make a page revert, as far as they are known.
#[derive(Default)]
struct FailingPayees {
    frozen: BTreeSet<Address>,
    named: BTreeSet<Address>,
}

/// Splits a page if it reverts only because of some of its lines. Returns whether it did.
pub async fn split_reverting(
    engine: &Engine,
    network: &Network,
    op: &Operation,
    step: &Step,
    call: &Call,
    revert: &Revert,
) -> Result<bool, Failure> {
    let Some(split) = plan(network, op, step, call, revert).await? else { return Ok(false) };
    write(engine, op, step, split).await?;
    Ok(true)
}

/// Splits a page that is too large for one transaction in half. Returns whether it did.
pub async fn split_oversized(engine: &Engine, op: &Operation, step: &Step, why: &str) -> Result<bool, Failure> {
    let Some(split) = halve(op, step, why.to_owned()) else { return Ok(false) };
    write(engine, op, step, split).await?;
    Ok(true)
}

/// Finds the lines that make a page revert, if the page would succeed without them. A page that was signed once stays whole until a person
/// retries it. From a part of a split page only frozen payees are removed.
async fn plan(
    network: &Network,
    op: &Operation,
    step: &Step,
    call: &Call,
    revert: &Revert,
) -> Result<Option<Split>, Failure> {
    let Some(page) = splittable_page(op, step) else { return Ok(None) };
    let fault = |fault| Failure::of_fault(&fault, Stage::Preflight);
    let (token, lines) = (step.target.0, &page.lines);
    let ask = |endpoint: Chain| async move { token::frozen_among(&endpoint, token, lines, At::Latest).await };
    let answers = network.chain.agreed(ask, |one, other| one == other).await.map_err(fault)?;
    let answers = answers.ok_or_else(|| disagreement("some payees are frozen"))?;
    let frozen = page.lines.iter().zip(answers).filter(|(_, frozen)| *frozen).map(|(line, _)| line.holder()).collect();
    let mut failing = FailingPayees { frozen, ..FailingPayees::default() };
    let mut last = revert.clone();
    for _ in 0..page::NAMED_MAX {
        let rest = PayoutPage {
            lines: page.lines.iter().copied().filter(|l| !failing.has(l.holder())).collect(),
            ..page.clone()
        };
        if rest.lines.is_empty() {
            return Ok((!failing.frozen.is_empty()).then(|| failing.split(&page, revert)));
        }
        if rest.lines.len() < page.lines.len() {
            let data = direct::pay(call.from, step.target.0, &rest).data;
            let tried = Call { data, ..call.clone() };
            match network.chain.agreed_simulation(&tried, At::Latest).await.map_err(fault)? {
                Some(Simulation::Gas(_)) => return Ok(Some(failing.split(&page, revert))),
                Some(Simulation::Reverts(next)) => last = next,
                None => return Err(disagreement(&last.sentence)),
            }
        }
        // A part is not split again: its bad lines fail together with it.
        let Some(payee) = page::holder_named(&last, &rest.lines).filter(|_| !page::is_part(op)) else {
            return Ok(None);
        };
        failing.named.insert(payee);
    }
    Ok(None)
}

/// Splits a page that is too large in half. A half that is still too large is split again. A single line cannot be split.
fn halve(op: &Operation, step: &Step, why: String) -> Option<Split> {
    let lines = splittable_page(op, step)?.lines.len();
    let separate = (lines / 2..lines).collect();
    let hold_reason = HoldReason::Frozen;
    (lines > 1).then(|| Split { held: BTreeSet::new(), hold_reason, separate, by_lines: false, why })
}

/// The page of a step, if it can be split.
fn splittable_page(op: &Operation, step: &Step) -> Option<PayoutPage> {
    if op.kind == Kind::Payout && page::may_split(op, step) { direct::page_of(&step.calldata) } else { None }
}

impl FailingPayees {
    fn has(&self, payee: Address) -> bool {
        self.frozen.contains(&payee) || self.named.contains(&payee)
    }

    fn split(&self, page: &PayoutPage, revert: &Revert) -> Split {
        let places = |of: &BTreeSet<Address>| {
            let lines = page.lines.iter().enumerate();
            lines.filter(|(_, line)| of.contains(&line.holder())).map(|(place, _)| place).collect()
        };
        Split {
            held: places(&self.frozen),
            hold_reason: HoldReason::Frozen,
            separate: places(&self.named),
            by_lines: true,
            why: revert.sentence.clone(),
        }
    }
}

/// Takes an investor's lines out of the pages of a distribution that wait to be signed, and holds them: the identity is not approved any
/// more. Of a page that is signed at the same moment one of the two is refused.
pub async fn hold_waiting(tx: &mut Tx, id: &DistributionId, investor_id: &InvestorId, note: &str) -> Result<()> {
    let queued = entitlement::queued_of(tx, id, investor_id).await?;
    let pages: BTreeSet<&OperationId> = queued.iter().filter_map(|e| e.operation_id.as_ref()).collect();
    for page in pages {
        let op = operation::find(tx, page).await?;
        let steps = step::of_operation(tx, page).await?;
        let Some(step) = steps.iter().find(|step| splittable_page(&op, step).is_some()) else { continue };
        let lines = entitlement::of_operation(tx, page).await?;
        let is_theirs = |e: &Entitlement| queued.iter().any(|theirs| theirs.id == e.id);
        let split = Split {
            held: lines.iter().enumerate().filter(|(_, e)| is_theirs(e)).map(|(place, _)| place).collect(),
            hold_reason: HoldReason::KycRequired,
            separate: BTreeSet::new(),
            by_lines: false,
            why: note.to_owned(),
        };
        apply(tx, &op, step, split).await?;
    }
    Ok(())
}

async fn write(engine: &Engine, op: &Operation, step: &Step, split: Split) -> Result<()> {
    let mut tx = engine.db.begin().await?;
    apply(&mut tx, op, step, split).await?;
    tx.commit(Point::Refuse).await
}

/// Ends the page, holds some of its payees and accepts the parts.
async fn apply(tx: &mut Tx, op: &Operation, step: &Step, split: Split) -> Result<()> {
    let mut op = op.clone();
    let d = distribution::lock_row(tx, &op.subject()).await?;
    let list = entitlement::of_operation(tx, &op.id).await?;
    let lines = direct::page_of(&step.calldata).map_or(0, |page| page.lines.len());
    if list.len() != lines {
        let why = format!("it has {lines} lines and {} entitlements", list.len());
        return Err(Error::Unreadable { what: "operation", id: op.id.into(), why });
    }
    operation_item::release(tx, &op.id).await?;
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for (place, mut e) in list.into_iter().enumerate() {
        if split.held.contains(&place) {
            let note = if split.hold_reason == HoldReason::Frozen { "its wallet is frozen" } else { &split.why };
            entitlement::transition(tx, &mut e, Moved::Hold, Some(split.hold_reason), "engine", note).await?;
        } else if split.separate.contains(&place) {
            bad.push(e);
        } else {
            good.push(e);
        }
    }
    let mut parts = Vec::new();
    for part in [good, bad].into_iter().filter(|part| !part.is_empty()) {
        parts.push(format!("{} ({} lines)", accept(tx, &op, &d, &part, split.by_lines).await?, part.len()));
    }
    let into = if parts.is_empty() { "nothing".to_owned() } else { parts.join(" and ") };
    let message = format!("Split into {into}; {} held. The reason: {}", split.held.len(), split.why);
    page::end_split(tx, &mut op, message).await?;
    payout::finish(tx, d).await.map(drop)
}

async fn accept(
    tx: &mut Tx,
    op: &Operation,
    d: &Distribution,
    part: &[Entitlement],
    by_lines: bool,
) -> Result<OperationId> {
    // This locks the row of the contract, so that two pages of a batch do not get the same place in it.
    let number = contract::reserve_op_numbers(tx, d.chain_id, d.token_address.0, 1).await?;
    let place = match &op.batch_id {
        Some(batch_id) => operation::last_of_batch(tx, batch_id).await? + 1,
        None => op.batch_index,
    };
    let by = Requester {
        actor: op.requested_by.clone(),
        request_id: op.request_id.clone(),
        idempotency_key: op.idempotency_key.clone().filter(|_| op.batch_id.is_some()),
    };
    let mut payload = payout::payload(d);
    payload["split_from"] = if by_lines { op.id.as_str().into() } else { op.payload.0["split_from"].clone() };
    let lane = lane::find(tx, &op.lane_id.clone().unwrap_or_default()).await?;
    let new = payout::new_operation(d, &lane, Kind::Payout, payload, vec![payout::page_step(d, number, part)?], &by);
    let new = NewOperation { batch: op.batch_id.clone().map(|batch_id| (batch_id, place)), ..new };
    let half = operation::insert(tx, new).await?;
    operation_item::insert(tx, &half.id, "entitlement", &payout::items(d, part)).await?;
    let ids: Vec<EntitlementId> = part.iter().map(|e| e.id.clone()).collect();
    entitlement::reassign(tx, &op.id, &half.id, &ids).await?;
    queue::first_wake(tx, &half).await?;
    Ok(half.id)
}
