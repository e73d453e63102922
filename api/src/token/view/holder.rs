//! Values of a holder. Staff and the issuer may ask about everybody, investors about themselves.

use alloy_primitives::{Address, Bytes, U256};
use axum::Json;
use axum::extract::{Path, State};
use axum::http::Uri;
use muniment_activities::token::view as contract;
use muniment_domain::id::OfferingId;
use muniment_domain::offering::Offering;
use muniment_domain::user::Role;
use muniment_domain::{money, wallet};
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};

use super::{AsOf, Reading, invalid, see};
use crate::access::principal::Principal;
use crate::app::App;
use crate::code::Code;
use crate::field::address::Typed;
use crate::http::error::{Problem, Result};
use crate::http::pages::Parameters;
use crate::offering::Audience;

/// The transfer that is asked about.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[allow(dead_code, reason = "the document reads it; requests are read by `Parameters`")]
pub struct Transfer {
    #[param(pattern = "^0x[0-9a-fA-F]{40}$", example = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed")]
    from: String,
    #[param(pattern = "^0x[0-9a-fA-F]{40}$", example = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359")]
    to: String,
    /// The offering's own partition, by default.
    #[param(pattern = "^(0|[1-9][0-9]{0,9})$", example = "1")]
    partition: Option<String>,
    /// The quantity, with at most the token's decimals.
    #[param(example = "250.00")]
    quantity: String,
    /// Extra data for the contract.
    #[param(pattern = "^0x([0-9a-fA-F]{2})*$", example = "0x")]
    data: Option<String>,
}

/// Whether a transfer is allowed.
#[derive(Serialize, ToSchema)]
#[schema(as = TransferVerdict)]
pub struct Verdict {
    from: Typed,
    to: Typed,
    partition: String,
    quantity: String,
    /// Whether the transfer is allowed.
    allowed: bool,
    /// `ok`, or the reason why it is not allowed, such as `insufficient_transferable`.
    #[schema(example = "to_not_whitelisted")]
    reason_code: &'static str,
    /// The contract's own word for it.
    #[schema(example = "to_not_whitelisted")]
    reason: String,
    block: AsOf,
}

/// Check whether a transfer is allowed.
///
/// Answers with the reason if it is not. Investors may ask only about their own wallets.
#[utoipa::path(
    get,
    path = "/v1/offerings/{id}/token/can-transfer",
    params(Transfer),
    responses((status = 200, body = Verdict)),
    extensions(("x-codes" = json!(["forbidden", "invalid_state", "chain_unavailable", "chain_timeout"]))),
)]
pub async fn can_transfer(
    State(app): State<App>,
    Path(id): Path<OfferingId>,
    principal: Principal,
    uri: Uri,
) -> Result<Json<Verdict>> {
    let parameters = Parameters::read(&uri, &["from", "to", "partition", "quantity", "data"])?;
    let needed = |name| parameters.text(name).ok_or_else(|| invalid(name, "it is required"));
    let (from, to) = (address("from", needed("from")?)?, address("to", needed("to")?)?);
    let data = match parameters.text("data") {
        Some(text) => text.parse::<Bytes>().map_err(|_| invalid("data", "use 0x and hexadecimal digits"))?,
        None => Bytes::new(),
    };
    let offering = of_holder(&app, &principal, &id, from).await?;
    let r = Reading::open(&app, offering).await?;
    let number = r.partition(parameters.text("partition")).map_err(|why| invalid("partition", &why))?;
    let units = money::units(needed("quantity")?, r.offering.decimals());
    let units = units.ok_or_else(|| invalid("quantity", &format!("use at most {} decimals", r.offering.decimals())))?;
    let verdict = r.ask(contract::can_transfer(r.token, from, to, number, U256::from(units), data)).await?;
    Ok(Json(Verdict {
        from: Typed(from),
        to: Typed(to),
        partition: number.to_string(),
        quantity: r.quantity(U256::from(units)),
        allowed: verdict.allowed,
        reason_code: verdict.code,
        reason: verdict.reason,
        block: r.as_of(),
    }))
}

