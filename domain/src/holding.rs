//! Holdings: the units of each wallet, as of the final block up to which the token's events are read (`token_event`). Only those
//! events change them.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::Address;
use chrono::{DateTime, Utc};

use crate::column::{Dec, Hex};
use crate::db::Tx;
use crate::id::{InvestorId, OfferingId};
use crate::ledger::NEVER;
use crate::rows::portions;
use crate::sql::{Sql, sql};
use crate::{Result, filter, ledger};

/// One row of `holdings`, with the units locked now.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Holding {
    pub offering_id: OfferingId,
    pub wallet_address: Hex<Address>,
    pub partition_id: i64,
    pub balance: Dec<u128>,
    /// Units whose lock has not expired.
    pub locked: Dec<u128>,
    pub synced_block: i64,
    pub first_acquired_at: Option<DateTime<Utc>>,
    pub version: i64,
    pub updated_at: DateTime<Utc>,
}

/// Units of a holder that are locked until a time.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Tranche {
    pub wallet_address: Hex<Address>,
    pub partition_id: i64,
    /// Release time, in seconds since 1970.
    pub release_at: i64,
    pub quantity: Dec<u128>,
}

// The locked units are added afterwards: quantities are decimal texts, which SQL cannot sum exactly.
const HELD: &str = "select h.*, cast('0' as text) as locked from holdings h where h.offering_id = ";

/// The holdings of an offering, in the order of wallets.
pub async fn of_offering(tx: &mut Tx, offering_id: &OfferingId) -> Result<Vec<Holding>> {
    let in_order = sql(HELD).value(offering_id).push(" order by h.wallet_address, h.partition_id");
    let mut held = in_order.rows::<Holding>(tx).await?;
    let locked = sums(&tranches(tx, offering_id, &[]).await?);
    held.iter_mut().for_each(|h| h.lock(&locked));
    Ok(held)
}

/// The holding of a wallet in a partition.
pub async fn find(
    tx: &mut Tx,
    offering_id: &OfferingId,
    wallet: Address,
    partition_id: i64,
) -> Result<Option<Holding>> {
    let held = sql(HELD)
        .value(offering_id)
        .with(" and h.wallet_address = ", Hex(wallet))
        .with(" and h.partition_id = ", partition_id)
        .optional::<Holding>(tx)
        .await?;
    let Some(mut held) = held else { return Ok(None) };
    held.lock(&sums(&tranches(tx, offering_id, &[wallet]).await?));
    Ok(Some(held))
}

/// The present locks of some wallets, or of all wallets for an empty list; earliest release first.
async fn tranches(tx: &mut Tx, offering_id: &OfferingId, wallets: &[Address]) -> Result<Vec<Tranche>> {
    let now = tx.now().timestamp();
    let all = sql("select wallet_address, partition_id, release_at, quantity from tranches where offering_id = ");
    ledger::among(all, offering_id, wallets).with(" and release_at > ", now).push(" order by release_at").rows(tx).await
}

/// The frozen addresses of a token.
pub async fn frozen(tx: &mut Tx, offering_id: &OfferingId) -> Result<BTreeSet<Address>> {
    let rows = sql("select wallet_address from token_accounts where offering_id = $1 and frozen")
        .bind(offering_id)
        .scalars::<Hex<Address>>(tx)
        .await?;
    Ok(rows.into_iter().map(|address| address.0).collect())
}

/// Whether an address is frozen.
pub async fn is_frozen(tx: &mut Tx, offering_id: &OfferingId, wallet: Address) -> Result<bool> {
    let found = sql("select frozen from token_accounts where offering_id = $1 and wallet_address = $2")
        .bind((offering_id, Hex(wallet)))
        .optional_scalar::<bool>(tx)
        .await?;
    // An address without a row was never frozen.
    Ok(found.unwrap_or(false))
}

/// The wallet that replaced a recovered wallet in this token.
pub async fn successor(tx: &mut Tx, offering_id: &OfferingId, wallet: Address) -> Result<Option<Address>> {
    let found = sql("select successor_address from token_accounts where offering_id = $1 and wallet_address = $2")
        .bind((offering_id, Hex(wallet)))
        .optional_scalar::<Option<Hex<Address>>>(tx)
        .await?;
    Ok(found.flatten().map(|successor| successor.0))
}

/// Whether a wallet holds units in any partition of a token.
pub async fn holds(tx: &mut Tx, offering_id: &OfferingId, wallet: Address) -> Result<bool> {
    sql("select exists (select 1 from holdings where offering_id = $1 and wallet_address = $2 and balance <> '0')")
        .bind((offering_id, Hex(wallet)))
        .scalar(tx)
        .await
}

/// Whether a partition is restricted.
pub async fn is_restricted(tx: &mut Tx, offering_id: &OfferingId, partition_id: i64) -> Result<bool> {
    Ok(ledger::partitions(tx, offering_id)
        .await?
        .into_iter()
        .any(|(id, restricted, _)| id == partition_id && restricted))
}

