//! Deploy: `TokenFactory.deployToken` makes the offering's token with its caps in one transaction. The address depends on the offering
//! alone, so a second deployment with the same terms finds the first one.

use alloy_primitives::{Address, B256};
use muniment_activities::factory::{self, Deployment, PartitionTerms};
use muniment_activities::operation::payload_hash;
use muniment_domain::contract::{self, Kind as ContractKind};
use muniment_domain::db::Tx;
use muniment_domain::money::Money;
use muniment_domain::offering::{self, Offering};
use muniment_domain::operation::{self, Kind, NewOperation, NewStep, Operation};
use muniment_domain::{Code, Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::queue;
use crate::requester::Requester;
use crate::settings::Settings;

/// What is asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    /// The offering whose token is to be deployed.
    pub offering_id: String,
}

/// Accepts a deployment: one operation for each offering until it is confirmed or given up.
pub async fn request(tx: &mut Tx, _: &Settings, r: Request, by: &Requester) -> Result<Operation> {
    let offering = offering::find(tx, &r.offering_id).await?;
    if offering.token_address.is_some() {
        return Err(Error::refused(Code::TokenAlreadyDeployed, "The token of this offering is deployed."));
    }
    if !offering.may_deploy() {
        let detail = format!(
            "The offering is {}; its token can be deployed when it is approved, open, paused or closed.",
            offering.status
        );
        return Err(Error::refused(Code::InvalidState, detail));
    }
    let factory = contract::only(tx, offering.chain_id, ContractKind::Factory).await?;
    let deployment = deployment(&offering)?;
    let calldata = factory::deploy_token(Address::ZERO, factory, &deployment).data;
    let step = NewStep {
        name: "deployToken",
        target: factory,
        payload_hash: Some(payload_hash(&calldata)),
        calldata: calldata.to_vec(),
        op_number: None,
    };
    let live_key = format!("deploy_token:{}", offering.id);
    let new = NewOperation {
        kind: Kind::DeployToken,
        subject_type: "offering",
        subject_id: offering.id.clone(),
        offering_id: Some(offering.id),
        batch: None,
        chain_id: offering.chain_id,
        payload: json!({ "deployment": deployment }),
        live_key: Some(live_key.clone()),
        requested_by: by.actor.clone(),
        request_id: by.request_id.clone(),
        idempotency_key: by.idempotency_key.clone(),
        steps: vec![step],
    };
    let op = match operation::insert(tx, new).await {
        Err(Error::Refused { code: Code::OperationInProgress, detail }) => {
            return Err(in_progress(tx, &live_key, detail).await?);
        }
        inserted => inserted?,
    };
    queue::first_wake(tx, &op).await?;
    Ok(op)
}

/// The refusal with the operation that is in the way: looked for only where there is one, because most requests are the first.
async fn in_progress(tx: &mut Tx, live_key: &str, detail: String) -> Result<Error> {
    let live = operation::find_live(tx, live_key).await?;
    let detail =
        live.map_or(detail, |live| format!("The token is being deployed by {}, which is {}.", live.id, live.status));
    Ok(Error::refused(Code::OperationInProgress, detail))
}

/// The terms of the token: as many units as the hard cap buys, and no more.
fn deployment(offering: &Offering) -> Result<Deployment> {
    let unreadable = |why: &str| Error::Unreadable { what: "offering", id: offering.id.clone(), why: why.to_owned() };
    let decimals = u32::try_from(offering.token_decimals).map_err(|_| unreadable("its decimals are negative"))?;
    let cap = Money::from_minor(offering.hard_cap)
        .base_units(Money::from_minor(offering.unit_price), decimals)
        .ok_or_else(|| unreadable("its hard cap is not a whole number of token units"))?;
    let count = usize::try_from(offering.partition_id).map_err(|_| unreadable("its partition is negative"))?;
    let terms = PartitionTerms { cap, restricted: false, rule144: false };
    Ok(Deployment {
        offering_id: factory::offering_id(&offering.id),
        symbol: offering.token_symbol.clone(),
        total_cap: cap,
        partitions: vec![terms; count],
    })
}

/// The deployment is final: the offering has its token, and the token its own numbers for operations.
pub async fn settle(tx: &mut Tx, op: &Operation, token: Address, tx_hash: B256, block_number: i64) -> Result<()> {
    contract::ensure(tx, op.chain_id, token, ContractKind::Token, Some(&op.subject_id)).await?;
    offering::set_deployed(tx, &op.subject_id, token, tx_hash, block_number).await
}