/// The balance of a partition, as decimals and as the contract's own values.
#[derive(Serialize, ToSchema)]
#[schema(as = TokenBalance)]
pub struct Balance {
    address: Typed,
    partition: String,
    /// The balance as decimal tokens.
    #[schema(example = "250.00")]
    balance: String,
    /// The transferable balance as decimal tokens.
    #[schema(example = "250.00")]
    transferable: String,
    /// The locked balance as decimal tokens.
    #[schema(example = "0.00")]
    locked: String,
    /// The balance in base units.
    #[schema(example = "25000")]
    balance_base_units: String,
    /// The transferable balance in base units.
    #[serde(rename = "transferableBalance")]
    #[schema(example = "25000")]
    transferable_balance: String,
    /// The locked balance in base units.
    #[serde(rename = "lockedBalanceOf")]
    #[schema(example = "0")]
    locked_balance_of: String,
    #[serde(rename = "isFrozen")]
    is_frozen: bool,
    block: AsOf,
}

/// Read the balance of an address from the chain.
///
/// Investors may ask only about their own wallets.
#[utoipa::path(
    get,
    path = "/v1/offerings/{id}/token/balances/{address}",
    params(("partition" = Option<String>, Query, description = "The offering's own partition, by default.", example = "1")),
    responses((status = 200, body = Balance)),
    extensions(("x-codes" = json!(["forbidden", "invalid_state", "chain_unavailable", "chain_timeout"]))),
)]
pub async fn balances(
    State(app): State<App>,
    Path((id, holder)): Path<(OfferingId, String)>,
    principal: Principal,
    uri: Uri,
) -> Result<Json<Balance>> {
    let parameters = Parameters::read(&uri, &["partition"])?;
    let holder = address("address", &holder)?;
    let r = Reading::open(&app, of_holder(&app, &principal, &id, holder).await?).await?;
    let number = r.partition(parameters.text("partition")).map_err(|why| invalid("partition", &why))?;
    let has = r.ask(contract::holding(r.token, holder, number)).await?;
    Ok(Json(Balance {
        address: Typed(holder),
        partition: number.to_string(),
        balance: r.quantity(has.balance),
        transferable: r.quantity(has.transferable),
        locked: r.quantity(has.locked),
        balance_base_units: has.balance.to_string(),
        transferable_balance: has.transferable.to_string(),
        locked_balance_of: has.locked.to_string(),
        is_frozen: has.frozen,
        block: r.as_of(),
    }))
}

/// Whether an address is frozen.
#[derive(Serialize, ToSchema)]
#[schema(as = TokenFreeze)]
pub struct Freeze {
    address: Typed,
    #[serde(rename = "isFrozen")]
    is_frozen: bool,
    block: AsOf,
}

/// Check whether an address is frozen.
///
/// Investors may ask only about their own wallets.
#[utoipa::path(
    get,
    path = "/v1/offerings/{id}/token/frozen/{address}",
    responses((status = 200, body = Freeze)),
    extensions(("x-codes" = json!(["invalid_parameter", "unknown_parameter", "forbidden", "invalid_state", "chain_unavailable", "chain_timeout"]))),
)]
pub async fn frozen(
    State(app): State<App>,
    Path((id, holder)): Path<(OfferingId, String)>,
    principal: Principal,
    uri: Uri,
) -> Result<Json<Freeze>> {
    Parameters::read(&uri, &[])?;
    let holder = address("address", &holder)?;
    let r = Reading::open(&app, of_holder(&app, &principal, &id, holder).await?).await?;
    let is_frozen = r.ask(contract::is_frozen(r.token, holder)).await?;
    Ok(Json(Freeze { address: Typed(holder), is_frozen, block: r.as_of() }))
}

/// The offering, if the caller sees it and may ask about this holder: staff and the issuer about everybody, an investor about himself.
async fn of_holder(app: &App, principal: &Principal, id: &OfferingId, holder: Address) -> Result<Offering> {
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
    Err(Problem::new(Code::Forbidden, format!("{} is not one of your wallets.", holder.to_checksum(None))))
}

fn address(name: &str, text: &str) -> Result<Address> {
    text.parse::<Typed>()
        .map(|typed| typed.0)
        .map_err(|why| invalid(name, why.split_once(": ").map_or(why, |(_, why)| why).trim_end_matches('.')))
}
