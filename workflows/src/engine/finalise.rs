//! Applies final receipts. Nothing in the domain changes before this.

use std::collections::{BTreeSet, HashMap};

use alloy_primitives::{B256, Bytes};
use chrono::Duration;
use muniment_activities::chain::receipt::{Agreement, Receipt};
use muniment_activities::chain::simulate::{At, Call, Simulation};
use muniment_activities::fault::Fault;
use muniment_activities::revert::Revert;
use muniment_domain::attempt::{self, Attempt, Kind};
use muniment_domain::db::Tx;
use muniment_domain::id::OperationId;
use muniment_domain::operation::{self, Operation, Problem, Stage};
use muniment_domain::point::Point;
use muniment_domain::step::{self, Outcome, Step};
use muniment_domain::{Error, Result, chain};

use crate::engine::conclude::{self, Settled, Verdict};
use crate::engine::execution::{self, Executed};
use crate::engine::failure::Failure;
use crate::engine::known_events::{self, Known};
use crate::engine::ledger;
use crate::engine::verdicts::{self, Damaged};
use crate::engine::{Engine, Network};

/// An included step at or below the final block, with the facts that its verdict needs.
struct Final {
    op: Operation,
    step: Step,
    attempt: Option<Attempt>,
    /// The receipt that was stored when its block was followed. None for an adopted transaction.
    stored: Option<Receipt>,
    /// The followed block at its height. None if its header was dropped.
    header: Option<B256>,
}

/// The bytes of calls that one commit settles at most, about sixty pages of two hundred lines. The verdict on a longer call writes more
/// rows, and on SQLite all other writes wait for it.
const CALLS_PER_COMMIT: usize = 800_000;

/// The steps that one commit settles at most where several endpoints must confirm each receipt, one after the other.
const CONFIRMED_PER_COMMIT: usize = 64;

/// Settles up to one batch of final steps. Returns whether more of them can be settled at once.
pub async fn finalise(engine: &Engine, network: &Network) -> Result<bool> {
    let told = ledger::read_to_final(engine, network).await?;
    let mut tx = engine.db.read().await?;
    let Some(cursor) = chain::find(&mut tx, network.id()).await? else { return Ok(false) };
    if cursor.halted_reason.is_some() {
        return Ok(false);
    }
    let most = match network.chain.config.quorum {
        ..=1 => engine.settings.settle_batch.max(1),
        _ => engine.settings.settle_batch.clamp(1, CONFIRMED_PER_COMMIT),
    };
    let limit = i64::try_from(most).unwrap_or(i64::MAX);
    let pause = damaged_pause(engine);
    let up_to = (cursor.final_number, told.as_ref().map(|told| told.up_to));
    let mut steps = step::included_up_to(&mut tx, cursor.chain_id, up_to, pause, limit).await?;
    let found = steps.len();
    steps.truncate(in_one_commit(steps.iter().map(|step| step.calldata.len())));
    let (taken, is_cut) = (steps.len(), steps.len() < found || found == most);
    let foreign = chain::final_foreign_of_open_steps(&mut tx, cursor.chain_id, cursor.final_number).await?;
    let (finals, mut damaged) = read(&mut tx, cursor.chain_id, steps).await?;
    let stored: Vec<&Receipt> = finals.iter().filter_map(|one| one.stored.as_ref()).collect();
    let mut known = told.as_ref().map(|told| Known::unstored(&told.events)).unwrap_or_default();
    known.read(&mut tx, network, &stored).await?;
    drop(tx);
    let settled = match decide_all(engine, network, &mut known, finals, &mut damaged).await {
        Ok(settled) => settled,
        Err(error) => {
            // The ledger does not wait for a verdict.
            verdicts::write(engine, network, told, Vec::new()).await?;
            return Err(error);
        }
    };
    let (count, unwritten) = verdicts::write(engine, network, told, settled).await?;
    damaged.extend(unwritten);
    for (op, error) in damaged {
        set_aside(engine, op, &error).await?;
    }
    for proof in foreign {
        // One endpoint's block is no proof against an operation.
        let (signer, nonce) = (proof.signer.0, proof.nonce.cast_unsigned());
        if network.chain.is_taken_by(signer, nonce, proof.tx_hash.0, proof.block_hash.0).await {
            taken_by_foreign(engine, &proof).await?;
        }
    }
    // Steps that wait would be found again.
    Ok(is_cut && count == taken)
}

