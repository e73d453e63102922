//! The chain's evidence of a step: whether it was executed, and by which transaction.

use alloy_primitives::{B256, Bytes};
use futures::future::join_all;
use muniment_activities::chain::receipt::Receipt;
use muniment_activities::chain::simulate::At;
use muniment_activities::chain::{Chain, Tag};
use muniment_activities::contract::operation::{Execution, payload_hash};
use muniment_activities::fault::Fault;
use muniment_domain::chain::Chain as Cursor;
use muniment_domain::operation::{Operation, Stage};
use muniment_domain::step::Step;
use muniment_domain::{Code, Error, Result, chain, offering};

use crate::engine::failure::Failure;
use crate::engine::{Engine, Network};

/// The transaction that executed a step.
#[derive(Debug)]
pub enum Executed {
    /// The step's own call, with its receipt.
    Ours(Box<Receipt>),
    /// Another call used the operation number, in a final block.
    Other(B256),
    /// An endpoint shows this transaction. No followed block proves it yet, or it is another call in a block that is not final.
    Unproved(B256),
    /// No execution was found.
    NotFound,
}

/// Finds the transaction that executed a step. Each endpoint is asked alone, until the followed chain proves what one of them shows.
pub async fn find(engine: &Engine, network: &Network, op: &Operation, step: &Step) -> Result<Executed, Failure> {
    let kind = engine.kind(op);
    if !kind.is_traced(step) {
        return Ok(Executed::NotFound);
    }
    let since = first_block(engine, op).await?;
    let followed = chain::find(&mut engine.db.read().await?, op.chain_id).await?;
    let Some(followed) = followed else { return Ok(Executed::NotFound) };
    let (mut found, mut failed) = (None, None);
    for endpoint in network.chain.alone() {
        let shown = match kind.find_execution(&endpoint, op, step, since, At::Hash(followed.head_hash.0)).await {
            Ok(None) => Ok(Executed::NotFound),
            Ok(Some(shown)) => proved(engine, network, &followed, &endpoint, step, &shown).await,
            Err(failure) => Err(failure),
        };
        match shown {
            Ok(proved @ (Executed::Ours(_) | Executed::Other(_))) => return Ok(proved),
            Ok(unproved @ Executed::Unproved(_)) => found = Some(unproved),
            Ok(Executed::NotFound) => found = found.or(Some(Executed::NotFound)),
            Err(Failure::Domain(error)) => return Err(error.into()),
            Err(failure) => failed = failed.or(Some(failure)),
        }
    }
    match (found, failed) {
        (None, Some(failure)) => Err(failure),
        (found, _) => Ok(found.unwrap_or(Executed::NotFound)),
    }
}

/// What an endpoint shows, if a block of the followed chain proves it. Where a chain can prove nothing, a second endpoint must show the same,
/// or the only one again and again.
async fn proved(
    engine: &Engine,
    network: &Network,
    followed: &Cursor,
    endpoint: &Chain,
    step: &Step,
    shown: &Execution,
) -> Result<Executed, Failure> {
    let unproved = Executed::Unproved(shown.event.tx_hash);
    let fault = |fault| Failure::of_fault(&fault, Stage::Tracking);
    let receipt = endpoint.receipts(&[shown.event.tx_hash]).await.map_err(fault)?.pop().flatten();
    let is_followed = |r: &Receipt| shown.is_shown_by(r) && r.block_number.cast_signed() <= followed.head_number;
    let Some(receipt) = receipt.filter(is_followed) else { return Ok(unproved) };
    let number = receipt.block_number.cast_signed();
    let known = chain::header(&mut engine.db.read().await?, followed.chain_id, number).await?;
    let block = match known {
        Some(header) => Some(header.hash.0),
        // Its header was dropped.
        None => {
            let ask = |endpoint: Chain| async move { endpoint.header(number.cast_unsigned()).await };
            let agreed = network.chain.agreed(ask, |one, other| one == other).await.map_err(fault)?;
            agreed.flatten().map(|header| header.hash)
        }
    };
    if block != Some(receipt.block_hash) {
        return Ok(unproved);
    }
    let proved = network.chain.proved_receipt(&receipt).await.map_err(fault)?;
    Ok(match proved.filter(|proved| proved.block_number == receipt.block_number && shown.is_shown_by(proved)) {
        Some(proved) if is_call_of(step, shown) => Executed::Ours(Box::new(proved)),
        // Ours is taken back with its block. An operation that somebody else's call ended would stay so.
        Some(proved) if number <= followed.final_number => Executed::Other(proved.tx_hash),
        _ => unproved,
    })
}

/// The first block in which an operation can have an effect.
async fn first_block(engine: &Engine, op: &Operation) -> Result<u64> {
    let Some(id) = &op.offering_id else { return Ok(0) };
    let offering = offering::find(&mut engine.db.read().await?, id).await?;
    Ok(offering.token_block_number.unwrap_or(0).cast_unsigned())
}

/// Whether the step's own call was executed, and not another one under its operation number.
fn is_call_of(step: &Step, executed: &Execution) -> bool {
    executed.payload_hash == payload_hash(&Bytes::from(step.calldata.clone()))
}

/// Like `find`, with an error for a person who waits for the answer.
pub async fn trace(engine: &Engine, network: &Network, op: &Operation, step: &Step) -> Result<Executed> {
    answer(find(engine, network, op, step).await)
}

