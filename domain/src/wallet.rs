//! Wallets of investors, and which wallet replaced which.

use alloy_primitives::Address;
use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use crate::column::Hex;
use crate::db::Tx;
use crate::filter::CreatedBetween;
use crate::id::{InvestorId, OperationId, WalletId, of};
use crate::sql::{Sql, insert_into, sql};
use crate::{Code, Error, Result, event};

/// One row of `wallets`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Wallet {
    pub id: WalletId,
    pub investor_id: InvestorId,
    pub address: Hex<Address>,
    pub verified_at: Option<DateTime<Utc>>,
    /// When it was retired, because it was lost.
    pub retired_at: Option<DateTime<Utc>>,
    /// The wallet that replaced it.
    pub successor: Option<Hex<Address>>,
    /// The recovery that moves another wallet to it.
    pub reserved_by: Option<String>,
    /// The owner's name for it.
    pub label: Option<String>,
    /// Whether it is the owner's default wallet.
    pub is_default: bool,
    pub created_at: DateTime<Utc>,
}

impl Wallet {
    /// Whether somebody only claimed it without proof. A claim keeps nobody else from the address.
    pub const fn is_only_claimed(&self) -> bool {
        self.verified_at.is_none() && self.retired_at.is_none() && self.reserved_by.is_none()
    }
}

