//! The books of one token in memory: the rows of the addresses that some events name, changed event by event, written back at once.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::Address;
use chrono::{DateTime, Utc};

use crate::column::{Dec, Hex};
use crate::db::Tx;
use crate::token_event::{Kind, TokenEvent};
use crate::{Error, Result, on};

/// The release time that never comes, as the contract writes it.
pub const NEVER: i64 = (1 << 40) - 1;
/// Rows in one statement: SQLite takes 32,766 parameters.
const ROWS_PER_STATEMENT: usize = 500;

#[derive(Clone, Copy, Default)]
struct Balance {
    units: u128,
    first_acquired_at: Option<DateTime<Utc>>,
}

#[derive(Clone, Copy, Default)]
struct Account {
    frozen: bool,
    successor: Option<Address>,
}

#[derive(Clone, Copy, Default)]
struct Partition {
    restricted: bool,
    supply: u128,
}

type Place = (Address, i64);

/// The open books of one token.
pub struct Book<'a> {
    offering_id: &'a str,
    block: i64,
    balances: BTreeMap<Place, Balance>,
    /// By release time.
    tranches: BTreeMap<Place, BTreeMap<i64, u128>>,
    accounts: BTreeMap<Address, Account>,
    partitions: BTreeMap<i64, Partition>,
}

/// An event that cannot be, after those before it: the chain's answers did not fit together.
pub(crate) fn misfit(offering_id: &str, account: Address) -> Error {
    let why = format!("more left {account} than it held; an event before it is missing");
    Error::Unreadable { what: "the events of the token of", id: offering_id.to_owned(), why }
}

impl<'a> Book<'a> {
    /// Reads the rows of everybody whom the events name.
    pub async fn open(tx: &mut Tx, offering_id: &'a str, events: &[&TokenEvent]) -> Result<Self> {
        let block = events.iter().map(|e| e.block_number).max().unwrap_or_default();
        let named: BTreeSet<Address> =
            events.iter().flat_map(|e| [e.from_address, e.to_address]).flatten().map(|a| a.0).collect();
        let named: Vec<Address> = named.into_iter().collect();
        let partitions = partitions(tx, offering_id).await?;
        let partitions =
            partitions.into_iter().map(|(id, restricted, supply)| (id, Partition { restricted, supply: supply.0 }));
        let mut book = Self {
            offering_id,
            block,
            balances: BTreeMap::new(),
            tranches: BTreeMap::new(),
            accounts: BTreeMap::new(),
            partitions: partitions.collect(),
        };
        for some in named.chunks(ROWS_PER_STATEMENT) {
            book.read(tx, some).await?;
        }
        Ok(book)
    }

    async fn read(&mut self, tx: &mut Tx, some: &[Address]) -> Result<()> {
        type Held = (Hex<Address>, i64, Dec<u128>, Option<DateTime<Utc>>);
        let of = |select: &str| format!("{select} where offering_id = ");
        let held: Vec<Held> = on!(tx, conn => {
            let mut query =
                sqlx::QueryBuilder::new(of("select wallet_address, partition_id, balance, first_acquired_at from holdings"));
            among(&mut query, self.offering_id, some);
            query.build_query_as().fetch_all(conn).await?
        });
        for (wallet, partition, units, first_acquired_at) in held {
            self.balances.insert((wallet.0, partition), Balance { units: units.0, first_acquired_at });
        }
        let locked: Vec<(Hex<Address>, i64, i64, Dec<u128>)> = on!(tx, conn => {
            let mut query = sqlx::QueryBuilder::new(of("select wallet_address, partition_id, release_at, quantity from tranches"));
            among(&mut query, self.offering_id, some);
            query.build_query_as().fetch_all(conn).await?
        });
        for (wallet, partition, release_at, units) in locked {
            self.tranches.entry((wallet.0, partition)).or_default().insert(release_at, units.0);
        }
        let accounts: Vec<(Hex<Address>, bool, Option<Hex<Address>>)> = on!(tx, conn => {
            let mut query = sqlx::QueryBuilder::new(of("select wallet_address, frozen, successor_address from token_accounts"));
            among(&mut query, self.offering_id, some);
            query.build_query_as().fetch_all(conn).await?
        });
        for (wallet, frozen, successor) in accounts {
            self.accounts.insert(wallet.0, Account { frozen, successor: successor.map(|s| s.0) });
        }
        Ok(())
    }

