//! The portfolio of an investor: positions from token ledgers, commitments and payments.

use std::collections::BTreeMap;

use alloy_primitives::{Address, U256};
use chrono::{DateTime, Utc};

use crate::Result;
use crate::column::{Dec, Hex};
use crate::db::Tx;
use crate::distribution;
use crate::entitlement::Entitlement;
use crate::id::{InvestorId, OfferingId, SubscriptionId};
use crate::sql::sql;
use crate::subscription::Status;

/// Units in one wallet and partition, with the offering and the block up to which its token is read.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Position {
    pub offering_id: OfferingId,
    pub offering_name: String,
    pub currency: String,
    pub unit_price: i64,
    pub token_decimals: i64,
    pub token_address: Hex<Address>,
    pub chain_id: i64,
    pub partition_id: i64,
    pub wallet_address: Hex<Address>,
    pub balance: Dec<u128>,
    pub frozen: bool,
    /// The block up to which events are included.
    pub synced_block: i64,
    pub read_at: DateTime<Utc>,
    /// The newest final block.
    pub final_block: i64,
    /// Since when no endpoint of the chain answers.
    pub blocked_since: Option<DateTime<Utc>>,
}

/// A place of units: the offering, the partition and the wallet.
type Place = (OfferingId, i64, Address);

impl Position {
    fn place(&self) -> Place {
        (self.offering_id.clone(), self.partition_id, self.wallet_address.0)
    }

    /// Seconds for which nothing newer is known; 0 if everything final is included.
    pub fn lag_seconds(&self, now: DateTime<Utc>) -> i64 {
        // While the chain is silent, blocks can be missing without being counted.
        let since = self.blocked_since.or_else(|| (self.synced_block < self.final_block).then_some(self.read_at));
        since.map_or(0, |since| (now - since).num_seconds().max(0))
    }
}

/// All units in wallets of the investor.
pub async fn positions(tx: &mut Tx, investor_id: &InvestorId) -> Result<Vec<Position>> {
    sql("select h.offering_id, o.name as offering_name, o.currency, o.unit_price, o.token_decimals, c.token_address,
             c.chain_id, h.partition_id, h.wallet_address, h.balance, coalesce(a.frozen, false) as frozen,
             c.block_number as synced_block, c.read_at, coalesce(k.final_number, c.block_number) as final_block,
             k.blocked_since
         from wallets w
             join holdings h on h.wallet_address = w.address
             join offerings o on o.id = h.offering_id
             join token_places c on c.offering_id = h.offering_id
             left join chains k on k.chain_id = c.chain_id
             left join token_accounts a on a.offering_id = h.offering_id and a.wallet_address = h.wallet_address
         where w.investor_id = $1 and w.verified_at is not null and h.balance <> '0'
         order by h.offering_id, h.partition_id, h.wallet_address")
    .bind(investor_id)
    .rows(tx)
    .await
}

/// Units of a position that are locked until a time.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Lock {
    pub offering_id: OfferingId,
    pub partition_id: i64,
    pub wallet_address: Hex<Address>,
    /// Release time, in seconds since 1970.
    pub release_at: i64,
    pub quantity: Dec<u128>,
}

/// The present locks of all positions of an investor.
#[derive(Debug, Default)]
pub struct Locks(BTreeMap<Place, Vec<Lock>>);

impl Locks {
    /// The locks of a position, earliest release first.
    pub fn of(&self, p: &Position) -> &[Lock] {
        self.0.get(&p.place()).map(Vec::as_slice).unwrap_or_default()
    }
}

