//! An operation of the list, with its description and its state on the chain.

use std::collections::HashMap;

use muniment_domain::chain::{self, Chain};
use muniment_domain::db::Tx;
use muniment_domain::id::{LaneId, OfferingId, OperationId};
use muniment_domain::lane::{self, Lane};
use muniment_domain::operation::{Operation, Status};
use muniment_domain::step::{Outcome, State, Step};
use muniment_domain::{attempt, offering, operation_item, step};
use serde::Serialize;
use utoipa::ToSchema;

use super::about::{self, Description};
use super::{Short, short};
use crate::app::App;
use crate::field::address::Typed;

/// An operation of the list.
#[derive(Serialize, ToSchema)]
#[schema(as = OperationListed)]
pub struct Row {
    #[serde(flatten)]
    short: Short,
    /// The description of the operation.
    about: Description,
    offering_name: Option<String>,
    /// The state on the chain.
    on_chain: OnChain,
    /// The address of the signer. Null before it is signed.
    signer_address: Option<Typed>,
    /// The nonce of its last signed step.
    nonce: Option<i64>,
    /// The number of transactions that were signed for it.
    signed: i64,
    /// The number of failed attempts to prepare or send it.
    faults: i64,
    /// The number of failed attempts after which a person has to decide.
    faults_max: u32,
    /// The block of its last step. Null while no block contains it.
    block_number: Option<i64>,
    /// The number of confirmations.
    confirmations: Option<i64>,
}

/// The state of an operation on the chain, as a worker last saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = OperationOnChain)]
#[serde(rename_all = "snake_case")]
pub enum OnChain {
    /// Nothing is signed, so nothing can be on the chain.
    NothingSigned,
    /// Signed, and no node has taken it yet.
    Signed,
    /// A node has taken it, and no block contains it.
    Sent,
    /// A block contains it, and the block is not final.
    Included,
    /// The effect of some steps is final, and others are not signed yet.
    PartlyFinal,
    /// Its effect is final.
    Final,
    /// It reverted, or has no effect, and that is final.
    Reverted,
    /// Our own cancel used its nonce.
    Cancelled,
    /// A foreign transaction used its nonce.
    Taken,
}

/// The rows of these operations, read in a fixed number of statements.
pub async fn rows(app: &App, tx: &mut Tx, ops: &[Operation]) -> muniment_domain::Result<Vec<Row>> {
    let ids: Vec<&OperationId> = ops.iter().map(|op| &op.id).collect();
    let mut steps: HashMap<OperationId, Vec<Step>> = HashMap::new();
    for step in step::of_operations(tx, &ids).await? {
        steps.entry(step.operation_id.clone()).or_default().push(step);
    }
    let attempts: HashMap<_, _> =
        attempt::counts(tx, &ids).await?.into_iter().map(|(id, signed, sent)| (id, (signed, sent))).collect();
    let items: HashMap<_, _> = operation_item::counts(tx, &ids).await?.into_iter().collect();
    let mut offerings: Vec<&OfferingId> = ops.iter().filter_map(|op| op.offering_id.as_ref()).collect();
    offerings.sort_unstable();
    offerings.dedup();
    let offerings = offering::named(tx, &offerings).await?;
    let chains = chain::all(tx).await?;
    let mut lanes = Vec::new();
    for chain in &chains {
        lanes.extend(lane::of_chain(tx, chain.chain_id).await?);
    }
    let row = |op: &Operation| {
        let steps = steps.get(&op.id).map_or(&[][..], Vec::as_slice);
        let (signed, sent) = attempts.get(&op.id).copied().unwrap_or_default();
        let offering = offerings.iter().find(|offering| Some(&offering.id) == op.offering_id.as_ref());
        let last = steps.iter().rev().find(|step| step.state != State::Unsigned);
        let (chain, lane) = (find(&chains, op.chain_id), op.lane_id.as_ref().and_then(|id| lane_of(&lanes, id)));
        let block_number = last.and_then(|step| step.block_number);
        Row {
            short: short(app, op),
            about: about::of(op, offering, items.get(&op.id).copied().unwrap_or_default()),
            offering_name: offering.map(|offering| offering.name.clone()),
            on_chain: on_chain(op, steps, sent),
            signer_address: lane.map(|lane| Typed(lane.signer.0)),
            nonce: last.and_then(|step| step.nonce),
            signed,
            faults: op.faults,
            faults_max: app.settings.attempts_max,
            block_number,
            confirmations: block_number.zip(chain).map(|(mined, chain)| (chain.head_number - mined + 1).max(0)),
        }
    };
    Ok(ops.iter().map(row).collect())
}

fn find(chains: &[Chain], chain_id: i64) -> Option<&Chain> {
    chains.iter().find(|chain| chain.chain_id == chain_id)
}

fn lane_of<'a>(lanes: &'a [Lane], id: &LaneId) -> Option<&'a Lane> {
    lanes.iter().find(|lane| lane.id == id)
}

/// The chain's half, by the step that says most.
fn on_chain(op: &Operation, steps: &[Step], sent: i64) -> OnChain {
    let ended = |wanted: Outcome| steps.iter().any(|step| step.outcome == Some(wanted));
    let stands = |wanted: State| steps.iter().any(|step| step.state == wanted);
    match () {
        () if op.status == Status::Confirmed => OnChain::Final,
        () if stands(State::Included) => OnChain::Included,
        () if stands(State::Signed) && sent > 0 => OnChain::Sent,
        () if stands(State::Signed) => OnChain::Signed,
        () if ended(Outcome::Reverted) => OnChain::Reverted,
        () if ended(Outcome::Foreign) => OnChain::Taken,
        () if ended(Outcome::Cancelled) => OnChain::Cancelled,
        () if !steps.is_empty() && steps.iter().all(|step| step.outcome == Some(Outcome::Success)) => OnChain::Final,
        () if ended(Outcome::Success) => OnChain::PartlyFinal,
        () => OnChain::NothingSigned,
    }
}