    /// Enters one event.
    pub fn enter(&mut self, event: &TokenEvent) -> Result<()> {
        let (from, to) = (event.from_address.map(|a| a.0), event.to_address.map(|a| a.0));
        let partition = event.partition_id.unwrap_or_default();
        let units = event.quantity.map_or(0, |q| q.0);
        match (event.kind, from, to) {
            (Kind::Transfer, from, to) => self.transfer(from, to, partition, units, event.block_at)?,
            (Kind::Lock, Some(holder), _) => {
                let release = event.release_at.unwrap_or(NEVER);
                *self.tranches.entry((holder, partition)).or_default().entry(release).or_default() += units;
            }
            (Kind::Cut, Some(holder), _) => self.cut((holder, partition), units, event.block_at.timestamp()),
            (Kind::Hold, Some(holder), _) => {
                self.tranches.entry((holder, partition)).or_default().insert(NEVER, units);
            }
            (Kind::Freeze | Kind::Unfreeze, Some(account), _) => {
                self.accounts.entry(account).or_default().frozen = event.kind == Kind::Freeze;
            }
            (Kind::Restrict | Kind::Unrestrict, ..) => {
                self.partitions.entry(partition).or_default().restricted = event.kind == Kind::Restrict;
            }
            (Kind::Recover, Some(lost), Some(replacement)) => self.recover(lost, replacement),
            _ => {
                let why = format!("{} in block {} names nobody", event.kind, event.block_number);
                return Err(Error::Unreadable {
                    what: "an event of the token of",
                    id: self.offering_id.to_owned(),
                    why,
                });
            }
        }
        Ok(())
    }

    fn transfer(
        &mut self,
        from: Option<Address>,
        to: Option<Address>,
        partition: i64,
        units: u128,
        at: DateTime<Utc>,
    ) -> Result<()> {
        if let Some(from) = from {
            let held = self.balances.entry((from, partition)).or_default();
            held.units = held.units.checked_sub(units).ok_or_else(|| misfit(self.offering_id, from))?;
        } else {
            self.partitions.entry(partition).or_default().supply += units;
        }
        if let Some(to) = to {
            let held = self.balances.entry((to, partition)).or_default();
            held.units = held.units.checked_add(units).ok_or_else(|| misfit(self.offering_id, to))?;
            held.first_acquired_at = held.first_acquired_at.or(Some(at));
        } else {
            let supply = &mut self.partitions.entry(partition).or_default().supply;
            *supply = supply.checked_sub(units).ok_or_else(|| misfit(self.offering_id, Address::ZERO))?;
        }
        Ok(())
    }

    /// The contract takes the latest locks first, after it has forgotten those that are due.
    fn cut(&mut self, place: Place, mut units: u128, now: i64) {
        let tranches = self.tranches.entry(place).or_default();
        for (_, locked) in tranches.range_mut(now + 1..).rev() {
            let taken = units.min(*locked);
            *locked -= taken;
            units -= taken;
        }
    }

    /// Balances moved by an event of their own; locks move with this one, and the lost wallet is frozen for good.
    fn recover(&mut self, lost: Address, replacement: Address) {
        let places: Vec<Place> = self.tranches.keys().filter(|(wallet, _)| *wallet == lost).copied().collect();
        for place in places {
            let moved = self.tranches.insert(place, BTreeMap::new()).unwrap_or_default();
            let target = self.tranches.entry((replacement, place.1)).or_default();
            for (release_at, units) in moved {
                *target.entry(release_at).or_default() += units;
            }
        }
        self.accounts.insert(lost, Account { frozen: true, successor: Some(replacement) });
    }

    /// Writes everything back.
    pub async fn close(self, tx: &mut Tx) -> Result<()> {
        let (offering_id, block, now) = (self.offering_id, self.block, tx.now());
        let balances: Vec<_> = self.balances.iter().collect();
        for some in balances.chunks(ROWS_PER_STATEMENT) {
            on!(tx, conn => {
                let mut query = sqlx::QueryBuilder::new(
                    "insert into holdings (offering_id, wallet_address, partition_id, balance, synced_block, version, updated_at, \
                     first_acquired_at) ");
                query.push_values(some, |mut row, ((wallet, partition), held)| {
                    row.push_bind(offering_id).push_bind(Hex(*wallet)).push_bind(*partition).push_bind(Dec(held.units)).push_bind(block)
                        .push_bind(1_i64).push_bind(now).push_bind(held.first_acquired_at);
                });
                query.push(
                    " on conflict (offering_id, wallet_address, partition_id) do update set balance = excluded.balance, \
                     synced_block = excluded.synced_block, version = holdings.version + 1, updated_at = excluded.updated_at, \
                     first_acquired_at = excluded.first_acquired_at");
                query.build().execute(conn).await?;
            });
        }
        self.close_tranches(tx).await?;
        self.close_states(tx).await
    }

