//! The first proof of an e-mail address by a password reset. Anybody could have registered the address before,
//! so everything that was made before the proof is removed.

use crate::db::Tx;
use crate::sql::sql;
use crate::user::User;
use crate::wallet::{self, Wallet};
use crate::webhook::{self, Endpoint};
use crate::{Result, api_key, delivery, principal, second_factor, session, wallet_claim};

/// Removes the second factor, sessions, API keys, wallets and webhook endpoints of the account.
pub async fn remove_unproved(tx: &mut Tx, user: &User) -> Result<()> {
    if second_factor::find(tx, &user.id).await?.is_some() {
        second_factor::remove(tx, &user.id).await?;
    }
    session::revoke_all(tx, &user.id, None, "address_proved").await?;
    api_key::revoke_all(tx, &user.id).await?;
    let endpoints = sql("select * from webhook_endpoints where created_by = $1 and slot is not null")
        .bind(&user.id)
        .rows::<Endpoint>(tx)
        .await?;
    for endpoint in endpoints {
        webhook::delete(tx, &endpoint).await?;
        delivery::skip_all(tx, &endpoint.id).await?;
    }
    let Some(investor_id) = principal::investor_of(tx, &user.id).await? else { return Ok(()) };
    for planted in wallet::of_investor(tx, &investor_id).await? {
        remove_wallet(tx, &planted).await?;
    }
    Ok(())
}

/// The ledger refers to a wallet that was used: it stays, and receives nothing any more.
async fn remove_wallet(tx: &mut Tx, planted: &Wallet) -> Result<()> {
    match wallet_claim::remove(tx, &planted.investor_id, &planted.id).await {
        Err(refused) if refused.refusal().is_some() => wallet::retire(tx, planted).await,
        outcome => outcome,
    }
}
