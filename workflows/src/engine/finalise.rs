//! Applies final receipts. Nothing in the domain changes before this.

use std::collections::{BTreeSet, HashMap};

use alloy_primitives::B256;
use chrono::Duration;
use muniment_activities::chain::receipt::Receipt;
use muniment_domain::attempt::{self, Attempt};
use muniment_domain::db::Tx;
use muniment_domain::id::OperationId;
use muniment_domain::operation::{self, Operation, Problem, Stage};
use muniment_domain::point::Point;
use muniment_domain::step::{self, Outcome, Step};
use muniment_domain::{Error, Result, chain};

use crate::engine::conclude::{self, Verdict};
use crate::engine::decide::{self, Final, unreadable};
use crate::engine::known_events::Known;
use crate::engine::ledger;
use crate::engine::verdicts::{self, Damaged};
use crate::engine::{Engine, Network};

/// The bytes of calls that one commit settles at most, about sixty pages of two hundred lines. The verdict on a longer call writes more
/// rows, and on SQLite all other writes wait for it.
const CALLS_PER_COMMIT: usize = 800_000;

/// Settles up to one batch of final steps. Returns whether more of them can be settled at once.
pub async fn finalise(engine: &Engine, network: &Network) -> Result<bool> {
    let told = ledger::read_to_final(engine, network).await?;
    let mut tx = engine.db.read().await?;
    let Some(cursor) = chain::find(&mut tx, network.id()).await? else { return Ok(false) };
    if cursor.halted_reason.is_some() {
        return Ok(false);
    }
    let most = engine.settings.settle_batch.max(1);
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
    let (settled, left) = match decide::decide_all(engine, network, known, finals, &mut damaged).await {
        Ok(decided) => decided,
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
    Ok((is_cut || left > 0) && count + left == taken)
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
