//! Wallets: the addresses of an investor, and which of them followed which.

use alloy_primitives::Address;
use chrono::{DateTime, Utc};
use serde_json::json;
use sqlx::QueryBuilder;

use crate::column::Hex;
use crate::db::Tx;
use crate::narrow::Created;
use crate::{Code, Error, Result, event, on};

/// One row of `wallets`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Wallet {
    pub id: String,
    pub investor_id: String,
    pub address: Hex<Address>,
    pub verified_at: Option<DateTime<Utc>>,
    /// Since when it is lost.
    pub retired_at: Option<DateTime<Utc>>,
    /// The wallet that follows it.
    pub successor: Option<Hex<Address>>,
    /// The recovery that is under way to it, or was.
    pub reserved_by: Option<String>,
    /// What its owner calls it.
    pub label: Option<String>,
    /// Whether it is used where its owner names none.
    pub is_default: bool,
    pub created_at: DateTime<Utc>,
}

impl Wallet {
    /// Whether somebody has said that it is theirs and no more: that holds nobody else off.
    pub const fn is_only_claimed(&self) -> bool {
        self.verified_at.is_none() && self.retired_at.is_none() && self.reserved_by.is_none()
    }
}

/// The wallet with this address. One that was only reserved, by a recovery that was given up, is nobody's.
pub async fn find(tx: &mut Tx, address: Address) -> Result<Option<Wallet>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Wallet>(
        "select w.* from wallets w left join operations o on o.id = w.reserved_by where w.address = $1 \
         and not (w.verified_at is null and coalesce(o.resolution, '') = 'abandoned')")
        .bind(Hex(address)).fetch_optional(conn).await?))
}

/// The wallets of an investor, the oldest first.
pub async fn of_investor(tx: &mut Tx, investor_id: &str) -> Result<Vec<Wallet>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Wallet>("select * from wallets where investor_id = $1 order by id")
        .bind(investor_id).fetch_all(conn).await?))
}

/// A page of them, and how many there are.
pub async fn page(
    tx: &mut Tx,
    investor_id: &str,
    created: Created,
    limit: i64,
    offset: i64,
) -> Result<(Vec<Wallet>, i64)> {
    let rows = on!(tx, conn => {
        let mut query = QueryBuilder::new("select * from wallets where investor_id = ");
        query.push_bind(investor_id.to_owned());
        created.narrow(&mut query, "", "wal");
        query.push(" order by id limit ").push_bind(limit).push(" offset ").push_bind(offset);
        query.build_query_as::<Wallet>().fetch_all(conn).await?
    });
    let total = on!(tx, conn => {
        let mut query = QueryBuilder::new("select count(*) from wallets where investor_id = ");
        query.push_bind(investor_id.to_owned());
        created.narrow(&mut query, "", "wal");
        query.build_query_scalar::<i64>().fetch_one(conn).await?
    });
    Ok((rows, total))
}

/// Keeps an address for the investor to whom a recovery moves a wallet. It is verified when the recovery is confirmed, not before.
pub async fn reserve(tx: &mut Tx, investor_id: &str, address: Address, operation_id: &str) -> Result<()> {
    oust(tx, address, investor_id, "recovered to by another investor").await?;
    let (id, now) = (tx.new_id("wal"), tx.now());
    on!(tx, conn => sqlx::query(
        "insert into wallets (id, investor_id, address, reserved_by, created_at) values ($1, $2, $3, $4, $5) \
         on conflict (address) do update set investor_id = excluded.investor_id, reserved_by = excluded.reserved_by \
         where wallets.verified_at is null and wallets.reserved_by in (select id from operations where resolution = 'abandoned')")
        .bind(id).bind(investor_id).bind(Hex(address)).bind(operation_id).bind(now).execute(conn).await?.rows_affected());
    // Read again after the write, which has locked the row: somebody else may have registered it a moment ago.
    match find(tx, address).await? {
        Some(wallet) if wallet.investor_id == investor_id => Ok(()),
        _ => Err(in_use(address)),
    }
}

/// Takes an address from everybody who only said that it is theirs, but for one wallet, or one investor. What a recovery that was given up
/// had reserved is only said, too.
pub async fn oust(tx: &mut Tx, address: Address, but: &str, reason: &str) -> Result<()> {
    let ousted = on!(tx, conn => sqlx::query_as::<_, (String, String)>(
        "delete from wallets where address = $1 and $2 not in (id, investor_id) and verified_at is null and retired_at is null \
         and (reserved_by is null or reserved_by in (select id from operations where resolution = 'abandoned')) returning id, investor_id")
        .bind(Hex(address)).bind(but).fetch_all(conn).await?);
    for (id, investor_id) in ousted {
        let data = json!({ "investor_id": investor_id, "reason": reason });
        event::write(tx, "wallet.removed", "wallet", &id, 0, data).await?;
    }
    Ok(())
}

/// The wallet that an investor uses where none is named: the default, or else the oldest of those that were proved.
pub async fn default_of(tx: &mut Tx, investor_id: &str) -> Result<Option<Address>> {
    let found = on!(tx, conn => sqlx::query_scalar::<_, Hex<Address>>(
        "select address from wallets where investor_id = $1 and verified_at is not null and retired_at is null \
         order by is_default desc, id limit 1")
        .bind(investor_id).fetch_optional(conn).await?);
    Ok(found.map(|address| address.0))
}

/// Keeps an address that an investor named and has not proved; `wallet_in_use` if it is somebody else's. Where another one has only said that it
/// is theirs, there is nothing to keep: it is whose who shows its key.
pub async fn insert_unverified(tx: &mut Tx, investor_id: &str, address: Address) -> Result<()> {
    let (id, now) = (tx.new_id("wal"), tx.now());
    on!(tx, conn => sqlx::query(
        "insert into wallets (id, investor_id, address, created_at) values ($1, $2, $3, $4) on conflict (address) do nothing")
        .bind(id).bind(investor_id).bind(Hex(address)).bind(now).execute(conn).await?.rows_affected());
    // Read again after the write, which has waited for whoever registered it a moment ago.
    match find(tx, address).await? {
        Some(wallet) if wallet.investor_id == investor_id || wallet.is_only_claimed() => Ok(()),
        _ => Err(in_use(address)),
    }
}

/// The refusal of an address that is somebody else's.
pub fn in_use(address: Address) -> Error {
    let detail = format!("The wallet {} belongs to another investor.", address.to_checksum(None));
    Error::refused(Code::WalletInUse, detail)
}

/// The recovery is final: the old wallet is retired, and the new one is the investor's, verified as the old one was.
pub async fn follow(tx: &mut Tx, old: &Wallet, successor: Address) -> Result<()> {
    let now = tx.now();
    on!(tx, conn => sqlx::query(
        "update wallets set retired_at = coalesce(retired_at, $2), successor = coalesce(successor, $3), is_default = false where id = $1")
        .bind(&old.id).bind(now).bind(Hex(successor)).execute(conn).await?.rows_affected());
    let verified = old.verified_at.map(|_| now);
    on!(tx, conn => sqlx::query(
        "update wallets set verified_at = coalesce(verified_at, $3), is_default = is_default or $4 where address = $1 and investor_id = $2")
        .bind(Hex(successor)).bind(&old.investor_id).bind(verified).bind(old.is_default && verified.is_some())
        .execute(conn).await?.rows_affected());
    Ok(())
}
