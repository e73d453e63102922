//! Whether a receipt shows the effect that a step was sent for. A success without it is no success.

use alloy_primitives::{Address, B256, Bytes};
use muniment_activities::distributor::{self, Outcome};
use muniment_activities::factory::{self, Deployment};
use muniment_activities::mint::{self, MintPage};
use muniment_activities::operation::{MissingEffect, operation_executed, payload_hash};
use muniment_activities::receipt::Receipt;
use muniment_activities::{coin, direct_payout};
use muniment_domain::operation::{Operation, Problem, Stage};
use muniment_domain::step::Step;
use muniment_domain::{Error, offering};
use serde::de::DeserializeOwned;

use crate::compliance;
use crate::compliance::Done;
use crate::engine::failure::Failure;
use crate::engine::{Engine, Network};
use crate::payout::{allowance, distributor as distributor_payout, reclaim};

/// What a final receipt did.
#[derive(Clone, Debug)]
pub enum Effect {
    /// A token stands at this address.
    TokenDeployed(Address),
    /// This page was minted.
    PageMinted(MintPage),
    /// A compliance operation did this.
    Compliance(Done),
    /// A contract of ours may pull a coin from its owner.
    Allowed {
        /// The coin.
        asset: Address,
        /// Whose.
        owner: Address,
        /// The contract.
        spender: Address,
    },
    /// The sum of a distribution is in escrow.
    EscrowFunded,
    /// What was left of it is with its funder again.
    EscrowReturned,
    /// These lines of an operation, from this one on, were paid or are kept.
    LinesPaid(i64, Vec<Outcome>),
    /// This audit report was declared.
    AuditDeclared(B256),
}

/// Reads one field of an operation's payload; it was written by this program, so a misfit is a damaged row.
pub fn payload<T: DeserializeOwned>(op: &Operation, field: &str) -> Result<T, Error> {
    serde_json::from_value(op.payload.0[field].clone()).map_err(|e| Error::Unreadable {
        what: "operation",
        id: op.id.clone(),
        why: format!("payload.{field}: {e}"),
    })
}

/// The page that a step mints: the operation's only one, or its own of several.
fn page_of(op: &Operation, step: &Step) -> Result<MintPage, Error> {
    if op.payload.0["pages"].is_null() {
        return payload(op, "page");
    }
    let index = usize::try_from(step.position).unwrap_or(usize::MAX);
    payload::<Vec<MintPage>>(op, "pages")?.into_iter().nth(index).ok_or_else(|| Error::Unreadable {
        what: "operation",
        id: op.id.clone(),
        why: format!("payload.pages has none for step {}", step.position),
    })
}

/// The effect that a successful receipt shows, or what is missing of it.
pub fn shown(op: &Operation, step: &Step, receipt: &Receipt) -> Result<Result<Effect, MissingEffect>, Error> {
    match step.name.as_str() {
        "deployToken" => {
            let deployment: Deployment = payload(op, "deployment")?;
            let predicted: Option<Address> = payload(op, "predicted_address")?;
            let shown = factory::deploy_effect(receipt, step.target.0, &deployment);
            Ok(shown.and_then(|token| where_predicted(token, predicted)).map(Effect::TokenDeployed))
        }
        "mintPage" => {
            let page = page_of(op, step)?;
            Ok(mint::mint_effect(receipt, step.target.0, &page).map(|()| Effect::PageMinted(page)))
        }
        allowance::STEP
        | "payout"
        | "batchPayout"
        | distributor_payout::CREATE
        | distributor_payout::PAGE
        | distributor_payout::CLAIM
        | reclaim::STEP
        | "declareAudit" => paid(op, step, receipt),
        _ => Ok(compliance::shown(op, step, receipt)?.map(Effect::Compliance)),
    }
}

fn where_predicted(token: Address, predicted: Option<Address>) -> Result<Address, MissingEffect> {
    match predicted {
        Some(predicted) if predicted != token => {
            Err(MissingEffect(format!("the token stands at {token}, and {predicted} was predicted")))
        }
        _ => Ok(token),
    }
}

/// What the chain says now of an effect that its receipt does not show by itself: a token that a repetition found is asked for its
/// offering and its symbol, as one that was made tells them in its receipt.
pub async fn read_back(
    network: &Network,
    op: &Operation,
    effect: &Effect,
    receipt: &Receipt,
) -> Result<Option<MissingEffect>, Failure> {
    let Effect::TokenDeployed(token) = effect else { return Ok(None) };
    if factory::made_here(receipt, *token) {
        return Ok(None);
    }
    let deployment: Deployment = payload(op, "deployment")?;
    let fault = |fault| Failure::of_fault(&fault, Stage::Tracking);
    if !network.has_code(*token).await.map_err(fault)? {
        return Ok(Some(MissingEffect(format!("no contract stands at {token}"))));
    }
    let (offering, symbol) = factory::identity(&network.chain, *token).await.map_err(fault)?;
    let agrees = offering == deployment.offering_id && symbol == deployment.symbol;
    Ok((!agrees).then(|| MissingEffect(format!("{token} says that it is {symbol} of offering {offering}"))))
}