/// What one endpoint shows of a step at the final block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    NotExecuted,
    /// By the step's own call, or in a way that leaves no trace.
    Executed,
    /// By a call that was not found: the endpoint may have deleted its old logs.
    ByUnknown,
    /// By another call under the same operation number, which is not this step's effect. Such an operation can only be abandoned.
    ByOther,
}

/// Whether a step took effect at the chain's final block, by any transaction: a known one, or one that a restored database does not know.
pub async fn is_executed(engine: &Engine, network: &Network, op: &Operation, step: &Step) -> Result<bool> {
    if engine.kind(op).moves_nothing(step) {
        return Ok(false);
    }
    let cursor = chain::find(&mut engine.db.read().await?, op.chain_id).await?;
    let since = first_block(engine, op).await?;
    let alone = network.chain.alone();
    let asked = alone.iter().map(|chain| show(engine, chain, op, step, cursor.as_ref(), since));
    let answers = join_all(asked).await;
    let shown: Vec<Shown> = answers.iter().flatten().copied().collect();
    if shown.iter().any(|one| *one != shown[0]) {
        let said = alone.iter().flat_map(Chain::health).zip(&answers);
        let said: Vec<String> = said.map(|(of, answer)| format!("{}: {answer:?}", of.endpoint)).collect();
        tracing::warn!(operation.id = %op.id, "endpoints do not agree whether the operation was executed: {}", said.join(", "));
    }
    if let Some(executed) = agreed(&shown, network.chain.quorum()) {
        return Ok(executed);
    }
    let failure = answers.into_iter().find_map(Result::err);
    failure.map_or_else(|| Err(unanswered("not enough endpoints answer")), |failure| answer(Err(failure)))
}

/// What the endpoints show together. After a wrong "no" a person could begin again what was done, so it takes a quorum, and one endpoint that
/// shows the execution is enough for "yes".
fn agreed(shown: &[Shown], quorum: usize) -> Option<bool> {
    let count = |of: Shown| shown.iter().filter(|one| **one == of).count();
    let others = count(Shown::ByOther);
    if count(Shown::Executed) > 0 {
        return Some(true);
    }
    // An endpoint that does not know the call does not contradict one that does.
    if count(Shown::ByUnknown) > 0 {
        return Some(others < quorum);
    }
    (others + count(Shown::NotExecuted) >= quorum).then_some(false)
}

/// What a chain shows of a step at its final block.
async fn show(
    engine: &Engine,
    chain: &Chain,
    op: &Operation,
    step: &Step,
    cursor: Option<&Cursor>,
    since: u64,
) -> Result<Shown, Failure> {
    let kind = engine.kind(op);
    let fault = |fault| Failure::of_fault(&fault, Stage::Tracking);
    let (at, final_block) = match cursor {
        Some(cursor) => (At::Hash(cursor.final_hash.0), Tag::Number(cursor.final_number.cast_unsigned())),
        None => (At::Latest, Tag::Latest),
    };
    // An endpoint that has not reached the final block returns an error for it, and no code for the newest block.
    if chain.code(step.target.0, final_block).await.map_err(fault)?.is_empty() {
        return Ok(Shown::NotExecuted);
    }
    if !kind.is_executed(chain, op, step, at).await.map_err(fault)? {
        return Ok(Shown::NotExecuted);
    }
    if !kind.is_traced(step) {
        return Ok(Shown::Executed);
    }
    Ok(match kind.find_execution(chain, op, step, since, at).await? {
        Some(executed) if is_call_of(step, &executed) => Shown::Executed,
        Some(_) => Shown::ByOther,
        None => Shown::ByUnknown,
    })
}

/// The chain of an operation, if this process knows it.
pub fn network_of<'a>(engine: &'a Engine, op: &Operation) -> Result<&'a Network> {
    engine
        .network(op.chain_id)
        .ok_or_else(|| Error::refused(Code::UnknownChain, format!("Chain {} is not configured here.", op.chain_id)))
}

/// Turns a fault of the chain into an answer for a person.
pub fn unavailable(fault: &Fault) -> Error {
    unanswered(&fault.to_string())
}

/// The answer for a person while an execution is not proved.
pub fn unproved(tx_hash: B256) -> Error {
    let why = format!("{tx_hash} has the operation's number, and no final block proves it yet. Try again later.");
    Error::refused(Code::ChainUnavailable, why)
}

fn unanswered(why: &str) -> Error {
    Error::refused(Code::ChainUnavailable, format!("The chain is not available: {why}. Try again later."))
}

/// Turns a failed question to the chain into an answer for a person.
pub fn answer<T>(asked: Result<T, Failure>) -> Result<T> {
    asked.map_err(|failure| match failure {
        Failure::Domain(error) => error,
        Failure::Blocked(why) => unanswered(&why),
        Failure::Retry(problem) | Failure::Refuse(problem) | Failure::Dead(problem) => unanswered(&problem.message),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_no_takes_a_quorum_and_a_yes_one_endpoint() {
        use Shown::{ByOther, ByUnknown, Executed, NotExecuted};
        for (shown, quorum, expected) in [
            (vec![NotExecuted, Executed], 1, Some(true)),
            (vec![NotExecuted, ByUnknown], 1, Some(true)),
            (vec![ByOther, Executed], 1, Some(true)),
            (vec![ByOther, ByUnknown], 1, Some(false)),
            (vec![ByOther, ByUnknown], 2, Some(true)),
            (vec![ByOther, NotExecuted], 2, Some(false)),
            (vec![NotExecuted], 2, None),
            (vec![], 1, None),
        ] {
            assert_eq!(agreed(&shown, quorum), expected, "{shown:?}, {quorum}");
        }
    }
}
