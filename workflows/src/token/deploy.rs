//! Deploy: `TokenFactory.deployToken` creates the offering's token with its caps in one transaction. The address depends on the offering
//! alone, so a repetition with the same terms finds the first deployment.

use alloy_primitives::Address;
use muniment_activities::contract::line::UNITS_MAX;
use muniment_activities::contract::operation::payload_hash;
use muniment_activities::token::factory::{self, Deployment, PartitionTerms};
use muniment_domain::contract;
use muniment_domain::db::Tx;
use muniment_domain::id::OfferingId;
use muniment_domain::money::Money;
use muniment_domain::offering::{self, Deployed, Offering, Status};
use muniment_domain::operation::{self, Kind, NewOperation, NewStep, Operation};
use muniment_domain::token::{self, NewToken};
use muniment_domain::{Code, Error, Result, subscription, token_read};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::engine::effect::{self, Inclusion};
use crate::engine::queue;
use crate::requester::Requester;
use crate::settings::Settings;

/// The contract's limit of partitions.
const PARTITIONS_MAX: usize = 32;

/// A request to deploy a token.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Request {
    /// The offering.
    pub offering_id: OfferingId,
    /// The token's name. Without it, the offering's name.
    pub name: Option<String>,
    /// The token's symbol. Without it, the offering's symbol.
    pub symbol: Option<String>,
    /// The cap in base units, as digits. Without it, the units that the hard cap buys.
    pub supply_units: Option<String>,
    /// The limit of holders. Without it, no limit.
    pub holder_cap: Option<i64>,
    /// The partitions, starting with partition 1. Without them, as many as the offering's own partition needs.
    pub partitions: Option<Vec<Partition>>,
}

/// The terms of a partition.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Partition {
    /// The cap in base units, as digits. Without it, the token's cap.
    pub cap_units: Option<String>,
    /// Whether voluntary transfers are restricted from the start.
    pub restricted: bool,
    /// Whether the Rule 144 module checks transfers.
    pub rule144: bool,
}

/// Terms of a token that only the platform keeps.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Terms {
    name: String,
    holder_cap: Option<i64>,
}

impl Request {
    /// A request with the offering's own terms.
    pub fn of(offering_id: impl Into<OfferingId>) -> Self {
        Self { offering_id: offering_id.into(), ..Self::default() }
    }
}

/// Accepts a deployment. An offering has at most one unfinished deployment.
pub async fn request(tx: &mut Tx, _: &Settings, r: Request, by: &Requester) -> Result<Operation> {
    let live_key = live_key(&r.offering_id);
    let deployable = offering::find_deployable(tx, &r.offering_id, &live_key).await?;
    let offering = &deployable.offering;
    if offering.token_address.is_some() {
        return Err(Error::refused(Code::TokenAlreadyDeployed, "The token of this offering is already deployed."));
    }
    if !offering.may_deploy() {
        let detail = format!(
            "The offering is {}. Its token can be deployed while it is approved, open, paused or closed.",
            offering.status
        );
        return Err(Error::refused(Code::InvalidState, detail));
    }
    let factory = deployable.factory()?;
    if let Some((id, status)) = deployable.live() {
        let detail = format!("The operation {id} already deploys this token. It is {status}.");
        return Err(Error::refused(Code::OperationInProgress, detail));
    }
    // Locked, so that the terms cannot outgrow the caps at the same moment.
    offering::lock_unchanged(tx, offering).await?;
    let deployment = deployment(tx, offering, &r).await?;
    let predicted =
        deployable.implementation().map(|code| factory::predict_token(factory, code, deployment.offering_id));
    let terms = Terms { name: r.name.unwrap_or_else(|| offering.name.clone()), holder_cap: r.holder_cap };
    let calldata = factory::deploy_token(Address::ZERO, factory, &deployment).data;
    let step = NewStep {
        name: "deployToken",
        target: factory,
        payload_hash: Some(payload_hash(&calldata)),
        calldata: calldata.to_vec(),
        op_number: None,
    };
    let new = NewOperation {
        kind: Kind::DeployToken,
        subject_type: "offering",
        subject_id: offering.id.to_string(),
        offering_id: Some(offering.id.clone()),
        batch: None,
        chain_id: offering.chain_id,
        lane_id: None,
        payload: json!({ "deployment": deployment, "terms": terms, "predicted_address": predicted }),
        live_key: Some(live_key),
        requested_by: by.actor.clone(),
        request_id: by.request_id.clone(),
        idempotency_key: by.idempotency_key.clone(),
        steps: vec![step],
    };
    let op = operation::insert(tx, new).await?;
    queue::first_wake(tx, &op).await?;
    Ok(op)
}

