//! Deploy: `TokenFactory.deployToken` makes the offering's token with its caps in one transaction. The address depends on the offering
//! alone, so a second deployment with the same terms finds the first one.

use alloy_primitives::{Address, B256};
use muniment_activities::factory::{self, Deployment, PartitionTerms};
use muniment_activities::line::UNITS_MAX;
use muniment_activities::operation::payload_hash;
use muniment_domain::contract::{self, Kind as ContractKind};
use muniment_domain::db::Tx;
use muniment_domain::money::Money;
use muniment_domain::offering::{self, Offering, Status};
use muniment_domain::operation::{self, Kind, NewOperation, NewStep, Operation};
use muniment_domain::token::{self, NewToken};
use muniment_domain::{Code, Error, Result, subscription, token_read};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::engine::{effect, queue};
use crate::requester::Requester;
use crate::settings::Settings;

/// How many partitions the contract holds.
const PARTITIONS_MAX: usize = 32;

/// What is asked for.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Request {
    /// The offering whose token is to be deployed.
    pub offering_id: String,
    /// What people call the token; the offering's name if it is not said here.
    pub name: Option<String>,
    /// Its symbol; the offering's if it is not said here.
    pub symbol: Option<String>,
    /// The most base units that may ever exist, as digits; what the hard cap buys if it is not said here.
    pub supply_units: Option<String>,
    /// How many holders it may have; any number if it is not said here.
    pub holder_cap: Option<i64>,
    /// Its partitions, the first one being partition 1; as many as the offering's own needs, if they are not said here.
    pub partitions: Option<Vec<Partition>>,
}

/// What a partition starts with.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Partition {
    /// The most base units of it, as digits; the token's own cap if it is not said here.
    pub cap_units: Option<String>,
    /// Whether voluntary transfers are stopped from the start.
    pub restricted: bool,
    /// Whether transfers ask the Rule 144 module.
    pub rule144: bool,
}

/// What only the platform knows of a token.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Terms {
    name: String,
    holder_cap: Option<i64>,
}

impl Request {
    /// With the offering's own terms.
    pub fn of(offering_id: impl Into<String>) -> Self {
        Self { offering_id: offering_id.into(), ..Self::default() }
    }
}

