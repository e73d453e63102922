//! The chain's evidence of a step: whether it was executed, and by which transaction.

use alloy_primitives::{B256, Bytes};
use muniment_activities::chain::Tag;
use muniment_activities::chain::receipt::Receipt;
use muniment_activities::chain::simulate::At;
use muniment_activities::contract::operation::payload_hash;
use muniment_activities::fault::Fault;
use muniment_domain::operation::{Operation, Problem, Stage};
use muniment_domain::step::Step;
use muniment_domain::{Code, Error, Result, chain, offering};

use crate::engine::failure::Failure;
use crate::engine::{Engine, Network};

/// The transaction that executed a step.
#[derive(Debug)]
pub enum Executed {
    /// The step's own call, with its receipt.
    Ours(Box<Receipt>),
    /// Another call used the operation number.
    Other(B256),
    /// No execution was found.
    NotFound,
}

/// Finds the transaction that executed a step.
pub async fn find(engine: &Engine, network: &Network, op: &Operation, step: &Step) -> Result<Executed, Failure> {
    let kind = engine.kind(op);
    if !kind.is_traced(step) {
        return Ok(Executed::NotFound);
    }
    let mut tx = engine.db.read().await?;
    let since = match &op.offering_id {
        Some(id) => offering::find(&mut tx, id).await?.token_block_number.unwrap_or(0),
        None => 0,
    };
    let followed = chain::find(&mut tx, op.chain_id).await?;
    drop(tx);
    let at = followed.map_or(At::Latest, |c| At::Hash(c.head_hash.0));
    let fault = |fault| Failure::of_fault(&fault, Stage::Tracking);
    let found = kind.find_execution(&network.chain, op, step, since.cast_unsigned(), at).await?;
    let Some(executed) = found else { return Ok(Executed::NotFound) };
    if executed.payload_hash != payload_hash(&Bytes::from(step.calldata.clone())) {
        return Ok(Executed::Other(executed.tx_hash));
    }
    let receipt = network.chain.receipts(&[executed.tx_hash]).await.map_err(fault)?.pop().flatten();
    Ok(receipt.map_or(Executed::NotFound, |receipt| Executed::Ours(Box::new(receipt))))
}

/// The same, with an error for a person who waits for the answer.
pub async fn trace(engine: &Engine, network: &Network, op: &Operation, step: &Step) -> Result<Executed> {
    answer(find(engine, network, op, step).await)
}

/// Whether a step took effect at the chain's final block, by any transaction: a known one, or one that a restored database does not know.
pub async fn is_executed(engine: &Engine, network: &Network, op: &Operation, step: &Step) -> Result<bool> {
    let kind = engine.kind(op);
    if kind.moves_nothing(step) {
        return Ok(false);
    }
    let mut tx = engine.db.read().await?;
    let cursor = chain::find(&mut tx, op.chain_id).await?;
    drop(tx);
    let (at, final_block) = match cursor {
        Some(cursor) => (At::Hash(cursor.final_hash.0), Tag::Number(cursor.final_number.cast_unsigned())),
        None => (At::Latest, Tag::Latest),
    };
    // An endpoint that has not reached the final block returns an error for it, and no code for the newest block.
    if network.chain.code(step.target.0, final_block).await.map_err(|fault| unavailable(&fault))?.is_empty() {
        return Ok(false);
    }
    if !kind.is_executed(&network.chain, op, step, at).await.map_err(|fault| unavailable(&fault))? {
        return Ok(false);
    }
    // A foreign call under the same operation number is not this step's effect. Such an operation can only be abandoned.
    Ok(!kind.is_traced(step) || !matches!(trace(engine, network, op, step).await?, Executed::Other(_)))
}

/// The chain of an operation, if this process knows it.
pub fn network_of<'a>(engine: &'a Engine, op: &Operation) -> Result<&'a Network> {
    engine
        .network(op.chain_id)
        .ok_or_else(|| Error::refused(Code::UnknownChain, format!("Chain {} is not configured here.", op.chain_id)))
}

/// Turns a fault of the chain into an answer for a person.
pub fn unavailable(fault: &Fault) -> Error {
    Error::refused(Code::ChainUnavailable, format!("The chain is not available: {fault}. Try again later."))
}

/// Turns a failed question to the chain into an answer for a person.
pub fn answer<T>(asked: Result<T, Failure>) -> Result<T> {
    asked.map_err(|failure| match failure {
        Failure::Domain(error) => error,
        other => {
            Error::refused(Code::ChainUnavailable, format!("The chain is not available: {other:?}. Try again later."))
        }
    })
}

/// The problem of an operation number that a foreign call used. Only a person can solve it.
pub fn op_id_conflict(step: &Step, tx_hash: B256) -> Problem {
    Problem {
        stage: Stage::Execution,
        code: "op_id_conflict".to_owned(),
        message: format!(
            "The call of {} at {} was executed with another payload in {tx_hash}. Somebody else uses the platform's operation numbers.",
            step.op_number.map_or_else(|| step.name.clone(), |number| format!("operation number {number}")),
            step.target
        ),
        data: None,
    }
}
