//! The verdicts on final steps. No database transaction is open meanwhile, because the chain may have to be asked.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::{B256, Bytes};
use futures::stream::{StreamExt, TryStreamExt, iter};
use muniment_activities::chain::receipt::{Agreement, Receipt};
use muniment_activities::chain::simulate::{At, Call, Simulation};
use muniment_activities::fault::Fault;
use muniment_activities::revert::Revert;
use muniment_domain::attempt::{Attempt, Kind};
use muniment_domain::id::OperationId;
use muniment_domain::operation::{Operation, Problem, Stage};
use muniment_domain::point::Point;
use muniment_domain::step::{self, Outcome, Step};
use muniment_domain::{Error, Result, chain};
use tokio::sync::Mutex;

use crate::engine::conclude::{self, Settled, Verdict};
use crate::engine::execution::{self, Executed};
use crate::engine::failure::Failure;
use crate::engine::kind::agreed_execution;
use crate::engine::known_events::{self, Known};
use crate::engine::prepare::followed;
use crate::engine::refusal;
use crate::engine::verdicts::Damaged;
use crate::engine::{Engine, Network};

/// Operations whose verdicts are decided at the same time, so that a slow endpoint delays them once and not one after the other.
const TOGETHER: usize = 8;
/// The steps of one operation in a turn. Each of them may wait for slow endpoints, and the turn has a limit.
const STEPS_MAX: usize = 64;

/// An included step at or below the final block, with the facts that its verdict needs.
pub struct Final {
    pub op: Operation,
    pub step: Step,
    pub attempt: Option<Attempt>,
    /// The receipt that was stored when its block was followed. None for an adopted transaction.
    pub stored: Option<Receipt>,
    /// The followed block at its height. None if its header was dropped.
    pub header: Option<B256>,
}

/// Decides the verdicts on included steps, in their order, and adds the operations with damaged rows. Returns them with the number of steps
/// that are left to the next turn.
pub async fn decide_all(
    engine: &Engine,
    network: &Network,
    known: Known,
    finals: Vec<Final>,
    damaged: &mut Damaged,
) -> Result<(Vec<Settled>, usize)> {
    let waiting: BTreeSet<OperationId> = damaged.iter().map(|(op, _)| op.id.clone()).collect();
    let mut steps: BTreeMap<OperationId, Vec<(usize, Final)>> = BTreeMap::new();
    for (place, one) in finals.into_iter().enumerate().filter(|(_, one)| !waiting.contains(&one.op.id)) {
        steps.entry(one.op.id.clone()).or_default().push((place, one));
    }
    let known = Mutex::new(known);
    let decided = iter(steps.into_values()).map(|steps| decide_in_order(engine, network, &known, steps));
    let decided: Vec<Decided> = decided.buffer_unordered(TOGETHER).try_collect().await?;
    let (known, mut settled, mut left) = (known.into_inner(), Vec::new(), 0);
    for one in decided {
        left += one.left;
        settled.extend(one.settled);
        damaged.extend(one.damaged);
    }
    // Their events may have been counted before the token was forgotten.
    settled.retain(|(_, one)| one.op.offering_id.as_ref().is_none_or(|id| !known.is_forgotten(id)));
    settled.sort_by_key(|(place, _)| *place);
    Ok((settled.into_iter().map(|(_, one)| one).collect(), left))
}

/// The verdicts on steps of one operation, each with its place among all steps.
#[derive(Default)]
struct Decided {
    settled: Vec<(usize, Settled)>,
    /// The error in its rows.
    damaged: Option<(Operation, Error)>,
    /// The steps that are left to the next turn.
    left: usize,
}

/// The steps of one operation are settled in order, so one that waits delays the later ones.
async fn decide_in_order(
    engine: &Engine,
    network: &Network,
    known: &Mutex<Known>,
    steps: Vec<(usize, Final)>,
) -> Result<Decided> {
    let (mut decided, later) = (Decided::default(), steps.len().saturating_sub(STEPS_MAX));
    for (place, one) in steps.into_iter().take(STEPS_MAX) {
        let op = one.op.clone();
        match decide(engine, network, known, one).await {
            Ok(Some(one)) => decided.settled.push((place, one)),
            Ok(None) => break,
            Err(Failure::Domain(error)) if error.is_row_error() => {
                decided.damaged = Some((op, error));
                break;
            }
            Err(Failure::Domain(error)) => return Err(error),
            // The chain does not answer. The step stays final and is read again with the next head.
            Err(other) => {
                tracing::info!(chain.id = network.id(), "a final receipt waits: {other:?}");
                break;
            }
        }
    }
    if decided.settled.len() == STEPS_MAX {
        decided.left = later;
    }
    Ok(decided)
}