    async fn close_tranches(&self, tx: &mut Tx) -> Result<()> {
        let offering_id = self.offering_id;
        let rows: Vec<(Place, i64, u128)> =
            self.tranches.iter().flat_map(|(place, all)| all.iter().map(|(at, units)| (*place, *at, *units))).collect();
        for some in rows.chunks(ROWS_PER_STATEMENT) {
            on!(tx, conn => {
                let mut query =
                    sqlx::QueryBuilder::new("insert into tranches (offering_id, wallet_address, partition_id, release_at, quantity) ");
                query.push_values(some, |mut row, ((wallet, partition), release_at, units)| {
                    row.push_bind(offering_id).push_bind(Hex(*wallet)).push_bind(*partition).push_bind(*release_at).push_bind(Dec(*units));
                });
                query.push(
                    " on conflict (offering_id, wallet_address, partition_id, release_at) do update set quantity = excluded.quantity");
                query.build().execute(conn).await?;
            });
        }
        // What moved to another wallet or was cut away; a due tranche stays until its holder's next event and counts for nothing.
        for (wallet, partition) in
            self.tranches.iter().filter(|(_, all)| all.is_empty() || all.values().any(|u| *u == 0)).map(|(p, _)| *p)
        {
            on!(tx, conn => sqlx::query(
                "delete from tranches where offering_id = $1 and wallet_address = $2 and partition_id = $3 and (quantity = '0' or $4)")
                .bind(offering_id).bind(Hex(wallet)).bind(partition).bind(self.tranches[&(wallet, partition)].is_empty())
                .execute(conn).await?.rows_affected());
        }
        Ok(())
    }

    async fn close_states(&self, tx: &mut Tx) -> Result<()> {
        for (wallet, account) in &self.accounts {
            on!(tx, conn => sqlx::query(
                "insert into token_accounts (offering_id, wallet_address, frozen, successor_address, block_number) \
                 values ($1, $2, $3, $4, $5) on conflict (offering_id, wallet_address) do update set frozen = excluded.frozen, \
                 successor_address = excluded.successor_address, block_number = excluded.block_number")
                .bind(self.offering_id).bind(Hex(*wallet)).bind(account.frozen).bind(account.successor.map(Hex)).bind(self.block)
                .execute(conn).await?.rows_affected());
        }
        for (partition, state) in &self.partitions {
            on!(tx, conn => sqlx::query(
                "insert into token_partitions (offering_id, partition_id, restricted, supply, block_number) values ($1, $2, $3, $4, $5) \
                 on conflict (offering_id, partition_id) do update set restricted = excluded.restricted, supply = excluded.supply, \
                 block_number = excluded.block_number")
                .bind(self.offering_id).bind(*partition).bind(state.restricted).bind(Dec(state.supply)).bind(self.block)
                .execute(conn).await?.rows_affected());
        }
        Ok(())
    }
}

/// The partitions of a token that events told of: whether each is restricted, and its supply.
pub async fn partitions(tx: &mut Tx, offering_id: &str) -> Result<Vec<(i64, bool, Dec<u128>)>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, (i64, bool, Dec<u128>)>(
        "select partition_id, restricted, supply from token_partitions where offering_id = $1 order by partition_id")
        .bind(offering_id).fetch_all(conn).await?))
}

/// Ends `… where offering_id =` with the offering and, if any are named, the wallets.
pub(crate) fn among<DB: sqlx::Database>(query: &mut sqlx::QueryBuilder<DB>, offering_id: &str, some: &[Address])
where
    for<'q> String: sqlx::Encode<'q, DB> + sqlx::Type<DB>,
{
    query.push_bind(offering_id.to_owned());
    if some.is_empty() {
        return;
    }
    query.push(" and wallet_address in (");
    let mut list = query.separated(", ");
    for address in some {
        list.push_bind(Hex(*address).to_string());
    }
    query.push(")");
}
