//! `GET /v1/offerings/{id}/token…`: what portals verify on the chain before somebody acts. Each answer is of one block, and says which.

use alloy_primitives::{Address, Bytes, U256};
use axum::extract::{Path, State};
use axum::http::Uri;
use axum::{Extension, Json};
use muniment_activities::block::Header;
use muniment_activities::token_view::{self, Read};
use muniment_domain::db::Tx;
use muniment_domain::offering::{self, Offering};
use muniment_domain::user::Role;
use muniment_domain::{Code as Refusal, Error, money, token, wallet};
use muniment_workflows::engine::Network;
use muniment_workflows::token_view::NoAnswer;
use serde_json::{Value, json};

use crate::address::Typed;
use crate::app::App;
use crate::code::Code;
use crate::error::{Problem, Result};
use crate::offering::{Audience, seeing};
use crate::pages::Parameters;
use crate::principal::Principal;

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

/// `…/token`: what the token says of itself. For everybody who sees the offering.
pub async fn facts(
    State(app): State<App>,
    Path(id): Path<String>,
    principal: Option<Extension<Principal>>,
    uri: Uri,
) -> Result<Json<Value>> {
    Parameters::read(&uri, &[])?;
    let offering = see(&mut app.db.read().await?, principal.as_deref(), &id).await?;
    let r = Reading::open(&app, offering).await?;
    let facts = r.ask(token_view::facts(r.token)).await?;
    let partitions = r.ask(token_view::partitions(r.token, facts.partitions)).await?;
    let shown = (1..).zip(&partitions).map(|(number, p): (u32, _)| {
        json!({ "partition": number.to_string(), "supply": r.quantity(p.supply), "supply_base_units": p.supply.to_string(),
            "cap": r.quantity(p.cap), "cap_base_units": p.cap.to_string(), "isRestricted": p.restricted, "rule144": p.rule144 })
    });
    Ok(r.answer(json!({
        "offering_id_onchain": facts.offering_id, "offeringId": facts.offering_id, "token_symbol": facts.symbol,
        "tokenSymbol": facts.symbol, "token_address": r.token.to_checksum(None), "chain_id": r.offering.chain_id,
        "total_supply": r.quantity(facts.supply), "total_supply_base_units": facts.supply.to_string(),
        "caps": { "supply": r.quantity(facts.cap), "supply_base_units": facts.cap.to_string(), "holder_cap": r.holder_cap },
        "partitions": shown.collect::<Vec<_>>(),
        // The contract stops transfers by partition alone.
        "paused": partitions.iter().all(|p| p.restricted),
    })))
}

/// `…/token/partitions/{partition}/restriction`: for everybody who sees the offering.
pub async fn restriction(
    State(app): State<App>,
    Path((id, partition)): Path<(String, String)>,
    principal: Option<Extension<Principal>>,
    uri: Uri,
) -> Result<Json<Value>> {
    Parameters::read(&uri, &[])?;
    let offering = see(&mut app.db.read().await?, principal.as_deref(), &id).await?;
    let r = Reading::open(&app, offering).await?;
    let number = r.partition(Some(&partition)).map_err(|why| Problem::new(Code::NotFound, why))?;
    let restricted = r.ask(token_view::is_restricted(r.token, number)).await?;
    Ok(r.answer(json!({ "partition": partition, "isRestricted": restricted })))
}

/// `…/token/can-transfer`: whether units may move, and why not. An investor asks about his own.
pub async fn can_transfer(
    State(app): State<App>,
    Path(id): Path<String>,
    principal: Principal,
    uri: Uri,
) -> Result<Json<Value>> {
    let parameters = Parameters::read(&uri, &["from", "to", "partition", "quantity", "data"])?;
    let needed = |name| parameters.text(name).ok_or_else(|| invalid(name, "it is needed"));
    let (from, to) = (address("from", needed("from")?)?, address("to", needed("to")?)?);
    let data = match parameters.text("data") {
        Some(text) => text.parse::<Bytes>().map_err(|_| invalid("data", "0x and hexadecimal digits are expected"))?,
        None => Bytes::new(),
    };
    let offering = of_holder(&app, &principal, &id, from).await?;
    let r = Reading::open(&app, offering).await?;
    let number = r.partition(parameters.text("partition")).map_err(|why| invalid("partition", &why))?;
    let units = money::units(needed("quantity")?, r.offering.decimals());
    let units = units
        .ok_or_else(|| invalid("quantity", &format!("at most {} decimals are expected", r.offering.decimals())))?;
    let verdict = r.ask(token_view::can_transfer(r.token, from, to, number, U256::from(units), data)).await?;
    Ok(r.answer(json!({
        "from": from.to_checksum(None), "to": to.to_checksum(None), "partition": number.to_string(),
        "quantity": r.quantity(U256::from(units)), "allowed": verdict.allowed, "reason_code": verdict.code, "reason": verdict.reason,
    })))
}

