//! `GET /v1/offerings/{id}/token…`: values that portals verify on the chain before an action. Each answer names its block.

pub mod fact;
pub mod holder;

use alloy_primitives::{Address, U256};
use muniment_activities::chain::block::Header;
use muniment_activities::fault::Fault;
use muniment_activities::token::view::TokenRead;
use muniment_domain::db::Tx;
use muniment_domain::id::OfferingId;
use muniment_domain::offering::{self, Offering};
use muniment_domain::{Code as Refusal, Error, chain, money, token};
use muniment_workflows::engine::Network;
use muniment_workflows::token::view::NoAnswer;
use serde::Serialize;
use utoipa::ToSchema;

use crate::access::principal::Principal;
use crate::app::App;
use crate::code::Code;
use crate::http::error::{Problem, Result};
use crate::offering::seeing;

/// Every read is of the newest block.
const TAG: &str = "latest";

/// An offering's token, as of a block.
struct Reading<'a> {
    app: &'a App,
    network: &'a Network,
    token: Address,
    offering: Offering,
    partition_count: u32,
    holder_cap: Option<i64>,
    block: Header,
}

/// The block at which the values were read.
#[derive(Serialize, ToSchema)]
#[schema(as = TokenBlock)]
struct AsOf {
    number: u64,
    #[schema(example = "0x5c3a7e1d9b2f4860a1c5e7d9b3f8264051c3a7e1d9b2f4860a1c5e7d9b3f8264")]
    hash: String,
    /// The tag of the block.
    #[schema(example = "latest")]
    tag: &'static str,
}

/// The offering, if the caller sees it.
async fn see(tx: &mut Tx, principal: Option<&Principal>, id: &OfferingId) -> Result<Offering> {
    Ok(offering::find_visible(tx, &seeing(principal), id).await?)
}

impl<'a> Reading<'a> {
    /// Pins the block that everything is read at.
    async fn open(app: &'a App, offering: Offering) -> Result<Self> {
        let no_token = || Error::refused(Refusal::InvalidState, "The offering has no token yet.");
        let token = offering.token_address.ok_or_else(no_token)?.0;
        let mut tx = app.db.read().await?;
        let deployed = token::find(&mut tx, &offering.id).await?;
        let followed = chain::find(&mut tx, offering.chain_id).await?.map_or(0, |chain| chain.final_number);
        drop(tx);
        let count =
            deployed.as_ref().and_then(|t| t.partitions.as_array()).and_then(|all| u32::try_from(all.len()).ok());
        let network = app.desk.network(offering.chain_id).ok_or_else(|| Problem::bare(Code::ChainUnavailable))?;
        let now = app.db.clock().now();
        let block = app.token_views.head(network, followed.cast_unsigned(), now).await.map_err(problem)?;
        let partition_count = count.unwrap_or_else(|| u32::try_from(offering.partition_id).unwrap_or(0));
        Ok(Self {
            app,
            network,
            token,
            partition_count,
            holder_cap: deployed.and_then(|t| t.holder_cap),
            offering,
            block,
        })
    }

    async fn ask<T>(&self, read: TokenRead<T>) -> Result<T> {
        self.app.token_views.ask(self.network, &self.block, read, self.app.db.clock().now()).await.map_err(problem)
    }

    /// The number of the partition, by default the offering's, or the reason why it is invalid.
    fn partition(&self, text: Option<&str>) -> std::result::Result<u32, String> {
        let Some(text) = text else { return Ok(u32::try_from(self.offering.partition_id).unwrap_or(0)) };
        let number = text.parse().ok().filter(|number: &u32| number.to_string() == text);
        let known = number.filter(|number| (1..=self.partition_count).contains(number));
        known.ok_or_else(|| format!("the token has partitions 1 to {}", self.partition_count))
    }

    /// Units as people read them.
    fn quantity(&self, units: U256) -> String {
        money::quantity(units.saturating_to(), self.offering.decimals())
    }

    fn as_of(&self) -> AsOf {
        AsOf { number: self.block.number, hash: self.block.hash.to_string(), tag: TAG }
    }
}

fn invalid(name: &str, why: &str) -> Problem {
    Problem::new(Code::InvalidParameter, format!("The parameter {name} is invalid: {why}."))
}

fn problem(no_answer: NoAnswer) -> Problem {
    match no_answer {
        NoAnswer::Busy => Problem::new(Code::RateLimited, "The chain is asked too often. Try again in one second.")
            .with_retry_after(1),
        NoAnswer::Fault(fault @ Fault::Late(_)) => Problem::new(Code::ChainTimeout, fault.to_string()),
        NoAnswer::Fault(fault) => Error::refused(Refusal::ChainUnavailable, fault.to_string()).into(),
    }
}
