//! Deployments and mints as the engine runs them.

use std::any::Any;

use alloy_primitives::Address;
use futures::future::{BoxFuture, FutureExt};
use muniment_activities::chain::receipt::Receipt;
use muniment_activities::chain::simulate::{At, Call};
use muniment_activities::chain::{Chain, Tag};
use muniment_activities::contract::operation::MissingEffect;
use muniment_activities::fault::Fault;
use muniment_activities::revert::Revert;
use muniment_activities::token::factory::{self, Deployment};
use muniment_activities::token::mint::{MintPage, mint_effect};
use muniment_domain::db::Tx;
use muniment_domain::operation::{Operation, Stage};
use muniment_domain::step::Step;
use muniment_domain::{Error, Result};

use crate::engine::effect::{Effect, FinalEffect, Inclusion, Shown, payload, shown};
use crate::engine::failure::Failure;
use crate::engine::kind::OperationKind;
use crate::engine::refusal::disagreement;
use crate::engine::{Engine, Network};
use crate::token::{deploy, mint, split};

/// Deploys the token of an offering.
pub struct DeployToken;

/// A token was deployed at this address.
#[derive(Debug)]
struct TokenDeployed(Address);

impl OperationKind for DeployToken {
    fn effect(&self, op: &Operation, step: &Step, receipt: &Receipt) -> Result<Shown> {
        let deployment: Deployment = payload(op, "deployment")?;
        let predicted: Option<Address> = payload(op, "predicted_address")?;
        let deployed = factory::deploy_effect(receipt, step.target.0, &deployment);
        Ok(shown(deployed.and_then(|token| where_predicted(token, predicted)).map(TokenDeployed)))
    }

    /// The factory has one token for each offering, whichever transaction made it.
    fn is_executed<'a>(
        &'a self,
        chain: &'a Chain,
        op: &'a Operation,
        step: &'a Step,
        at: At,
    ) -> BoxFuture<'a, Result<bool, Fault>> {
        async move {
            let token = factory::token_of(chain, step.target.0, factory::offering_id(&op.subject_id), at).await?;
            Ok(token.is_some_and(|(_, payload)| step.payload_hash.is_some_and(|ours| ours.0 == payload)))
        }
        .boxed()
    }
}

fn where_predicted(token: Address, predicted: Option<Address>) -> Result<Address, MissingEffect> {
    match predicted {
        Some(predicted) if predicted != token => {
            Err(MissingEffect(format!("the token is at {token}, but {predicted} was predicted")))
        }
        _ => Ok(token),
    }
}

impl Effect for TokenDeployed {
    fn settle<'a>(&'a self, tx: &'a mut Tx, op: &'a Operation, at: Inclusion) -> BoxFuture<'a, Result<()>> {
        async move { deploy::settle(tx, &[(op, self.0, at)]).await }.boxed()
    }

    fn settle_all<'a>(&'a self, tx: &'a mut Tx, all: &'a [FinalEffect<'a>]) -> BoxFuture<'a, Result<()>> {
        async move {
            let deployed = |one: &FinalEffect<'a>| {
                let effect: &dyn Any = one.effect;
                let why = || format!("a deployment has another effect: {:?}", one.effect);
                let unlike = || Error::Unreadable { what: "effect of", id: one.op.id.to_string(), why: why() };
                effect.downcast_ref::<Self>().map(|deployed| (one.op, deployed.0, one.at)).ok_or_else(unlike)
            };
            deploy::settle(tx, &all.iter().map(deployed).collect::<Result<Vec<_>>>()?).await
        }
        .boxed()
    }

    fn missing<'a>(
        &'a self,
        network: &'a Network,
        op: &'a Operation,
        receipt: &'a Receipt,
    ) -> BoxFuture<'a, Result<Option<MissingEffect>, Failure>> {
        missing(network, op, self.0, receipt).boxed()
    }
}

/// Asks a token that a repetition found for its offering and its symbol. A token that this transaction made names them in its receipt.
async fn missing(
    network: &Network,
    op: &Operation,
    token: Address,
    receipt: &Receipt,
) -> Result<Option<MissingEffect>, Failure> {
    if factory::was_created_in(receipt, token) {
        return Ok(None);
    }
    let deployment: Deployment = payload(op, "deployment")?;
    let missing = |endpoint: Chain| {
        let deployment = &deployment;
        async move {
            if endpoint.code(token, Tag::Latest).await?.is_empty() {
                return Ok(Some(MissingEffect(format!("there is no contract at {token}"))));
            }
            let (offering, symbol) = factory::identity(&endpoint, token).await?;
            let agrees = offering == deployment.offering_id && symbol == deployment.symbol;
            Ok((!agrees)
                .then(|| MissingEffect(format!("{token} reports the symbol {symbol} and the offering {offering}"))))
        }
    };
    let agreed = network.chain.agreed(missing, |one, other| one == other).await;
    let agreed = agreed.map_err(|fault| Failure::of_fault(&fault, Stage::Tracking))?;
    agreed.ok_or_else(|| disagreement(&format!("the contract at {token} is missing or not the offering's")))
}

/// Mints one page of holders, or several in one operation.
pub struct Mint;

/// This page was minted.
#[derive(Debug)]
struct PageMinted(MintPage);

impl OperationKind for Mint {
    fn effect(&self, op: &Operation, step: &Step, receipt: &Receipt) -> Result<Shown> {
        let page = page_of(op, step)?;
        Ok(shown(mint_effect(receipt, step.target.0, &page).map(|()| PageMinted(page))))
    }

    fn abandon_takes_two(&self) -> bool {
        true
    }

    fn split_reverting<'a>(
        &'a self,
        engine: &'a Engine,
        network: &'a Network,
        op: &'a Operation,
        step: &'a Step,
        call: &'a Call,
        revert: &'a Revert,
    ) -> BoxFuture<'a, Result<bool, Failure>> {
        split::split_reverting(engine, network, op, step, call, revert).boxed()
    }
}

/// The page that a step mints: the operation's only one, or its own of several.
fn page_of(op: &Operation, step: &Step) -> Result<MintPage> {
    if op.payload.0["pages"].is_null() {
        return payload(op, "page");
    }
    let index = usize::try_from(step.position).unwrap_or(usize::MAX);
    payload::<Vec<MintPage>>(op, "pages")?.into_iter().nth(index).ok_or_else(|| Error::Unreadable {
        what: "operation",
        id: op.id.to_string(),
        why: format!("payload.pages has none for step {}", step.position),
    })
}

impl Effect for PageMinted {
    fn settle<'a>(&'a self, tx: &'a mut Tx, op: &'a Operation, at: Inclusion) -> BoxFuture<'a, Result<()>> {
        mint::settle(tx, op, &self.0, at.tx_hash, at.block_number).boxed()
    }
}