/// Decides the verdict on an included step. It asks the chain where needed.
async fn decide(
    engine: &Engine,
    network: &Network,
    known: &Mutex<Known>,
    one: Final,
) -> Result<Option<Settled>, Failure> {
    let Final { op, step, attempt, stored, header } = one;
    let tx_hash = step.tx_hash.ok_or_else(|| unreadable(&step, "it is included but has no transaction"))?.0;
    let number = step.block_number.ok_or_else(|| unreadable(&step, "it is included but has no block"))?;
    let fault = |fault| Failure::of_fault(&fault, Stage::Tracking);
    // The block must be the followed one or, if its header was dropped, the final block of the chain at that height.
    let canonical = match header {
        Some(hash) => Some(hash),
        None => network.chain.header(number.cast_unsigned()).await.map_err(fault)?.map(|h| h.hash),
    };
    if canonical != step.block_hash.map(|h| h.0) {
        if canonical.is_some() {
            withdraw(engine, &step).await?;
        }
        return Ok(None);
    }
    let receipt = match stored.clone() {
        Some(receipt) => receipt,
        // An adopted transaction has no stored attempt, so its receipt is read from the chain.
        None => match network.chain.receipts(&[tx_hash]).await.map_err(fault)?.pop().flatten() {
            Some(receipt) if Some(receipt.block_hash) == canonical => receipt,
            _ => return Ok(None),
        },
    };
    let Some(mut receipt) = agreed(network, &op, receipt).await.map_err(fault)? else { return Ok(None) };
    let cancelled = attempt.is_some_and(|a| a.kind == Kind::Cancel);
    // A receipt can be wrong once: the one that its block proves decides.
    for _ in 0..2 {
        if receipt.success && !has_read(engine, network, known, stored.as_ref(), &receipt).await? {
            return Ok(None);
        }
        let Some(verdict) = verdict(engine, network, &op, &step, &receipt, cancelled).await? else { return Ok(None) };
        if cancelled || matches!(verdict, Verdict::Done(_)) {
            return Ok(Some(Settled { op, step, verdict }));
        }
        let Some(proved) = network.chain.proved_receipt(&receipt).await.map_err(fault)? else {
            tracing::warn!(operation.id = %op.id, tx.hash = %tx_hash, "a receipt speaks against the operation and its block does not prove it yet");
            return Ok(None);
        };
        if proved == receipt {
            return Ok(Some(Settled { op, step, verdict }));
        }
        tracing::error!(operation.id = %op.id, tx.hash = %tx_hash, "an endpoint showed a false receipt; its block proves another one");
        receipt = proved;
    }
    Ok(None)
}

/// Whether the ledger has every event of a receipt.
async fn has_read(
    engine: &Engine,
    network: &Network,
    known: &Mutex<Known>,
    stored: Option<&Receipt>,
    receipt: &Receipt,
) -> Result<bool> {
    let mut known = known.lock().await;
    if stored != Some(receipt) {
        known.read(&mut engine.db.read().await?, network, &[receipt]).await?;
    }
    known_events::has_read(engine, &mut known, receipt).await
}

/// Takes back the inclusion of a step in a block that is not part of the chain. Otherwise it would wait for that block for ever.
async fn withdraw(engine: &Engine, step: &Step) -> Result<()> {
    tracing::warn!(operation.id = %step.operation_id, "its block is not part of the chain; its transaction is searched again");
    let mut tx = engine.db.begin().await?;
    match step::withdraw_inclusion(&mut tx, step).await {
        Ok(()) => tx.commit(Point::Follow).await,
        Err(Error::Stale { .. }) => Ok(()),
        failed => failed,
    }
}

/// The receipt on which the endpoints agree, in the same block: the stored one, or the one that they show now if the stored one was wrong.
async fn agreed(network: &Network, op: &Operation, stored: Receipt) -> Result<Option<Receipt>, Fault> {
    match network.chain.confirm_receipt(&stored).await? {
        Agreement::Agreed => return Ok(Some(stored)),
        Agreement::Pending => return Ok(None),
        Agreement::Disputed(why) => {
            tracing::error!(operation.id = %op.id, tx.hash = %stored.tx_hash, "endpoints disagree about a final receipt: {why}");
        }
    }
    let shown = network.chain.receipts(&[stored.tx_hash]).await?.pop().flatten();
    let Some(shown) = shown.filter(|shown| shown.block_hash == stored.block_hash) else { return Ok(None) };
    Ok((network.chain.confirm_receipt(&shown).await? == Agreement::Agreed).then_some(shown))
}

