//! Marking an operation confirmed. A transaction hash is accepted as its confirmation proof only if every check passes. The response lists
//! all checks, passed or not.

use std::sync::Arc;

use alloy_primitives::B256;
use muniment_activities::chain::receipt::{Agreement, Receipt};
use muniment_activities::chain::simulate::At;
use muniment_activities::contract::registry;
use muniment_activities::fault::Fault;
use muniment_activities::token::factory;
use muniment_domain::column::Hex;
use muniment_domain::db::Tx;
use muniment_domain::id::OperationId;
use muniment_domain::operation::{Move, Operation, Resolution};
use muniment_domain::point::Point;
use muniment_domain::step::{self, Outcome, State, Step};
use muniment_domain::{Code, Error, Result, attempt, chain, claim, lane, token_read};
use serde::Serialize;

use crate::engine::conclude;
use crate::engine::effect::Effect;
use crate::engine::execution::{self, network_of, unavailable};
use crate::engine::{Engine, Network};
use crate::operator::attention::load;
use crate::operator::post_state;

/// One check of the proof.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The name of the check.
    pub name: &'static str,
    /// Whether it passed.
    pub passed: bool,
    /// The finding.
    pub detail: String,
}

fn check(name: &'static str, passed: bool, detail: impl Into<String>) -> Check {
    Check { name, passed, detail: detail.into() }
}

/// A transaction compared with an operation, with every check.
#[derive(Clone, Debug)]
pub struct Examined {
    /// The operation as it was read. Its version guards the write.
    pub op: Operation,
    /// Every check, passed or not.
    pub checks: Vec<Check>,
    step: Step,
    tx_hash: B256,
    proof: Option<(Receipt, Arc<dyn Effect>)>,
}

impl Examined {
    /// Whether every check passed.
    pub fn is_proof(&self) -> bool {
        self.proof.is_some() && self.checks.iter().all(|c| c.passed)
    }
}

/// Checks whether a transaction proves the effect of the open step. Changes nothing.
pub async fn verify(engine: &Engine, operation_id: &OperationId, tx_hash: B256) -> Result<Vec<Check>> {
    Ok(examine(engine, operation_id, tx_hash).await?.checks)
}

/// Confirms an operation by a transaction that proves its effect, or refuses with the failed checks.
pub async fn mark_confirmed(
    engine: &Engine,
    operation_id: &OperationId,
    tx_hash: B256,
    actor: &str,
    reason: &str,
) -> Result<Vec<Check>> {
    let examined = examine(engine, operation_id, tx_hash).await?;
    let checks = examined.checks.clone();
    let mut tx = engine.db.begin().await?;
    apply(&mut tx, examined, actor, reason).await?;
    tx.commit(Point::MarkConfirmed).await?;
    Ok(checks)
}

/// Confirms the operation, if every check passed and its version has not changed.
pub async fn apply(tx: &mut Tx, examined: Examined, actor: &str, reason: &str) -> Result<()> {
    if !examined.is_proof() {
        let failed = examined.checks.iter().filter(|c| !c.passed).map(|c| format!("{}: {}", c.name, c.detail));
        return Err(Error::refused(Code::ReconcileVerificationFailed, failed.collect::<Vec<_>>().join("; ")));
    }
    let Examined { mut op, mut step, tx_hash, proof: Some((receipt, effect)), .. } = examined else {
        return Err(Error::refused(Code::ReconcileVerificationFailed, "there is no receipt"));
    };
    let read = step.state;
    step.state = State::Final;
    step.outcome = Some(Outcome::Success);
    step.tx_hash = Some(Hex(tx_hash));
    step.block_number = Some(receipt.block_number.cast_signed());
    step.block_hash = Some(Hex(receipt.block_hash));
    step.final_at.get_or_insert(tx.now());
    step::save(tx, &step, read).await?;
    if let (Some(lane_id), Some(nonce)) = (&step.lane_id, step.nonce) {
        // The proof can be the operation's own transaction, which the finaliser has not settled and now never will.
        attempt::close_nonces(tx, &[(lane_id, nonce)]).await?;
    }
    claim::insert(tx, op.chain_id, tx_hash, &op.id).await?;
    conclude::take_effect(tx, &op, &step, effect.as_ref()).await?;
    op.resolution = Some(Resolution::ConfirmedExternal);
    conclude::confirm(tx, &mut op, tx_hash, Move::MarkConfirmed, actor, reason).await
}