/// The number of steps that one commit settles, from the lengths of their calls.
fn in_one_commit(calls: impl Iterator<Item = usize>) -> usize {
    let sums = calls.scan(0, |sum: &mut usize, length| {
        *sum += length;
        Some(*sum)
    });
    sums.take_while(|sum| *sum <= CALLS_PER_COMMIT).count().max(1)
}

/// Reads the facts for the verdicts on these steps, for all of them together.
async fn read(tx: &mut Tx, chain_id: i64, steps: Vec<Step>) -> Result<(Vec<Final>, Damaged)> {
    let (Some(first), Some(last)) = (steps.first(), steps.last()) else { return Ok((Vec::new(), Vec::new())) };
    let (from, to) = (first.block_number.unwrap_or(0), last.block_number.unwrap_or(i64::MAX));
    let headers: HashMap<i64, B256> = chain::headers(tx, chain_id, from, to)
        .await?
        .into_iter()
        .map(|header| (header.number, header.hash.0))
        .collect();
    let ids: BTreeSet<&OperationId> = steps.iter().map(|step| &step.operation_id).collect();
    let ops = operation::find_all(tx, &ids.into_iter().collect::<Vec<_>>()).await?;
    let ops: HashMap<&OperationId, &Operation> = ops.iter().map(|op| (&op.id, op)).collect();
    let hashes: Vec<B256> = steps.iter().filter_map(|step| step.tx_hash).map(|hash| hash.0).collect();
    let attempts = attempt::find_all(tx, chain_id, &hashes).await?;
    let mut attempts: HashMap<B256, Attempt> =
        attempts.into_iter().map(|attempt| (attempt.tx_hash.0, attempt)).collect();
    let (mut finals, mut damaged) = (Vec::with_capacity(steps.len()), Vec::new());
    for step in steps {
        let Some(op) = ops.get(&step.operation_id) else { continue };
        let attempt = step.tx_hash.and_then(|hash| attempts.remove(&hash.0));
        let header = step.block_number.and_then(|number| headers.get(&number).copied());
        let stored = attempt.as_ref().and_then(Attempt::receipt).map(serde_json::from_str::<Receipt>);
        match stored.transpose() {
            Ok(stored) => finals.push(Final { op: (*op).clone(), step, attempt, stored, header }),
            Err(e) => damaged.push(((*op).clone(), unreadable(&step, &format!("its receipt: {e}")))),
        }
    }
    Ok((finals, damaged))
}

/// The pause before a damaged operation is tried again.
fn damaged_pause(engine: &Engine) -> Duration {
    Duration::seconds(engine.settings.outage_pause_seconds.cast_signed())
}

/// Leaves an operation in its status, with the reason and an alert: its effect is final, and a person must repair its rows. The pause
/// starts with this write. An operation that another move changed meanwhile is skipped.
async fn set_aside(engine: &Engine, mut op: Operation, error: &Error) -> Result<()> {
    let reason = format!("{}: {error}", operation::UNREADABLE);
    if op.blocked_reason.as_ref() != Some(&reason) {
        tracing::error!(operation.id = %op.id, "a final result cannot be written: {error}");
    }
    let mut tx = engine.db.begin().await?;
    op.blocked_reason = Some(reason);
    op.next_action_at = Some(tx.now() + damaged_pause(engine));
    match operation::save(&mut tx, &mut op).await {
        Ok(()) => tx.commit(Point::Fault).await,
        Err(Error::Stale { .. }) => Ok(()),
        failed => failed,
    }
}

fn unreadable(step: &Step, why: &str) -> Error {
    Error::Unreadable { what: "step of", id: step.operation_id.to_string(), why: why.to_owned() }
}