async fn verdict(
    engine: &Engine,
    network: &Network,
    op: &Operation,
    step: &Step,
    receipt: &Receipt,
    cancelled: bool,
) -> Result<Option<Verdict>, Failure> {
    if cancelled {
        let message = "A person cancelled its nonce, so the operation can no longer be executed.".to_owned();
        let problem =
            Problem { stage: Stage::Execution, code: "cancelled_by_operator".to_owned(), message, data: None };
        return Ok(Some(Verdict::Undone(Outcome::Cancelled, problem)));
    }
    if receipt.success {
        return Ok(Some(match engine.kind(op).effect(op, step, receipt)? {
            Ok(effect) => match effect.missing(network, op, receipt).await? {
                None => Verdict::Done(effect),
                Some(missing) => Verdict::Undone(Outcome::Reverted, conclude::effect_mismatch(missing.to_string())),
            },
            Err(missing) => Verdict::Undone(Outcome::Reverted, conclude::effect_mismatch(missing.to_string())),
        }));
    }
    // A receipt has no revert reason, so the call is simulated again at the block where it failed.
    let call = Call { from: receipt.from, to: receipt.to, data: Bytes::from(step.calldata.clone()) };
    let reason = match network.chain.agreed_simulation(&call, At::Hash(receipt.block_hash)).await {
        Ok(Some(Simulation::Reverts(revert))) => Some(revert),
        // The end of the block no longer refuses the call, the endpoints do not agree, or none has its state any more.
        Ok(Some(Simulation::Gas(_)) | None) | Err(Fault::Pruned(_) | Fault::Refused(_) | Fault::NoMethod(_)) => None,
        Err(fault) => return Err(Failure::of_fault(&fault, Stage::Tracking)),
    };
    // Without a reason it may be a replay as well.
    if reason.as_ref().is_none_or(|reason| reason.is_already_executed() || reason.data.is_empty()) {
        match execution::find(engine, network, op, step).await? {
            Executed::Ours(done) => {
                // Its own nonce is used: if this block is not final and vanishes, the step has no transaction any more.
                if is_final(engine, op, done.block_number).await? {
                    conclude::adopt(engine, op, step, &done).await?;
                }
                return Ok(None);
            }
            Executed::Other(hash) => {
                return Ok(Some(Verdict::Undone(Outcome::Foreign, refusal::op_id_conflict(step, hash))));
            }
            _ if reason.as_ref().is_some_and(Revert::is_already_executed) => return Ok(None),
            // Without a reason, the log of its execution can be all that is missing.
            _ if engine.kind(op).is_traced(step) && is_executed(engine, network, op, step).await? != Some(false) => {
                return Ok(None);
            }
            Executed::Unproved(_) | Executed::NotFound => {}
        }
    }
    let message = reason.as_ref().map_or("The transaction reverted.".to_owned(), |r| r.sentence.clone());
    let data = reason.map(|r| r.data.to_string());
    let problem = Problem { stage: Stage::Execution, code: "reverted".to_owned(), message, data };
    Ok(Some(Verdict::Undone(Outcome::Reverted, problem)))
}

/// Whether as many endpoints as the quorum requires show that a step took effect, or that it did not, on the newest followed block.
async fn is_executed(engine: &Engine, network: &Network, op: &Operation, step: &Step) -> Result<Option<bool>, Failure> {
    let at = At::Hash(followed(engine, network).await?.head_hash.0);
    let agreed = agreed_execution(engine.kind(op), &network.chain, op, step, at).await;
    agreed.map_err(|fault| Failure::of_fault(&fault, Stage::Tracking))
}

async fn is_final(engine: &Engine, op: &Operation, block_number: u64) -> Result<bool> {
    let cursor = chain::find(&mut engine.db.read().await?, op.chain_id).await?;
    Ok(cursor.is_some_and(|cursor| block_number <= cursor.final_number.cast_unsigned()))
}

/// The error of a step with rows that cannot be used.
pub fn unreadable(step: &Step, why: &str) -> Error {
    Error::Unreadable { what: "step of", id: step.operation_id.to_string(), why: why.to_owned() }
}