/// `…/token/balances/{address}`: an investor asks about his own.
pub async fn balances(
    State(app): State<App>,
    Path((id, holder)): Path<(String, String)>,
    principal: Principal,
    uri: Uri,
) -> Result<Json<Value>> {
    let parameters = Parameters::read(&uri, &["partition"])?;
    let holder = address("address", &holder)?;
    let r = Reading::open(&app, of_holder(&app, &principal, &id, holder).await?).await?;
    let number = r.partition(parameters.text("partition")).map_err(|why| invalid("partition", &why))?;
    let has = r.ask(token_view::holding(r.token, holder, number)).await?;
    Ok(r.answer(json!({
        "address": holder.to_checksum(None), "partition": number.to_string(),
        "balance": r.quantity(has.balance), "transferable": r.quantity(has.transferable), "locked": r.quantity(has.locked),
        "frozen": has.frozen, "balanceOf": has.balance.to_string(), "transferableBalance": has.transferable.to_string(),
        "lockedBalanceOf": has.locked.to_string(), "isFrozen": has.frozen,
    })))
}

/// `…/token/frozen/{address}`: an investor asks about his own.
pub async fn frozen(
    State(app): State<App>,
    Path((id, holder)): Path<(String, String)>,
    principal: Principal,
    uri: Uri,
) -> Result<Json<Value>> {
    Parameters::read(&uri, &[])?;
    let holder = address("address", &holder)?;
    let r = Reading::open(&app, of_holder(&app, &principal, &id, holder).await?).await?;
    let frozen = r.ask(token_view::is_frozen(r.token, holder)).await?;
    Ok(r.answer(json!({ "address": holder.to_checksum(None), "isFrozen": frozen })))
}

/// The offering, if the caller sees it.
async fn see(tx: &mut Tx, principal: Option<&Principal>, id: &str) -> Result<Offering> {
    muniment_domain::id::check("off", id)?;
    Ok(offering::see(tx, &seeing(principal), id).await?.offering)
}

/// The offering, if the caller sees it and may ask about this holder: staff and the issuer about everybody, an investor about himself.
async fn of_holder(app: &App, principal: &Principal, id: &str, holder: Address) -> Result<Offering> {
    let mut tx = app.db.read().await?;
    let offering = see(&mut tx, Some(principal), id).await?;
    let caller = &principal.0;
    if Audience::of(Some(principal), &offering) != Audience::Public {
        return Ok(offering);
    }
    let owner = wallet::find(&mut tx, holder).await?.filter(|w| w.verified_at.is_some()).map(|w| w.investor_id);
    let own = muniment_domain::principal::investor_of(&mut tx, &caller.user_id).await?;
    if caller.has_role(Role::Investor) && owner.is_some() && owner == own {
        return Ok(offering);
    }
    Err(Problem::new(Code::Forbidden, format!("{} is no wallet of yours.", holder.to_checksum(None))))
}

impl<'a> Reading<'a> {
    /// Pins the block that everything is read at.
    async fn open(app: &'a App, offering: Offering) -> Result<Self> {
        let no_token = || Error::refused(Refusal::InvalidState, "The offering has no token yet.");
        let token = offering.token_address.ok_or_else(no_token)?.0;
        let deployed = token::find(&mut app.db.read().await?, &offering.id).await?;
        let count =
            deployed.as_ref().and_then(|t| t.partitions.as_array()).and_then(|all| u32::try_from(all.len()).ok());
        let network = app.desk.network(offering.chain_id).ok_or_else(|| Problem::bare(Code::ChainUnavailable))?;
        let block = app.token_views.head(network, app.db.clock().now()).await.map_err(problem)?;
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

    async fn ask<T>(&self, read: Read<T>) -> Result<T> {
        self.app.token_views.ask(self.network, &self.block, read, self.app.db.clock().now()).await.map_err(problem)
    }

    /// The number of a partition, of the offering's own if none is named, or why there is none.
    fn partition(&self, text: Option<&str>) -> std::result::Result<u32, String> {
        let Some(text) = text else { return Ok(u32::try_from(self.offering.partition_id).unwrap_or(0)) };
        let number = text.parse().ok().filter(|number: &u32| number.to_string() == text);
        let known = number.filter(|number| (1..=self.partition_count).contains(number));
        known.ok_or_else(|| format!("the token has the partitions 1 to {}", self.partition_count))
    }

    /// Units as people read them.
    fn quantity(&self, units: U256) -> String {
        money::quantity(units.saturating_to(), self.offering.decimals())
    }

    fn answer(&self, mut body: Value) -> Json<Value> {
        body["block"] = json!({ "number": self.block.number, "hash": self.block.hash, "tag": TAG });
        Json(body)
    }
}

fn address(name: &str, text: &str) -> Result<Address> {
    text.parse::<Typed>()
        .map(|typed| typed.0)
        .map_err(|why| invalid(name, why.split_once(": ").map_or(why, |(_, why)| why).trim_end_matches('.')))
}

fn invalid(name: &str, why: &str) -> Problem {
    Problem::new(Code::InvalidParameter, format!("The parameter {name} does not fit: {why}."))
}

fn problem(no_answer: NoAnswer) -> Problem {
    match no_answer {
        NoAnswer::Busy => Problem::new(Code::RateLimited, "The chain is asked too often now. Try again in a second.")
            .with_retry_after(1),
        NoAnswer::Fault(fault) => Error::refused(Refusal::ChainUnavailable, fault.to_string()).into(),
    }
}