/// Runs the checks of the confirmation proof, with no database transaction open.
pub async fn examine(engine: &Engine, operation_id: &OperationId, tx_hash: B256) -> Result<Examined> {
    let (op, steps) = load(engine, operation_id).await?;
    let network = network_of(engine, &op)?;
    let open: Vec<&Step> = steps.iter().filter(|s| s.outcome != Some(Outcome::Success)).collect();
    let step = match (open.as_slice(), steps.last()) {
        ([only], _) => (*only).clone(),
        ([], Some(last)) => last.clone(),
        _ => {
            return Err(op.illegal("Several steps are open, and one transaction cannot prove them. Retry instead."));
        }
    };
    let mut checks = vec![chain_id(network).await?];
    let receipt = network.chain.receipts(&[tx_hash]).await.map_err(|f| unavailable(&f))?.pop().flatten();
    let Some(receipt) = receipt else {
        checks.push(check("receipt", false, "the chain has no receipt for this hash"));
        return Ok(Examined { op, checks, step, tx_hash, proof: None });
    };
    checks.push(check("receipt", true, format!("in block {}", receipt.block_number)));
    checks.push(check("successful", receipt.success, if receipt.success { "status 1" } else { "it reverted" }));
    let agreement = network.chain.confirm_receipt(&receipt).await.map_err(|f| unavailable(&f))?;
    let agreed = agreement == Agreement::Agreed;
    checks.push(check("endpoints_agree", agreed, format!("{agreement:?}")));
    let last = finality(engine, network, &op, &receipt).await?;
    let stands = last.passed && agreed;
    checks.push(last);
    checks.push(target(&step, &receipt));
    checks.push(sender(engine, network, &op, &receipt).await?);
    checks.push(closed(&step, tx_hash));
    let claimed = claimed_by(engine, &op, tx_hash).await?;
    checks.push(check(
        "unclaimed",
        claimed.is_none(),
        claimed.map_or("no other operation has it".to_owned(), |id| format!("it is {id}'s")),
    ));
    let mut shown = engine.kind(&op).effect(&op, &step, &receipt)?;
    if let Ok(effect) = &shown
        && let Some(missing) = execution::answer(effect.missing(network, &op, &receipt).await)?
    {
        shown = Err(missing);
    }
    // The state can only be compared if the receipt is final and the endpoints agree on it.
    if let (Ok(effect), true) = (&shown, stands) {
        let found = post_state::contradiction(engine, network, &op, &step, effect.as_ref(), &receipt).await?;
        checks.push(check("post_state", found.is_none(), found.unwrap_or_else(|| "nothing contradicts it".to_owned())));
    }
    checks.push(match &shown {
        Ok(_) => check("effect", true, "the logs show the complete effect"),
        Err(missing) => check("effect", false, missing.to_string()),
    });
    let proof = shown.ok().map(|effect| (receipt, effect));
    Ok(Examined { op, checks, step, tx_hash, proof })
}

/// Every endpoint that answers must be on the operation's chain.
async fn chain_id(network: &Network) -> Result<Check> {
    match network.chain.check_endpoints().await {
        Ok(contact) => Ok(check("chain_id", true, contact.chain_id.to_string())),
        Err(fault @ Fault::WrongChain { .. }) => Ok(check("chain_id", false, fault.to_string())),
        Err(fault) => Err(unavailable(&fault)),
    }
}

async fn finality(engine: &Engine, network: &Network, op: &Operation, receipt: &Receipt) -> Result<Check> {
    let mut tx = engine.db.read().await?;
    let last = chain::find(&mut tx, network.id()).await?.map_or(-1, |c| c.final_number);
    // For the platform a block is final when the token's events are read up to it.
    let read = match &op.offering_id {
        Some(id) => token_read::cursor(&mut tx, id).await?.map(|cursor| cursor.block_number),
        None => None,
    };
    drop(tx);
    let last = read.map_or(last, |read| read.min(last));
    let header = network.chain.header(receipt.block_number).await.map_err(|f| unavailable(&f))?;
    let canonical = header.is_some_and(|h| h.hash == receipt.block_hash);
    let below = receipt.block_number.cast_signed() <= last;
    Ok(check(
        "final",
        canonical && below,
        format!("block {}, final up to {last}, canonical: {canonical}", receipt.block_number),
    ))
}

fn target(step: &Step, receipt: &Receipt) -> Check {
    // Another contract may have made the call on behalf of an agent. Then the logs alone must show the effect.
    let ours = receipt.to == Some(step.target.0) || receipt.logs.iter().any(|l| l.address == step.target.0);
    check("target", ours, format!("{} was called, {} was expected", receipt.to.unwrap_or_default(), step.target.0))
}

/// The step's own nonce must be closed: otherwise the step could be executed in addition to the proof.
fn closed(step: &Step, tx_hash: B256) -> Check {
    let open = matches!(step.state, State::Signed | State::Included) && step.tx_hash.map(|h| h.0) != Some(tx_hash);
    check(
        "nonce_closed",
        !open,
        if open {
            "the step's own nonce is not final yet: wait, or cancel the nonce"
        } else {
            "the step has no open nonce"
        },
    )
}

async fn sender(engine: &Engine, network: &Network, op: &Operation, receipt: &Receipt) -> Result<Check> {
    let mut tx = engine.db.read().await?;
    let lanes = lane::of_chain(&mut tx, op.chain_id).await?;
    drop(tx);
    if lanes.iter().any(|l| l.signer.0 == receipt.from) {
        return Ok(check("sender", true, "a signer of this platform"));
    }
    let agent = match network.chain.config.registry {
        Some(address) => {
            // An agent of another offering could not have made the call.
            let offering = op.offering_id.as_deref().map(factory::offering_id);
            let asked = async |at| match offering {
                Some(id) => registry::is_agent_for(&network.chain, address, id, receipt.from, at).await,
                None => registry::is_agent(&network.chain, address, receipt.from, at).await,
            };
            match asked(At::Hash(receipt.block_hash)).await {
                // Nodes prune old state. The registry's current roles are the next best evidence.
                Err(Fault::Pruned(_) | Fault::UnknownBlock) => asked(At::Latest).await,
                answered => answered,
            }
            .map_err(|f| unavailable(&f))?
        }
        None => false,
    };
    Ok(check("sender", agent, format!("{} is {}an agent", receipt.from, if agent { "" } else { "not " })))
}

async fn claimed_by(engine: &Engine, op: &Operation, tx_hash: B256) -> Result<Option<OperationId>> {
    let mut tx = engine.db.read().await?;
    let own = attempt::find(&mut tx, op.chain_id, tx_hash).await?.map(|a| a.operation_id);
    let claimed = claim::find(&mut tx, op.chain_id, tx_hash).await?;
    Ok(own.into_iter().chain(claimed).find(|id| *id != op.id))
}