/// The terms of the token. The default cap is the number of units that the hard cap buys.
async fn deployment(tx: &mut Tx, offering: &Offering, r: &Request) -> Result<Deployment> {
    let sold = units(offering, offering.hard_cap)?;
    let total_cap = r.supply_units.as_deref().map_or(Ok(sold), |text| read("/caps/supply_units", text))?;
    let unsigned = |_| unreadable(offering, "its partition is negative");
    let own = usize::try_from(offering.partition_id).map_err(unsigned)?;
    let asked = r.partitions.clone().unwrap_or_else(|| vec![Partition::default(); own]);
    if !(own..=PARTITIONS_MAX).contains(&asked.len()) {
        let detail = format!("The offering sells partition {own}. Name {own} to {PARTITIONS_MAX} partitions.");
        return Err(Error::field("/partitions", "count_out_of_range", detail));
    }
    let mut partitions = Vec::with_capacity(asked.len());
    for partition in asked {
        let cap = partition.cap_units.as_deref().map_or(Ok(total_cap), |text| read("/partitions", text))?;
        if cap > total_cap {
            let detail = format!("The partition's cap of {cap} units is above the token's cap of {total_cap}.");
            return Err(Error::field("/partitions", "above_maximum", detail));
        }
        partitions.push(PartitionTerms { cap, restricted: partition.restricted, rule144: partition.rule144 });
    }
    // While the offering is sold, the whole hard cap must fit. Afterwards only the sold units must fit.
    let needed = match offering.status {
        Status::Closed => units(offering, subscription::amount_sum(tx, &offering.id).await?)?.min(sold),
        _ => sold,
    };
    for (pointer, cap) in [("/caps/supply_units", total_cap), ("/partitions", partitions[own - 1].cap)] {
        if cap < needed {
            let detail =
                format!("The subscriptions of this offering can need {needed} units. A cap of {cap} is too low.");
            return Err(Error::field(pointer, "below_minimum", detail));
        }
    }
    let symbol = r.symbol.clone().unwrap_or_else(|| offering.token_symbol.clone());
    Ok(Deployment { offering_id: factory::offering_id(&offering.id), symbol, total_cap, partitions })
}

fn live_key(offering_id: &OfferingId) -> String {
    format!("deploy_token:{offering_id}")
}

/// The cap of the sold partition, once a deployment is accepted. The caps on the chain never change.
async fn ceiling(tx: &mut Tx, offering: &Offering) -> Result<Option<u128>> {
    let (total, partitions) = match token::find(tx, &offering.id).await? {
        Some(known) => {
            let partitions: Vec<PartitionTerms> = serde_json::from_value(known.partitions.0)
                .map_err(|_| unreadable(offering, "the partitions of its token are not a list of terms"))?;
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

/// The ceiling, if the hard cap buys more units: those above it could be paid for and never minted.
pub async fn ceiling_below_hard_cap(tx: &mut Tx, offering: &Offering) -> Result<Option<u128>> {
    let Some(ceiling) = ceiling(tx, offering).await? else { return Ok(None) };
    Ok((units(offering, offering.hard_cap)? > ceiling).then_some(ceiling))
}

/// The base units that an amount buys.
fn units(offering: &Offering, minor: i64) -> Result<u128> {
    let decimals = u32::try_from(offering.token_decimals);
    let decimals = decimals.map_err(|_| unreadable(offering, "its decimals are negative"))?;
    Money::from_minor(minor)
        .base_units(Money::from_minor(offering.unit_price), decimals)
        .ok_or_else(|| unreadable(offering, "its hard cap is not a whole number of token units"))
}

fn unreadable(offering: &Offering, why: &str) -> Error {
    Error::Unreadable { what: "offering", id: offering.id.to_string(), why: why.to_owned() }
}

fn read(pointer: &'static str, text: &str) -> Result<u128> {
    let units = text.parse().ok().filter(|units| (1..=UNITS_MAX).contains(units));
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    units.filter(|_| plain).ok_or_else(|| {
        Error::field(
            pointer,
            "units_format",
            format!("Base units must be digits without a leading zero, from 1 to {UNITS_MAX}."),
        )
    })
}

/// Stores the tokens of offerings of a chain when their deployments are final, and starts their operation numbers.
pub async fn settle(tx: &mut Tx, final_ones: &[(&Operation, Address, Inclusion)]) -> Result<()> {
    let Some((first, ..)) = final_ones.first() else { return Ok(()) };
    let ids: Vec<OfferingId> = final_ones.iter().map(|(op, ..)| op.subject()).collect();
    let offerings = offering::find_all(tx, &ids.iter().collect::<Vec<_>>()).await?;
    let terms = final_ones.iter().zip(&offerings).map(|((op, ..), offering)| new_token(op, offering));
    let tokens = terms.collect::<Result<Vec<_>>>()?;
    token::insert(tx, &tokens).await?;
    let contracts: Vec<_> =
        final_ones.iter().map(|(op, token, _)| (op.chain_id, *token, op.subject_id.as_str())).collect();
    contract::ensure_tokens(tx, &contracts).await?;
    let cursors: Vec<_> =
        final_ones.iter().map(|(op, token, at)| (op.subject_id.as_str(), *token, at.block_number)).collect();
    token_read::begin(tx, first.chain_id, &cursors).await?;
    let deployed = final_ones.iter().zip(&offerings).zip(&tokens).map(|(((_, token, at), offering), terms)| Deployed {
        offering,
        token: *token,
        symbol: &terms.symbol,
        tx_hash: at.tx_hash,
        block_number: at.block_number,
    });
    offering::record_deployments(tx, &deployed.collect::<Vec<_>>()).await
}

fn new_token<'a>(op: &Operation, offering: &'a Offering) -> Result<NewToken<'a>> {
    let deployment: Deployment = effect::payload(op, "deployment")?;
    // A deployment that was imported after a restore has only the chain's terms.
    let terms: Option<Terms> = effect::payload(op, "terms")?;
    Ok(NewToken {
        offering_id: &offering.id,
        name: terms.as_ref().map_or_else(|| offering.name.clone(), |terms| terms.name.clone()),
        partitions: json!(deployment.partitions),
        symbol: deployment.symbol,
        supply_units: deployment.total_cap,
        holder_cap: terms.and_then(|terms| terms.holder_cap),
    })
}