/// Decides the verdicts on included steps, and adds the operations with damaged rows.
async fn decide_all(
    engine: &Engine,
    network: &Network,
    known: &mut Known,
    finals: Vec<Final>,
    damaged: &mut Damaged,
) -> Result<Vec<Settled>> {
    let mut settled = Vec::with_capacity(finals.len());
    // The steps of one operation are settled in order, so one that waits delays the later ones.
    let mut waiting: BTreeSet<OperationId> = damaged.iter().map(|(op, _)| op.id.clone()).collect();
    for one in finals {
        let operation_id = one.step.operation_id.clone();
        if waiting.contains(&operation_id) {
            continue;
        }
        let op = one.op.clone();
        match decide(engine, network, known, one).await {
            Ok(Some(one)) => settled.push(one),
            Ok(None) => _ = waiting.insert(operation_id),
            Err(Failure::Domain(error)) if error.is_row_error() => {
                waiting.insert(operation_id);
                damaged.push((op, error));
            }
            Err(Failure::Domain(error)) => return Err(error),
            // The chain does not answer. The step stays final and is read again with the next head.
            Err(other) => {
                tracing::info!(chain.id = network.id(), "a final receipt waits: {other:?}");
                waiting.insert(operation_id);
            }
        }
    }
    Ok(settled)
}

/// Decides the verdict on an included step, with no database transaction open. It asks the chain where needed.
async fn decide(engine: &Engine, network: &Network, known: &mut Known, one: Final) -> Result<Option<Settled>, Failure> {
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
    known: &mut Known,
    stored: Option<&Receipt>,
    receipt: &Receipt,
) -> Result<bool> {
    if stored != Some(receipt) {
        known.read(&mut engine.db.read().await?, network, &[receipt]).await?;
    }
    known_events::has_read(engine, known, receipt).await
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
    let reason = match network.chain.simulate(&call, At::Hash(receipt.block_hash)).await {
        Ok(Simulation::Reverts(revert)) => Some(revert),
        // The end of the block no longer refuses the call, or no node has its state any more.
        Ok(Simulation::Gas(_)) | Err(Fault::Pruned(_) | Fault::Refused(_) | Fault::NoMethod(_)) => None,
        Err(fault) => return Err(Failure::of_fault(&fault, Stage::Tracking)),
    };
    // Without a reason it may be a replay as well.
    if reason.as_ref().is_none_or(Revert::is_already_executed) {
        match execution::find(engine, network, op, step).await? {
            Executed::Ours(done) => {
                conclude::adopt(engine, op, step, &done).await?;
                return Ok(None);
            }
            Executed::Other(hash) => {
                return Ok(Some(Verdict::Undone(Outcome::Foreign, execution::op_id_conflict(step, hash))));
            }
            Executed::NotFound if reason.is_some() => return Ok(None),
            Executed::NotFound => {}
        }
    }
    let message = reason.as_ref().map_or("The transaction reverted.".to_owned(), |r| r.sentence.clone());
    let data = reason.map(|r| r.data.to_string());
    let problem = Problem { stage: Stage::Execution, code: "reverted".to_owned(), message, data };
    Ok(Some(Verdict::Undone(Outcome::Reverted, problem)))
}

/// Ends a step whose nonce a final, proved foreign transaction took: it can never be executed in this cycle.
async fn taken_by_foreign(engine: &Engine, proof: &chain::ForeignTransaction) -> Result<()> {
    let mut tx = engine.db.begin().await?;
    let lanes = muniment_domain::lane::of_chain(&mut tx, proof.chain_id).await?;
    let Some(lane) = lanes.iter().find(|l| l.signer == proof.signer) else { return Ok(()) };
    let signed = step::signed_of_lane(&mut tx, &lane.id).await?;
    let Some(step) = signed.into_iter().find(|s| s.nonce == Some(proof.nonce)) else { return Ok(()) };
    let mut op = operation::find(&mut tx, &step.operation_id).await?;
    let mut step = step;
    step.block_number = Some(proof.block_number);
    step.block_hash = Some(proof.block_hash);
    let message = format!(
        "Nonce {} of {} was used by {}, which this platform did not sign.",
        proof.nonce, proof.signer, proof.tx_hash
    );
    let problem = Problem { stage: Stage::Tracking, code: "nonce_consumed_externally".to_owned(), message, data: None };
    conclude::settle(&mut tx, &mut op, &mut step, Verdict::Undone(Outcome::Foreign, problem), proof.tx_hash.0).await?;
    tx.commit(Point::Finalise).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_settles_many_short_calls_or_few_long_ones() {
        let fit = |length: usize, count: usize| in_one_commit(std::iter::repeat_n(length, count));
        assert_eq!((fit(1_000, 256), fit(13_000, 256)), (256, 61));
        assert_eq!(fit(CALLS_PER_COMMIT + 1, 2), 1, "a single one always fits");
    }
}
