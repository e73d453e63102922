//! Closing a nonce that the chain shows as used and that nothing explains: no receipt of ours, and no foreign transaction that was found.
//! Two people decide it. The engine then proves that none of its own transactions can be included any more, and asks the contract whether
//! the operation was executed all the same. If it was, that transaction is adopted. If not, the operation waits for a person, whose retry
//! takes a new nonce.

use alloy_primitives::B256;
use muniment_activities::chain::account::NonceUse;
use muniment_activities::chain::receipt::Receipt;
use muniment_domain::column::Hex;
use muniment_domain::db::Tx;
use muniment_domain::id::OperationId;
use muniment_domain::operation::{self, Operation, Problem, Stage, Status};
use muniment_domain::step::{self, Outcome, State, Step};
use muniment_domain::{Code, Error, Result, attempt, chain, event, lane};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::approval_request::About;
use crate::engine::Engine;
use crate::engine::conclude::{self, Verdict};
use crate::engine::execution::{self, Executed};

/// A request to close the open nonce of an operation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    /// The operation.
    pub operation_id: OperationId,
    /// The nonce that the requester saw.
    pub nonce: i64,
    /// The reason.
    pub reason: String,
}

impl Request {
    /// What the approval shows.
    pub fn about(&self) -> About {
        About::of_operation("close_nonce", &self.operation_id, &self.reason)
    }
}

/// An operation whose nonce is proved to be used by none of its transactions.
#[derive(Clone, Debug)]
pub struct Examined {
    op: Operation,
    step: Step,
    signer: String,
    /// The final block that shows it.
    shown_at: (i64, Hex<B256>),
    /// Whether it was executed nevertheless.
    is_executed: bool,
    /// The transaction that executed it, if it was found.
    executed: Option<Box<Receipt>>,
}

impl Examined {
    /// The nonce.
    pub fn nonce(&self) -> i64 {
        self.step.nonce.unwrap_or_default()
    }
}

/// The part of the check that needs only the database.
pub async fn check(tx: &mut Tx, r: &Request) -> Result<()> {
    let (_, step) = open_step(tx, &r.operation_id).await?;
    if step.nonce == Some(r.nonce) {
        return Ok(());
    }
    Err(Error::refused(Code::SnapshotMismatch, "The operation holds another nonce now. Read it, and request it again."))
}

/// Proves that the nonce is used by none of the operation's transactions, with no database transaction open.
pub async fn examine(engine: &Engine, operation_id: &OperationId) -> Result<Examined> {
    let mut tx = engine.db.read().await?;
    let (op, step) = open_step(&mut tx, operation_id).await?;
    let nonce = step.nonce.unwrap_or_default();
    let lane = lane::find(&mut tx, &step.lane_id.clone().unwrap_or_default()).await?;
    let own = attempt::of_operation(&mut tx, operation_id).await?;
    let cursor = chain::find(&mut tx, op.chain_id).await?;
    drop(tx);
    let network = execution::network_of(engine, &op)?;
    let unmet = || Error::refused(Code::ChainUnavailable, "The chain has not been contacted yet.");
    let cursor = cursor.ok_or_else(unmet)?;
    if let Some(reason) = cursor.halted_reason {
        return Err(Error::refused(Code::ChainHalted, reason));
    }
    let of_nonce = |a: &&attempt::Attempt| a.nonce == nonce && a.lane_id == lane.id;
    let hashes: Vec<B256> = own.iter().filter(of_nonce).map(|a| a.tx_hash.0).collect();
    let last = cursor.final_number.cast_unsigned();
    match network.chain.nonce_use(lane.signer.0, nonce.cast_unsigned(), &hashes, last).await {
        NonceUse::NotOurs => {}
        NonceUse::Open => {
            let detail = format!(
                "Not enough endpoints show at the final block {last} that nonce {nonce} of {} is used, so the signed transaction can still be \
                 included.",
                lane.signer.0
            );
            return Err(Error::refused(Code::NonceStillOpen, detail));
        }
        NonceUse::Ours(hash) => {
            let detail =
                format!("An endpoint has the operation's own transaction {hash} in a block. The engine will find it.");
            return Err(Error::refused(Code::InvalidState, detail));
        }
    }
    let is_executed = execution::is_executed(engine, network, &op, &step).await?;
    let mut executed = None;
    if is_executed && let Executed::Ours(receipt) = execution::trace(engine, network, &op, &step).await? {
        executed = Some(receipt);
    }
    let shown_at = (cursor.final_number, cursor.final_hash);
    Ok(Examined { op, step, signer: lane.signer.0.to_string(), shown_at, is_executed, executed })
}

/// Repeats the proof after the approval. The nonce must be the one that was approved.
pub async fn examine_agreed(engine: &Engine, r: &Request) -> Result<Examined> {
    check(&mut engine.db.read().await?, r).await?;
    examine(engine, &r.operation_id).await
}

/// Closes the nonce, if the operation and its step have not changed.
pub async fn write(tx: &mut Tx, examined: Examined, actor: &str, reason: &str) -> Result<()> {
    let nonce = examined.nonce();
    let Examined { mut op, mut step, signer, shown_at, is_executed, executed } = examined;
    let data = json!({ "nonce": nonce, "signer": signer, "adopted": executed.as_ref().map(|receipt| receipt.tx_hash.to_string()) });
    if let Some(receipt) = &executed {
        conclude::write_adoption(tx, &op, &step, receipt).await?;
    } else {
        // Not found for a while, or for ever where the endpoints keep no old logs: a person knows it, or finds it elsewhere.
        let then = match is_executed {
            true => "The operation is executed by a transaction that was not found: mark it confirmed with its hash. ",
            false => "",
        };
        let message =
            format!("Nonce {nonce} of {signer} is used, but not by this operation. {then}{actor} closed it: {reason}");
        let problem = Problem { stage: Stage::Tracking, code: "nonce_closed".to_owned(), message, data: None };
        if op.status != Status::Submitted {
            // It was given up before. What it waits for now is this.
            op.set_problem(Some(problem.clone()));
        }
        (step.block_number, step.block_hash) = (Some(shown_at.0), Some(shown_at.1));
        conclude::settle(tx, &mut op, &mut step, Verdict::Undone(Outcome::Foreign, problem), B256::ZERO).await?;
    }
    let version = operation::find(tx, &op.id).await?.version;
    event::write(tx, "operation.nonce_closed", "operation", &op.id, version, data).await
}

/// The operation and its first signed step, whose nonce is open.
async fn open_step(tx: &mut Tx, operation_id: &OperationId) -> Result<(Operation, Step)> {
    let op = operation::find(tx, operation_id).await?;
    let steps = step::of_operation(tx, &op.id).await?;
    let signed = steps.into_iter().find(|s| s.state == State::Signed);
    let none = || Error::refused(Code::InvalidState, "The operation has no open nonce to close.");
    signed.map(|step| (op, step)).ok_or_else(none)
}