/// The present locks in all wallets of the investor.
pub async fn locks(tx: &mut Tx, investor_id: &InvestorId) -> Result<Locks> {
    // The key of a lock begins with the offering, so the holding leads to it.
    let rows = sql("select t.offering_id, t.partition_id, t.wallet_address, t.release_at, t.quantity
         from wallets w
             join holdings h on h.wallet_address = w.address
             join tranches t on t.offering_id = h.offering_id and t.wallet_address = h.wallet_address
                 and t.partition_id = h.partition_id
         where w.investor_id = $1 and t.release_at > $2
         order by t.release_at")
    .bind((investor_id, tx.now().timestamp()))
    .rows::<Lock>(tx)
    .await?;
    let mut locks = Locks::default();
    for lock in rows {
        let place = (lock.offering_id.clone(), lock.partition_id, lock.wallet_address.0);
        locks.0.entry(place).or_default().push(lock);
    }
    Ok(locks)
}

/// The wallet that replaced a lost one, by token and lost wallet. The lost wallet may still hold units of other tokens.
pub type Successors = BTreeMap<(OfferingId, Address), Address>;

/// The successors of the investor's wallets.
pub async fn successors(tx: &mut Tx, investor_id: &InvestorId) -> Result<Successors> {
    let rows = sql("select a.offering_id, a.wallet_address, a.successor_address
         from wallets w join token_accounts a on a.wallet_address = w.address
         where w.investor_id = $1 and a.successor_address is not null")
    .bind(investor_id)
    .rows::<(OfferingId, Hex<Address>, Hex<Address>)>(tx)
    .await?;
    Ok(rows.into_iter().map(|(offering_id, lost, successor)| ((offering_id, lost.0), successor.0)).collect())
}

/// A subscription in the portfolio.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Commitment {
    pub id: SubscriptionId,
    pub offering_id: OfferingId,
    pub offering_name: String,
    pub currency: String,
    pub partition_id: i64,
    pub status: Status,
    pub amount: i64,
    pub quantity: Option<Dec<u128>>,
    pub wallet_address: Option<Hex<Address>>,
}

/// All subscriptions of an investor that have not ended, newest first.
pub async fn commitments(tx: &mut Tx, investor_id: &InvestorId) -> Result<Vec<Commitment>> {
    sql("select s.id, s.offering_id, o.name as offering_name, o.currency, o.partition_id, s.status, s.amount,
             s.quantity, s.wallet_address
         from subscriptions s join offerings o on o.id = s.offering_id
         where s.investor_id = $1 and s.status in :reserving
         order by s.id desc")
    .words(":reserving", &Status::RESERVING)
    .bind(investor_id)
    .rows(tx)
    .await
}

/// Amount and units minted, by offering, partition and the wallet that holds them now.
#[derive(Debug, Default)]
pub struct Purchases(BTreeMap<Place, (i64, u128)>);

impl Purchases {
    /// Sums the minted subscriptions. Mints to a wallet that was recovered in their token count for its replacement.
    pub fn of(commitments: &[Commitment], successors: &Successors) -> Self {
        let mut sums = BTreeMap::new();
        for c in commitments.iter().filter(|c| c.status == Status::Minted) {
            let (Some(wallet), Some(units)) = (c.wallet_address, c.quantity) else { continue };
            let mut at = wallet.0;
            // At most as many steps as recoveries: they form no cycle.
            for _ in 0..successors.len() {
                at = successors.get(&(c.offering_id.clone(), at)).copied().unwrap_or(at);
            }
            let sum: &mut (i64, u128) = sums.entry((c.offering_id.clone(), c.partition_id, at)).or_default();
            sum.0 += c.amount;
            sum.1 += units.0;
        }
        Self(sums)
    }

    /// The cost of a position's units at their average price; none for units that only came by transfers.
    pub fn cost(&self, p: &Position) -> Option<i64> {
        let (amount, units) = *self.0.get(&p.place())?;
        // Units beyond the purchases came by transfers and cost nothing here.
        let kept = U256::from(p.balance.0.min(units));
        let cost: U256 = U256::from(amount.max(0).unsigned_abs()) * kept / U256::from(units.max(1));
        i64::try_from(cost).ok()
    }
}

/// The value of units at a price, in minor units, rounded down.
pub fn value(units: u128, unit_price: i64, token_decimals: u32) -> i64 {
    let whole = U256::from(10u8).pow(U256::from(token_decimals));
    let value = U256::from(units) * U256::from(unit_price.max(0).unsigned_abs()) / whole;
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Payments to an investor in one currency, in minor units.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Income {
    pub currency: String,
    pub gross: i64,
    pub withholding: i64,
    pub net: i64,
}

/// Payments to an investor, by currency.
pub async fn income(tx: &mut Tx, investor_id: &InvestorId) -> Result<Vec<Income>> {
    sql("select d.currency, cast(sum(e.gross) as bigint) as gross, cast(sum(e.withholding) as bigint) as withholding,
             cast(sum(e.net) as bigint) as net
         from entitlements e join distributions d on d.id = e.distribution_id
         where e.investor_id = $1 and e.status = 'paid' group by d.currency order by d.currency")
    .bind(investor_id)
    .rows(tx)
    .await
}

/// An entitlement with its distribution.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Payment {
    #[sqlx(flatten)]
    pub entitlement: Entitlement,
    pub offering_name: String,
    pub kind: distribution::Kind,
    pub currency: String,
    pub payment_date: DateTime<Utc>,
}

/// The newest entitlements of an investor.
pub async fn recent(tx: &mut Tx, investor_id: &InvestorId, limit: i64) -> Result<Vec<Payment>> {
    sql("select e.*, o.name as offering_name, d.kind, d.currency, d.payment_date
         from entitlements e join distributions d on d.id = e.distribution_id
             join offerings o on o.id = e.offering_id
         where e.investor_id = $1 and d.status <> 'cancelled' order by e.id desc limit $2")
    .bind((investor_id, limit))
    .rows(tx)
    .await
}

#[cfg(test)]
mod tests;
