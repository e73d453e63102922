//! Which wallet an investor says is theirs, shows to be theirs, prefers, and takes back.

use alloy_primitives::Address;
use serde_json::json;

use crate::column::Hex;
use crate::db::Tx;
use crate::wallet::{self, Wallet};
use crate::wallet_challenge::{self, WalletChallenge};
use crate::{Code, Error, Result, event, on};

/// Refuses an address that no holder has: nobody's, a contract of the platform, or one of its signers.
pub async fn allow(tx: &mut Tx, pointer: &'static str, address: Address) -> Result<()> {
    let (contract, signer) = on!(tx, conn => sqlx::query_as::<_, (bool, bool)>(
        "select exists (select 1 from contracts where address = $1 union all select 1 from payout_tokens where address = $1), \
         exists (select 1 from lanes where signer = $1)")
        .bind(Hex(address)).fetch_one(conn).await?);
    let what = match (address.is_zero(), contract, signer) {
        (true, ..) => "the zero address",
        (_, true, _) => "a contract of the platform",
        (_, _, true) => "a signer of the platform",
        _ => return Ok(()),
    };
    let detail = format!("{} is {what}, and no holder.", address.to_checksum(None));
    Err(Error::field(pointer, "address_forbidden", detail))
}

/// The id under which an investor can show that an address is theirs. Nobody has an address by saying so: where another one has only said it,
/// this investor's wallet gets a row when the key was shown.
pub async fn claim(tx: &mut Tx, investor_id: &str, address: Address, label: Option<&str>) -> Result<String> {
    match wallet::find(tx, address).await? {
        Some(own) if own.investor_id == investor_id => reclaim(tx, &own, label).await,
        Some(other) if !other.is_only_claimed() => Err(wallet::in_use(address)),
        Some(_) => Ok(tx.new_id("wal")),
        None => {
            let (id, now) = (tx.new_id("wal"), tx.now());
            on!(tx, conn => sqlx::query(
                "insert into wallets (id, investor_id, address, label, created_at) values ($1, $2, $3, $4, $5) \
                 on conflict (address) do nothing")
                .bind(&id).bind(investor_id).bind(Hex(address)).bind(label).bind(now).execute(conn).await?.rows_affected());
            Ok(id)
        }
    }
}

async fn reclaim(tx: &mut Tx, own: &Wallet, label: Option<&str>) -> Result<String> {
    if own.verified_at.is_some() || own.retired_at.is_some() {
        let what = if own.retired_at.is_some() { "was lost and is retired" } else { "is yours already" };
        let detail = format!("{} {what}.", own.address.0.to_checksum(None));
        return Err(Error::refused(Code::InvalidState, detail));
    }
    on!(tx, conn => sqlx::query("update wallets set label = coalesce($2, label) where id = $1")
        .bind(&own.id).bind(label).execute(conn).await?.rows_affected());
    Ok(own.id.clone())
}

/// The key was shown: the wallet is this investor's, whoever else only said so.
pub async fn prove(tx: &mut Tx, c: &WalletChallenge) -> Result<Wallet> {
    hold(tx, &c.investor_id).await?;
    let now = tx.now();
    wallet::oust(tx, c.address.0, &c.wallet_id, "proved by another investor").await?;
    let rows = on!(tx, conn => sqlx::query(
        "insert into wallets (id, investor_id, address, label, verified_at, created_at) values ($1, $2, $3, $4, $5, $5) \
         on conflict (address) do update set verified_at = excluded.verified_at where wallets.id = excluded.id \
         and wallets.investor_id = excluded.investor_id and wallets.verified_at is null and wallets.retired_at is null")
        .bind(&c.wallet_id).bind(&c.investor_id).bind(c.address).bind(&c.label).bind(now).execute(conn).await?.rows_affected());
    if rows == 0 {
        return Err(wallet::in_use(c.address.0));
    }
    on!(tx, conn => sqlx::query(
        "update wallets set is_default = true where id = $1 and not exists (select 1 from wallets where investor_id = $2 and is_default)")
        .bind(&c.wallet_id).bind(&c.investor_id).execute(conn).await?.rows_affected());
    let data = json!({ "address": c.address.0.to_checksum(None), "investor_id": c.investor_id });
    event::write(tx, "wallet.verified", "wallet", &c.wallet_id, 0, data).await?;
    own(tx, &c.investor_id, &c.wallet_id).await
}

/// An investor's wallet; `not_found` for everybody else.
pub async fn own(tx: &mut Tx, investor_id: &str, wallet_id: &str) -> Result<Wallet> {
    crate::id::check("wal", wallet_id)?;
    on!(tx, conn => sqlx::query_as::<_, Wallet>("select * from wallets where id = $1 and investor_id = $2")
        .bind(wallet_id).bind(investor_id).fetch_optional(conn).await?)
    .ok_or_else(|| Error::refused(Code::NotFound, format!("There is no wallet {wallet_id}.")))
}

/// Uses a wallet wherever the investor names none.
pub async fn prefer(tx: &mut Tx, investor_id: &str, wallet_id: &str) -> Result<Wallet> {
    hold(tx, investor_id).await?;
    let mut w = own(tx, investor_id, wallet_id).await?;
    if w.verified_at.is_none() || w.retired_at.is_some() {
        return Err(Error::refused(
            Code::InvalidState,
            "Only a wallet that was shown to be yours, and is not retired, can be the default.",
        ));
    }
    on!(tx, conn => sqlx::query("update wallets set is_default = false where investor_id = $1 and is_default")
        .bind(investor_id).execute(conn).await?.rows_affected());
    on!(tx, conn => sqlx::query("update wallets set is_default = true where id = $1").bind(wallet_id).execute(conn).await?.rows_affected());
    w.is_default = true;
    let data = json!({ "address": w.address.0.to_checksum(None), "investor_id": investor_id });
    event::write(tx, "wallet.preferred", "wallet", wallet_id, 0, data).await?;
    Ok(w)
}

/// Takes a wallet back that nothing ever went to: what has a history stays in the books.
pub async fn remove(tx: &mut Tx, investor_id: &str, wallet_id: &str) -> Result<()> {
    hold(tx, investor_id).await?;
    let w = own(tx, investor_id, wallet_id).await?;
    let used = on!(tx, conn => sqlx::query_scalar::<_, bool>(
        "select exists (select 1 from subscriptions where investor_id = $1 and wallet_address = $2 union all \
         select 1 from entitlements where investor_id = $1 and (wallet_address = $2 or payee_address = $2) union all \
         select 1 from holdings where wallet_address = $2 union all select 1 from token_accounts where wallet_address = $2)")
        .bind(investor_id).bind(w.address).fetch_one(conn).await?);
    if used || w.retired_at.is_some() || w.reserved_by.is_some() {
        return Err(Error::refused(
            Code::InvalidState,
            "The wallet was used: it stays in the books. Make another one the default.",
        ));
    }
    wallet_challenge::forget(tx, wallet_id).await?;
    on!(tx, conn => sqlx::query("delete from wallets where id = $1").bind(wallet_id).execute(conn).await?.rows_affected());
    let data = json!({ "investor_id": investor_id, "reason": "taken back" });
    event::write(tx, "wallet.removed", "wallet", wallet_id, 0, data).await
}

/// Of two who change the wallets of an investor at once, the second waits and sees what the first did.
async fn hold(tx: &mut Tx, investor_id: &str) -> Result<()> {
    on!(tx, conn => sqlx::query("update investors set version = version where id = $1").bind(investor_id).execute(conn).await?.rows_affected());
    Ok(())
}