/// The effect of a step that pays, or prepares or attests a payment.
fn paid(op: &Operation, step: &Step, receipt: &Receipt) -> Result<Result<Effect, MissingEffect>, Error> {
    let (data, target) = (step.calldata.as_slice(), step.target.0);
    let damaged = || Error::Unreadable { what: "step", id: op.id.clone(), why: "its call cannot be read".to_owned() };
    Ok(match step.name.as_str() {
        allowance::STEP => {
            let spender = coin::spender_of(data).ok_or_else(damaged)?;
            coin::approve_effect(receipt, target, spender).map(|owner| Effect::Allowed {
                asset: target,
                owner,
                spender,
            })
        }
        distributor_payout::CREATE => distributor::create_effect(receipt, target, data).map(|()| Effect::EscrowFunded),
        distributor_payout::PAGE => {
            let from = distributor::page_of(data).and_then(|page| i64::try_from(page.from).ok()).ok_or_else(damaged)?;
            let outcomes = distributor::page_effect(receipt, target, payload(op, "asset")?, data);
            outcomes.map(|outcomes| Effect::LinesPaid(from, outcomes))
        }
        distributor_payout::CLAIM => {
            let units: String = payload(op, "units")?;
            let units = units.parse().map_err(|_| damaged())?;
            let payee = distributor::claim_effect(receipt, target, payload(op, "asset")?, data, units);
            let lines: usize = payload(op, "lines")?;
            payee.map(|payee| Effect::LinesPaid(0, vec![Outcome::Paid(payee); lines]))
        }
        reclaim::STEP => {
            let returned = distributor::cancel_effect(receipt, target, payload(op, "asset")?, data);
            returned.map(|_| Effect::EscrowReturned)
        }
        "declareAudit" => distributor::audit_effect(receipt, target, data).map(Effect::AuditDeclared),
        _ => {
            let page = direct_payout::page_of(data).ok_or_else(damaged)?;
            let effect = direct_payout::page_effect(receipt, target, payload(op, "payer")?, &page);
            effect.map(|()| Effect::LinesPaid(0, page.lines.iter().map(|l| Outcome::Paid(l.holder())).collect()))
        }
    })
}

/// What the chain knows about an operation id.
#[derive(Debug)]
pub enum Executed {
    /// Our call, in this receipt.
    Ours(Box<Receipt>),
    /// Another call took our id.
    Other(B256),
    /// No trace of it was found.
    NotFound,
}

/// Looks for the transaction that executed the operation id of a step.
pub async fn find_executed(
    engine: &Engine,
    network: &Network,
    op: &Operation,
    step: &Step,
) -> Result<Executed, Failure> {
    let mut tx = engine.db.read().await?;
    let since = match &op.offering_id {
        Some(id) => offering::find(&mut tx, id).await?.token_block_number.unwrap_or(0),
        None => 0,
    };
    drop(tx);
    let fault = |fault| Failure::of_fault(&fault, Stage::Tracking);
    let (chain, target, since) = (&network.chain, step.target.0, since.cast_unsigned());
    let found = match step.op_number {
        Some(number) => operation_executed(chain, target, number.cast_unsigned(), since).await,
        None if is_escrow(step) => distributor::find(chain, target, &step.calldata, since).await,
        None => return Ok(Executed::NotFound),
    };
    let found = found.map_err(fault)?;
    let Some(executed) = found else { return Ok(Executed::NotFound) };
    if executed.payload_hash != payload_hash(&Bytes::from(step.calldata.clone())) {
        return Ok(Executed::Other(executed.tx_hash));
    }
    let receipt = network.chain.receipts(&[executed.tx_hash]).await.map_err(fault)?.pop().flatten();
    Ok(receipt.map_or(Executed::NotFound, |receipt| Executed::Ours(Box::new(receipt))))
}

/// Whether the distributor itself keeps a call from being executed twice, and tells which call it was.
pub fn is_escrow(step: &Step) -> bool {
    [distributor_payout::CREATE, distributor_payout::PAGE, distributor_payout::CLAIM, reclaim::STEP]
        .contains(&step.name.as_str())
}

/// The problem that only a person can solve: our operation id was used for something else.
pub fn op_id_conflict(step: &Step, tx_hash: B256) -> Problem {
    Problem {
        stage: Stage::Execution,
        code: "op_id_conflict".to_owned(),
        message: format!(
            "What {} was to do at {} was done with another payload in {tx_hash}. Somebody else calls this contract with our ids.",
            step.op_number.map_or_else(|| step.name.clone(), |number| format!("operation id {number}")),
            step.target
        ),
        data: None,
    }
}