/// The wallet with this address. A wallet reserved by an abandoned recovery counts as free.
pub async fn find(tx: &mut Tx, address: Address) -> Result<Option<Wallet>> {
    sql("select w.* from wallets w left join operations o on o.id = w.reserved_by
         where w.address = $1 and not (w.verified_at is null and coalesce(o.resolution, '') = 'abandoned')")
    .bind(Hex(address))
    .optional(tx)
    .await
}

/// The wallets of an investor, oldest first.
pub async fn of_investor(tx: &mut Tx, investor_id: &InvestorId) -> Result<Vec<Wallet>> {
    sql("select * from wallets where investor_id = $1 order by id").bind(investor_id).rows(tx).await
}

/// A page of an investor's wallets, and their number.
pub async fn page(
    tx: &mut Tx,
    investor_id: &InvestorId,
    created: CreatedBetween,
    limit: i64,
    offset: i64,
) -> Result<(Vec<Wallet>, i64)> {
    let matching =
        |select: Sql| select.with(" from wallets where investor_id = ", investor_id).created::<of::Wallet>(created, "");
    let rows = matching(sql("select *")).push(" order by id").page(limit, offset).rows(tx).await?;
    let total = matching(sql("select count(*)")).scalar(tx).await?;
    Ok((rows, total))
}

/// Reserves an address for the investor of a recovery. It is verified when the recovery is confirmed.
pub async fn reserve(
    tx: &mut Tx,
    investor_id: &InvestorId,
    address: Address,
    operation_id: &OperationId,
) -> Result<()> {
    remove_claims(tx, address, investor_id, "recovered to by another investor").await?;
    let (id, now) = (tx.new_id::<of::Wallet>(), tx.now());
    insert_into("wallets")
        .set("id", id)
        .set("investor_id", investor_id)
        .set("address", Hex(address))
        .set("reserved_by", operation_id)
        .set("created_at", now)
        .push(
            " on conflict (address) do update set investor_id = excluded.investor_id,
                    reserved_by = excluded.reserved_by
                where wallets.verified_at is null and (wallets.reserved_by in (select id from operations
                        where resolution = 'abandoned')
                    or wallets.reserved_by is null and wallets.retired_at is null
                        and wallets.investor_id = excluded.investor_id)",
        )
        .execute(tx)
        .await?;
    // Read again after the write, which has locked the row: a parallel request can have registered the address.
    match find(tx, address).await? {
        Some(wallet) if wallet.investor_id == investor_id => Ok(()),
        _ => Err(in_use(address)),
    }
}

/// Writes an event of a wallet. Its sequence is the next of the wallet, also if the wallet is removed and comes back under the same id. A
/// wallet without a row is named by its address.
pub async fn write_event(tx: &mut Tx, name: &str, wallet_id: &WalletId, data: Value) -> Result<()> {
    // Locks the row, so that parallel events take different numbers.
    sql("update wallets set address = address where id = $1").bind(wallet_id).execute(tx).await?;
    let last = sql("select coalesce(max(sequence), 0) from events where subject_id = $1").bind(wallet_id);
    let sequence = last.scalar::<i64>(tx).await? + 1;
    event::write(tx, name, "wallet", wallet_id, sequence, data).await
}

/// Removes unproved claims on an address, except those of one wallet or one investor. A reservation of an abandoned recovery is removed too.
pub async fn remove_claims(tx: &mut Tx, address: Address, but: &str, reason: &str) -> Result<()> {
    let ousted = sql("delete from wallets
        where address = $1 and $2 not in (id, investor_id) and verified_at is null and retired_at is null
            and (reserved_by is null or reserved_by in (select id from operations where resolution = 'abandoned'))
        returning id, investor_id")
    .bind((Hex(address), but))
    .rows::<(WalletId, InvestorId)>(tx)
    .await?;
    write_removed(tx, ousted, reason).await
}

/// The wallet to use by default: the default wallet, or the oldest verified one.
pub async fn default_of(tx: &mut Tx, investor_id: &InvestorId) -> Result<Option<Address>> {
    let found = sql("select address from wallets
        where investor_id = $1 and verified_at is not null and retired_at is null
        order by is_default desc, id limit 1")
    .bind(investor_id)
    .optional_scalar::<Hex<Address>>(tx)
    .await?;
    Ok(found.map(|address| address.0))
}

/// Stores an unproved wallet of an investor; `wallet_in_use` if it belongs to somebody else. If somebody else only claimed it, nothing is
/// stored: the address belongs to the first who proves control. A reservation of an abandoned recovery is free.
pub async fn insert_unverified(tx: &mut Tx, investor_id: &InvestorId, address: Address) -> Result<()> {
    end_abandoned_recovery(tx, investor_id, address).await?;
    let (id, now) = (tx.new_id::<of::Wallet>(), tx.now());
    sql("insert into wallets (id, investor_id, address, created_at) values ($1, $2, $3, $4)
         on conflict (address) do nothing")
    .bind((id, investor_id, Hex(address), now))
    .execute(tx)
    .await?;
    // Read again after the write, which has waited for a parallel request.
    match find(tx, address).await? {
        Some(wallet) if wallet.investor_id == investor_id || wallet.is_only_claimed() => Ok(()),
        _ => Err(in_use(address)),
    }
}

/// Takes an unproved address from an abandoned recovery: the investor keeps it, and another one loses it.
async fn end_abandoned_recovery(tx: &mut Tx, investor_id: &InvestorId, address: Address) -> Result<()> {
    let reserved = "where address = $1 and verified_at is null
            and exists (select 1 from operations o where o.id = reserved_by and o.resolution = 'abandoned')";
    sql("update wallets set reserved_by = null ")
        .push(reserved)
        .push(" and investor_id = $2")
        .bind((Hex(address), investor_id))
        .execute(tx)
        .await?;
    let ousted = sql("delete from wallets ").push(reserved).push(" returning id, investor_id").bind(Hex(address));
    let ousted = ousted.rows::<(WalletId, InvestorId)>(tx).await?;
    write_removed(tx, ousted, "its recovery was abandoned").await
}

async fn write_removed(tx: &mut Tx, ousted: Vec<(WalletId, InvestorId)>, reason: &str) -> Result<()> {
    for (id, investor_id) in ousted {
        let data = json!({ "investor_id": investor_id, "reason": reason });
        write_event(tx, "wallet.removed", &id, data).await?;
    }
    Ok(())
}

/// The error for an address of another investor.
pub fn in_use(address: Address) -> Error {
    let detail = format!("The wallet {} belongs to another investor.", address.to_checksum(None));
    Error::refused(Code::WalletInUse, detail)
}

/// Retires a wallet without a successor. It receives nothing any more.
pub async fn retire(tx: &mut Tx, w: &Wallet) -> Result<()> {
    let now = tx.now();
    sql("update wallets set retired_at = coalesce(retired_at, $2), is_default = false where id = $1")
        .bind((&w.id, now))
        .execute(tx)
        .await?;
    let data = json!({ "investor_id": w.investor_id, "reason": "the address of its owner was not proved" });
    write_event(tx, "wallet.removed", &w.id, data).await
}

/// Records a final recovery: the old wallet is retired, and the replacement is verified like the old one.
pub async fn record_recovery(tx: &mut Tx, old: &Wallet, successor: Address) -> Result<()> {
    let now = tx.now();
    sql("update wallets
         set retired_at = coalesce(retired_at, $2), successor = coalesce(successor, $3), is_default = false
         where id = $1")
    .bind((&old.id, now, Hex(successor)))
    .execute(tx)
    .await?;
    // A recovery moves the proof of control along with the units.
    let verified = old.verified_at.map(|_| now);
    sql("update wallets set verified_at = coalesce(verified_at, $3), is_default = is_default or $4
         where address = $1 and investor_id = $2")
    .bind((Hex(successor), &old.investor_id, verified, old.is_default && verified.is_some()))
    .execute(tx)
    .await?;
    Ok(())
}

/// Takes the retirement of a wallet back, unless another token still has a successor for it. Proofs and defaults stay with the successor.
pub async fn record_reinstatement(tx: &mut Tx, address: Address) -> Result<()> {
    sql("update wallets set retired_at = null, successor = null where address = $1 and successor is not null and not exists
             (select 1 from token_accounts where wallet_address = $1 and successor_address is not null)")
    .bind(Hex(address))
    .execute(tx)
    .await
    .map(drop)
}