/// The offerings among these of whose token something is restricted.
pub async fn restricted_among(tx: &mut Tx, offering_ids: &[&OfferingId]) -> Result<Vec<OfferingId>> {
    let mut found = Vec::new();
    for portion in portions(tx, offering_ids) {
        let some = sql("select distinct offering_id from token_partitions where restricted and offering_id in (");
        found.extend(some.list(portion).push(")").scalars::<OfferingId>(tx).await?);
    }
    Ok(found)
}

/// Whether a token is paused.
pub async fn is_paused(tx: &mut Tx, offering_id: &OfferingId) -> Result<bool> {
    is_restricted(tx, offering_id, ledger::WHOLE_TOKEN).await
}

/// The units of a lock with this release time.
pub async fn locked_until(
    tx: &mut Tx,
    offering_id: &OfferingId,
    wallet: Address,
    partition_id: i64,
    release_at: i64,
) -> Result<u128> {
    let locks = tranches(tx, offering_id, &[wallet]).await?;
    let ours = locks.iter().find(|lock| (lock.partition_id, lock.release_at) == (partition_id, release_at));
    Ok(ours.map_or(0, |lock| lock.quantity.0))
}

/// A holding with its investor; none for an unknown wallet.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Holder {
    #[sqlx(flatten)]
    pub holding: Holding,
    pub frozen: bool,
    /// The supply of the partition.
    pub supply: Dec<u128>,
    pub investor_id: Option<InvestorId>,
    pub legal_name: Option<String>,
    pub country: Option<String>,
}

/// The holders to find: a part of the wallet's address, or of the name of its owner.
#[derive(Clone, Debug, Default)]
pub struct HolderSearch {
    /// The part, in lower case.
    pub part: Option<String>,
    /// Whether names are compared, too.
    pub names: bool,
}

const HOLDERS: &str = "
        from holdings h join token_partitions p on p.offering_id = h.offering_id and p.partition_id = h.partition_id
            left join token_accounts a on a.offering_id = h.offering_id and a.wallet_address = h.wallet_address
            left join wallets w on w.address = h.wallet_address and w.verified_at is not null
            left join investors i on i.id = w.investor_id
        where h.balance <> '0'";

fn holders(select: Sql, offering_id: &OfferingId, words: &HolderSearch) -> Sql {
    let query = select.push(HOLDERS).with(" and h.offering_id = ", offering_id);
    let Some(part) = &words.part else { return query };
    let part = format!("%{}%", filter::escaped(part));
    let query = query.with(" and (h.wallet_address like ", &part).push(" escape '\\'");
    let query =
        if words.names { query.with(" or lower(i.legal_name) like ", &part).push(" escape '\\'") } else { query };
    query.push(")")
}

/// A page of holders in the order of their wallets, and their number.
pub async fn page(
    tx: &mut Tx,
    offering_id: &OfferingId,
    words: &HolderSearch,
    limit: i64,
    offset: i64,
) -> Result<(Vec<Holder>, i64)> {
    let select = sql("select h.*, cast('0' as text) as locked, coalesce(a.frozen, false) as frozen, p.supply,
            i.id as investor_id, i.legal_name, i.country");
    let page = holders(select, offering_id, words).push(" order by h.wallet_address, h.partition_id");
    let mut rows = page.page(limit, offset).rows::<Holder>(tx).await?;
    let total = holders(sql("select count(*)"), offering_id, words).scalar::<i64>(tx).await?;
    let wallets: Vec<Address> = rows.iter().map(|row| row.holding.wallet_address.0).collect();
    if !wallets.is_empty() {
        let locked = sums(&tranches(tx, offering_id, &wallets).await?);
        rows.iter_mut().for_each(|row| row.holding.lock(&locked));
    }
    Ok((rows, total))
}

type Locked = BTreeMap<(Hex<Address>, i64), u128>;

/// The units of each holding that may not move: locked over all release times, or frozen without end if those are more.
fn sums(tranches: &[Tranche]) -> Locked {
    let (mut sums, mut frozen) = (Locked::new(), Locked::new());
    for t in tranches {
        let kept = if t.release_at == NEVER { &mut frozen } else { &mut sums };
        *kept.entry((t.wallet_address, t.partition_id)).or_default() += t.quantity.0;
    }
    for (place, units) in frozen {
        let locked = sums.entry(place).or_default();
        *locked = units.max(*locked);
    }
    sums
}

impl Holding {
    fn lock(&mut self, locked: &Locked) {
        let held_back = locked.get(&(self.wallet_address, self.partition_id)).copied().unwrap_or_default();
        // An order may freeze more than is held.
        self.locked = Dec(held_back.min(self.balance.0));
    }
}