/// Accepts a deployment: one operation for each offering until it is confirmed or given up.
pub async fn request(tx: &mut Tx, _: &Settings, r: Request, by: &Requester) -> Result<Operation> {
    // Held: terms that change at this moment would outgrow the caps.
    let offering = offering::hold(tx, &r.offering_id).await?;
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
    let deployment = deployment(tx, &offering, &r).await?;
    let implementation = contract::implementation(tx, offering.chain_id, factory).await?;
    let predicted = implementation.map(|code| factory::predict_token(factory, code, deployment.offering_id));
    let terms = Terms { name: r.name.unwrap_or_else(|| offering.name.clone()), holder_cap: r.holder_cap };
    let calldata = factory::deploy_token(Address::ZERO, factory, &deployment).data;
    let step = NewStep {
        name: "deployToken",
        target: factory,
        payload_hash: Some(payload_hash(&calldata)),
        calldata: calldata.to_vec(),
        op_number: None,
    };
    let live_key = live_key(&offering.id);
    let new = NewOperation {
        kind: Kind::DeployToken,
        subject_type: "offering",
        subject_id: offering.id.clone(),
        offering_id: Some(offering.id),
        batch: None,
        chain_id: offering.chain_id,
        lane_id: None,
        payload: json!({ "deployment": deployment, "terms": terms, "predicted_address": predicted }),
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

/// The terms of the token: by default as many units as the hard cap buys, and no more.
async fn deployment(tx: &mut Tx, offering: &Offering, r: &Request) -> Result<Deployment> {
    let sold = units(offering, offering.hard_cap)?;
    let total_cap = r.supply_units.as_deref().map_or(Ok(sold), |text| read("/caps/supply_units", text))?;
    let unsigned = |_| unreadable(offering, "its partition is negative");
    let own = usize::try_from(offering.partition_id).map_err(unsigned)?;
    let asked = r.partitions.clone().unwrap_or_else(|| vec![Partition::default(); own]);
    if !(own..=PARTITIONS_MAX).contains(&asked.len()) {
        let detail = format!(
            "The offering sells partition {own}: name at least {own} partitions, and at most {PARTITIONS_MAX}."
        );
        return Err(Error::field("/partitions", "count_out_of_range", detail));
    }
    let mut partitions = Vec::with_capacity(asked.len());
    for partition in asked {
        let cap = partition.cap_units.as_deref().map_or(Ok(total_cap), |text| read("/partitions", text))?;
        if cap > total_cap {
            let detail = format!("A partition can have {cap} units only if the token can; it has {total_cap}.");
            return Err(Error::field("/partitions", "above_maximum", detail));
        }
        partitions.push(PartitionTerms { cap, restricted: partition.restricted, rule144: partition.rule144 });
    }
    // While it is sold, the whole hard cap may be; afterwards what was sold must fit.
    let needed = match offering.status {
        Status::Closed => units(offering, subscription::amount_sum(tx, &offering.id).await?)?.min(sold),
        _ => sold,
    };
    for (pointer, cap) in [("/caps/supply_units", total_cap), ("/partitions", partitions[own - 1].cap)] {
        if cap < needed {
            let detail = format!("The subscriptions of this offering may need {needed} units; {cap} are too few.");
            return Err(Error::field(pointer, "below_minimum", detail));
        }
    }
    let symbol = r.symbol.clone().unwrap_or_else(|| offering.token_symbol.clone());
    Ok(Deployment { offering_id: factory::offering_id(&offering.id), symbol, total_cap, partitions })
}

fn live_key(offering_id: &str) -> String {
    format!("deploy_token:{offering_id}")
}

/// The most units of what is sold that the token can hold, from the moment on that its deployment was accepted: the chain keeps its caps.
pub async fn ceiling(tx: &mut Tx, offering: &Offering) -> Result<Option<u128>> {
    let (total, partitions) = match token::find(tx, &offering.id).await? {
        Some(known) => {
            let partitions: Vec<PartitionTerms> = serde_json::from_value(known.partitions.0)
                .map_err(|_| unreadable(offering, "the partitions of its token are no list of terms"))?;
            (known.supply_units.0, partitions)
        }
        None => match operation::find_live(tx, &live_key(&offering.id)).await? {
            Some(op) => {
                let live: Deployment = effect::payload(&op, "deployment")?;
                (live.total_cap, live.partitions)
            }
            None => return Ok(None),
        },
    };
    let own = usize::try_from(offering.partition_id - 1).ok().and_then(|index| partitions.get(index));
    Ok(Some(own.map_or(total, |own| own.cap.min(total))))
}

/// How many base units an amount buys.
pub fn units(offering: &Offering, minor: i64) -> Result<u128> {
    let decimals = u32::try_from(offering.token_decimals);
    let decimals = decimals.map_err(|_| unreadable(offering, "its decimals are negative"))?;
    Money::from_minor(minor)
        .base_units(Money::from_minor(offering.unit_price), decimals)
        .ok_or_else(|| unreadable(offering, "its hard cap is not a whole number of token units"))
}

fn unreadable(offering: &Offering, why: &str) -> Error {
    Error::Unreadable { what: "offering", id: offering.id.clone(), why: why.to_owned() }
}

fn read(pointer: &'static str, text: &str) -> Result<u128> {
    let units = text.parse().ok().filter(|units| (1..=UNITS_MAX).contains(units));
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    units.filter(|_| plain).ok_or_else(|| {
        Error::field(
            pointer,
            "units_format",
            format!("Base units are digits without a leading zero, from 1 to {UNITS_MAX}."),
        )
    })
}

/// The deployment is final: the offering has its token, and the token its own numbers for operations.
pub async fn settle(tx: &mut Tx, op: &Operation, address: Address, tx_hash: B256, block_number: i64) -> Result<()> {
    let deployment: Deployment = effect::payload(op, "deployment")?;
    // What was imported after a restore has no terms but those of the chain.
    let terms: Option<Terms> = effect::payload(op, "terms")?;
    let offering = offering::find(tx, &op.subject_id).await?;
    let new = NewToken {
        offering_id: &offering.id,
        name: terms.as_ref().map_or(&offering.name, |terms| &terms.name),
        symbol: &deployment.symbol,
        supply_units: deployment.total_cap,
        holder_cap: terms.as_ref().and_then(|terms| terms.holder_cap),
        partitions: json!(deployment.partitions),
    };
    token::insert(tx, &new).await?;
    contract::ensure(tx, op.chain_id, address, ContractKind::Token, Some(&op.subject_id)).await?;
    token_read::begin(tx, &op.subject_id, op.chain_id, address, block_number).await?;
    offering::set_deployed(tx, &op.subject_id, address, &deployment.symbol, tx_hash, block_number).await
}
