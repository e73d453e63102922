//! Recovery of a lost wallet. It differs from the other operations: it can act on every token of the wallet, and when it is final the
//! investor's wallet changes.

use alloy_primitives::{Address, B256};
use muniment_activities::token::recover::Recovery;
use muniment_domain::db::Tx;
use muniment_domain::operation::Operation;
use muniment_domain::wallet::{self, Wallet};
use muniment_domain::{Error, Result, entitlement, holding, offering, subscription};
use serde_json::json;

use super::call::write_event;
use super::context::TokenContext;
use super::request::{ALL_OFFERINGS, RecoverRequest};

/// Checks the two wallets, and returns the tokens on which the wallet is recovered. There may be none.
pub async fn tokens(tx: &mut Tx, r: &RecoverRequest) -> Result<Vec<TokenContext>> {
    if r.lost_address == r.new_address {
        return Err(Error::field("/new_address", "address_forbidden", "A wallet cannot be recovered to itself."));
    }
    let proved = validate_owner(tx, r).await?;
    let offerings = match r.offering_id.as_str() {
        ALL_OFFERINGS => offering::of_wallet(tx, r.lost_address).await?,
        one => vec![one.into()],
    };
    let mut contexts = Vec::new();
    for offering_id in offerings {
        let context = TokenContext::find(tx, &offering_id).await?;
        if !proved {
            validate_empty(tx, &context, r.new_address).await?;
        }
        contexts.push(context);
    }
    Ok(contexts)
}

/// The lost wallet must belong to the investor, and the new one to nobody else. Returns whether the new one is known to be the investor's.
async fn validate_owner(tx: &mut Tx, r: &RecoverRequest) -> Result<bool> {
    match wallet::find(tx, r.lost_address).await? {
        Some(lost) if lost.investor_id == r.investor_id => {}
        _ => {
            let detail = format!("{} is not a wallet of {}.", r.lost_address.to_checksum(None), r.investor_id);
            return Err(Error::field("/lost_address", "wallet_unknown", detail));
        }
    }
    match wallet::find(tx, r.new_address).await? {
        Some(new) if new.investor_id != r.investor_id && !new.is_only_claimed() => Err(wallet::in_use(r.new_address)),
        Some(Wallet { retired_at: Some(_), .. }) => {
            let detail = format!("{} was itself recovered to another wallet.", r.new_address.to_checksum(None));
            Err(Error::field("/new_address", "address_retired", detail))
        }
        found => Ok(found.is_some_and(|new| !new.is_only_claimed() && new.investor_id == r.investor_id)),
    }
}

/// Refuses an address that nobody proved and that holds units: it has another owner, so it was mistyped. A wallet of the investor may hold
/// units, and the recovery adds to them. Otherwise units that somebody sends there could block it.
async fn validate_empty(tx: &mut Tx, context: &TokenContext, address: Address) -> Result<()> {
    if !holding::holds(tx, &context.offering.id, address).await? {
        return Ok(());
    }
    let address = address.to_checksum(None);
    let detail = format!("{address} holds units and is not a proved wallet of the investor.");
    Err(Error::field("/new_address", "wallet_not_empty", detail))
}

/// Gives the investor the new wallet. Pending mints and payments go there.
pub async fn settle(tx: &mut Tx, op: &Operation, call: &Recovery, tx_hash: B256) -> Result<()> {
    let Some(old) = wallet::find(tx, call.lost).await? else { return Ok(()) };
    wallet::record_recovery(tx, &old, call.replacement).await?;
    let offering_id = &op.offering_id.clone().unwrap_or_default();
    let moved = subscription::follow_wallet(tx, offering_id, call.lost, call.replacement).await?;
    entitlement::follow_wallet(tx, offering_id, call.lost, call.replacement).await?;
    let data = json!({ "address": call.lost.to_checksum(None), "successor": call.replacement.to_checksum(None),
        "offering_id": op.offering_id, "operation_id": op.id, "tx_hash": tx_hash.to_string(), "subscriptions": moved });
    write_event(tx, op, &old.id, data).await
}
