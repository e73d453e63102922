//! The calls that an approved action would send: the action is executed in a transaction that is then rolled back.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use alloy_primitives::Address;
use muniment_activities::chain::simulate::Call;
use muniment_activities::contract::registry::Roles;
use muniment_domain::approval::Approval;
use muniment_domain::db::{Db, Tx};
use muniment_domain::id::OfferingId;
use muniment_domain::lane::{self, Lane, Mode};
use muniment_domain::operation::{self, Operation};
use muniment_domain::{Code, Error, Result, step};

use crate::approval::action::{Action, ExecutionResult};
use crate::payout;
use crate::payout::approval as payout_approval;
use crate::requester::Requester;
use crate::settings::Settings;

/// A call with the operation and the function that would send it.
#[derive(Clone, Debug)]
pub struct PlannedCall {
    /// The kind of the operation.
    pub kind: operation::Kind,
    /// The name of the function.
    pub function: String,
    /// The call, from the signer that would send it.
    pub call: Call,
    /// The offering, if it concerns one.
    pub offering_id: Option<OfferingId>,
}

/// The calls by chain, in the order in which they would be sent. Empty if the action sends nothing.
pub type Plan = BTreeMap<i64, Vec<PlannedCall>>;

/// The calls of a pending approval, or none if its execution asks the chain first. A refusal is what its execution would be refused with.
pub async fn of(db: &Db, settings: &Settings, a: &Approval) -> Result<Option<Plan>> {
    let action = Action::read(&a.id, a.verified_payload()?)?;
    if action.asks_chain() {
        return Ok(None);
    }
    // Never committed: what is written here only shows what would be sent.
    let mut tx = db.begin().await?;
    payout_approval::lock_distribution_of(&mut tx, a).await?;
    let by = Requester { actor: a.maker.clone(), request_id: None, idempotency_key: a.idempotency_key.clone() };
    let operations = execute(&mut tx, settings, action, &by).await?;
    calls(&mut tx, &operations).await.map(Some)
}

async fn execute(tx: &mut Tx, settings: &Settings, action: Action, by: &Requester) -> Result<Vec<Operation>> {
    let list = if let Action::Payout(list) = &action { Some(list.distribution_id.clone()) } else { None };
    match (action.execute(tx, settings, by).await?, list) {
        // The payment of an approved list is requested later. Its calls are known now.
        (_, Some(distribution_id)) => payout::pay_approved(tx, settings, &distribution_id, by).await,
        (ExecutionResult { batch_id: Some(batch_id), .. }, None) => operation::by_batch(tx, &batch_id).await,
        (ExecutionResult { operation_id: Some(id), .. }, None) => Ok(vec![operation::find(tx, &id).await?]),
        (ExecutionResult { .. }, None) => Ok(Vec::new()),
    }
}

async fn calls(tx: &mut Tx, operations: &[Operation]) -> Result<Plan> {
    let (mut plan, mut lanes) = (Plan::new(), BTreeMap::new());
    for op in operations {
        let lanes: &mut Vec<Lane> = match lanes.entry(op.chain_id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(lane::of_chain(tx, op.chain_id).await?),
        };
        let from = signer(lanes, op)?;
        for step in step::of_operation(tx, &op.id).await? {
            let call = Call { from, to: Some(step.target.0), data: step.calldata.into() };
            let (function, offering_id) = (step.name, op.offering_id.clone());
            plan.entry(op.chain_id).or_default().push(PlannedCall { kind: op.kind, function, call, offering_id });
        }
    }
    Ok(plan)
}

/// The signer that would send an operation: its own lane, or else an active one that has the roles.
fn signer(lanes: &[Lane], op: &Operation) -> Result<Address> {
    let rank = |lane: &&Lane| {
        let may_act = lane.roles_in(op.offering_id.as_ref()).is_none_or(|bits| Roles(bits).holds(Roles::ALL));
        (op.lane_id.as_ref() == Some(&lane.id), may_act, lane.mode == Mode::Active)
    };
    let none = || format!("The chain {} has no signer yet. Start a worker that has a key for it.", op.chain_id);
    let lane = lanes.iter().max_by_key(rank).ok_or_else(|| Error::refused(Code::InvalidState, none()))?;
    Ok(lane.signer.0)
}
