//! Claims, proofs and removal of an investor's wallets.

use alloy_primitives::Address;
use serde_json::json;

use crate::column::Hex;
use crate::db::Tx;
use crate::id::{InvestorId, WalletId, of};
use crate::sql::{insert_into, sql};
use crate::wallet::{self, Wallet};
use crate::wallet_challenge::{self, WalletChallenge};
use crate::{Code, Error, Result};

/// Refuses an address that no holder can have: zero, a contract of the platform, or one of its signers.
pub async fn check_address(tx: &mut Tx, pointer: &'static str, address: Address) -> Result<()> {
    let (contract, signer) = sql("select exists (select 1 from contracts where address = $1 union all select 1
            from payout_tokens where address = $1), exists (select 1 from lanes where signer = $1)")
    .bind(Hex(address))
    .row::<(bool, bool)>(tx)
    .await?;
    let what = match (address.is_zero(), contract, signer) {
        (true, ..) => "the zero address",
        (_, true, _) => "a contract of the platform",
        (_, _, true) => "a signer of the platform",
        _ => return Ok(()),
    };
    let detail = format!("{} is {what} and cannot be a wallet.", address.to_checksum(None));
    Err(Error::field(pointer, "address_forbidden", detail))
}

/// The wallet id under which an investor can prove control over an address. If another investor only claimed the address, this
/// investor's wallet is stored when the proof is given.
pub async fn claim(tx: &mut Tx, investor_id: &InvestorId, address: Address, label: Option<&str>) -> Result<WalletId> {
    match wallet::find(tx, address).await? {
        Some(own) if own.investor_id == investor_id => reclaim(tx, &own, label).await,
        Some(other) if !other.is_only_claimed() => Err(wallet::in_use(address)),
        Some(_) => Ok(tx.new_id()),
        None => {
            let (id, now) = (tx.new_id::<of::Wallet>(), tx.now());
            insert_into("wallets")
                .set("id", &id)
                .set("investor_id", investor_id)
                .set("address", Hex(address))
                .set("label", label)
                .set("created_at", now)
                .push(" on conflict (address) do nothing")
                .execute(tx)
                .await?;
            Ok(id)
        }
    }
}

async fn reclaim(tx: &mut Tx, own: &Wallet, label: Option<&str>) -> Result<WalletId> {
    if own.verified_at.is_some() || own.retired_at.is_some() {
        let what = if own.retired_at.is_some() { "was lost and is retired" } else { "is already yours" };
        let detail = format!("{} {what}.", own.address.0.to_checksum(None));
        return Err(Error::refused(Code::InvalidState, detail));
    }
    sql("update wallets set label = coalesce($2, label) where id = $1").bind((&own.id, label)).execute(tx).await?;
    Ok(own.id.clone())
}

/// Records a proof of control: the wallet belongs to this investor, and unproved claims of others are removed.
pub async fn prove(tx: &mut Tx, c: &WalletChallenge) -> Result<Wallet> {
    hold(tx, &c.investor_id).await?;
    let now = tx.now();
    wallet::remove_claims(tx, c.address.0, &c.wallet_id, "proved by another investor").await?;
    let rows = insert_into("wallets")
        .set("id", &c.wallet_id)
        .set("investor_id", &c.investor_id)
        .set("address", c.address)
        .set("label", &c.label)
        .set("verified_at", now)
        .set("created_at", now)
        .push(
            " on conflict (address) do update set verified_at = excluded.verified_at
                where wallets.id = excluded.id and wallets.investor_id = excluded.investor_id
                    and wallets.verified_at is null and wallets.retired_at is null",
        )
        .execute(tx)
        .await?;
    if rows == 0 {
        return Err(wallet::in_use(c.address.0));
    }
    sql("update wallets set is_default = true
         where id = $1 and not exists (select 1 from wallets where investor_id = $2 and is_default)")
    .bind((&c.wallet_id, &c.investor_id))
    .execute(tx)
    .await?;
    let data = json!({ "address": c.address.0.to_checksum(None), "investor_id": c.investor_id });
    wallet::write_event(tx, "wallet.verified", &c.wallet_id, data).await?;
    own(tx, &c.investor_id, &c.wallet_id).await
}

/// A wallet of this investor; `not_found` for everybody else.
pub async fn own(tx: &mut Tx, investor_id: &InvestorId, wallet_id: &WalletId) -> Result<Wallet> {
    wallet_id.check()?;
    sql("select * from wallets where id = $1 and investor_id = $2")
        .bind((wallet_id, investor_id))
        .optional::<Wallet>(tx)
        .await?
        .ok_or_else(|| Error::refused(Code::NotFound, format!("There is no wallet {wallet_id}.")))
}

/// Makes a wallet the default.
pub async fn set_default(tx: &mut Tx, investor_id: &InvestorId, wallet_id: &WalletId) -> Result<Wallet> {
    hold(tx, investor_id).await?;
    let mut w = own(tx, investor_id, wallet_id).await?;
    if w.verified_at.is_none() || w.retired_at.is_some() {
        return Err(Error::refused(
            Code::InvalidState,
            "Only a verified wallet that is not retired can be the default.",
        ));
    }
    sql("update wallets set is_default = false where investor_id = $1 and is_default")
        .bind(investor_id)
        .execute(tx)
        .await?;
    sql("update wallets set is_default = true where id = $1").bind(wallet_id).execute(tx).await?;
    w.is_default = true;
    let data = json!({ "address": w.address.0.to_checksum(None), "investor_id": investor_id });
    wallet::write_event(tx, "wallet.preferred", wallet_id, data).await?;
    Ok(w)
}

/// Removes a wallet that was never used. A used wallet stays, because the ledger refers to it.
pub async fn remove(tx: &mut Tx, investor_id: &InvestorId, wallet_id: &WalletId) -> Result<()> {
    hold(tx, investor_id).await?;
    let w = own(tx, investor_id, wallet_id).await?;
    let used = sql("select exists (
            select 1 from subscriptions where investor_id = $1 and wallet_address = $2
            union all
            select 1 from entitlements where investor_id = $1 and (wallet_address = $2 or payee_address = $2)
            union all
            select 1 from holdings where wallet_address = $2
            union all
            select 1 from token_accounts where wallet_address = $2)")
    .bind((investor_id, w.address))
    .scalar::<bool>(tx)
    .await?;
    if used || w.retired_at.is_some() || w.reserved_by.is_some() {
        return Err(Error::refused(
            Code::InvalidState,
            "The wallet was used and cannot be removed. Make another wallet the default.",
        ));
    }
    wallet_challenge::delete_of_wallet(tx, wallet_id).await?;
    sql("delete from wallets where id = $1").bind(wallet_id).execute(tx).await?;
    let data = json!({ "investor_id": investor_id, "reason": "taken back" });
    wallet::write_event(tx, "wallet.removed", wallet_id, data).await
}

/// Locks the investor, so that parallel changes of the wallets happen one after the other.
async fn hold(tx: &mut Tx, investor_id: &InvestorId) -> Result<()> {
    sql("update investors set version = version where id = $1").bind(investor_id).execute(tx).await?;
    Ok(())
}
