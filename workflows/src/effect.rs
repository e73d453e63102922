//! Whether a receipt shows the effect that a step was sent for. A success without it is no success.

use alloy_primitives::{Address, B256, Bytes};
use muniment_activities::factory::{self, Deployment};
use muniment_activities::mint::{self, MintPage};
use muniment_activities::operation::{MissingEffect, operation_executed, payload_hash};
use muniment_activities::receipt::Receipt;
use muniment_domain::operation::{Operation, Problem, Stage};
use muniment_domain::step::Step;
use muniment_domain::{Error, offering};
use serde::de::DeserializeOwned;

use crate::compliance::{self, Done};
use crate::engine::{Engine, Network};
use crate::failure::Failure;

/// What a final receipt did.
#[derive(Clone, Debug)]
pub enum Effect {
    /// A token stands at this address.
    TokenDeployed(Address),
    /// This page was minted.
    PageMinted(MintPage),
    /// A compliance operation did this.
    Compliance(Done),
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
    let Some(number) = step.op_number else { return Ok(Executed::NotFound) };
    let mut tx = engine.db.read().await?;
    let since = match &op.offering_id {
        Some(id) => offering::find(&mut tx, id).await?.token_block_number.unwrap_or(0),
        None => 0,
    };
    drop(tx);
    let fault = |fault| Failure::of_fault(&fault, Stage::Tracking);
    let found = operation_executed(&network.chain, step.target.0, number.cast_unsigned(), since.cast_unsigned())
        .await
        .map_err(fault)?;
    let Some(executed) = found else { return Ok(Executed::NotFound) };
    if executed.payload_hash != payload_hash(&Bytes::from(step.calldata.clone())) {
        return Ok(Executed::Other(executed.tx_hash));
    }
    let receipt = network.chain.receipts(&[executed.tx_hash]).await.map_err(fault)?.pop().flatten();
    Ok(receipt.map_or(Executed::NotFound, |receipt| Executed::Ours(Box::new(receipt))))
}

/// The problem that only a person can solve: our operation id was used for something else.
pub fn op_id_conflict(step: &Step, tx_hash: B256) -> Problem {
    Problem {
        stage: Stage::Execution,
        code: "op_id_conflict".to_owned(),
        message: format!(
            "Operation id {} of {} was executed with another payload in {tx_hash}. Somebody else calls this contract with our ids.",
            step.op_number.unwrap_or_default(),
            step.target
        ),
        data: None,
    }
}
