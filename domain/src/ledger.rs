//! The ledgers of tokens. Each loads the rows of the addresses in some events, applies the events in memory and writes the rows back.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::Address;
use chrono::{DateTime, Utc};

use crate::column::{Dec, Hex};
use crate::db::Tx;
use crate::id::OfferingId;
use crate::rows::portions;
use crate::sql::{Sql, insert_into, sql};
use crate::token_event::{self, Kind, TokenEvent, missing_event};
use crate::{Error, Result};

/// The release time under which the units frozen without end are kept. They overlap the locks.
pub const NEVER: i64 = (1 << 40) - 1;
/// The partition number that stands for the whole token, as in the contract. It has a row once the token was paused; its `restricted`
/// says whether the token is paused now.
pub const WHOLE_TOKEN: i64 = 0;
/// Rows in one statement: SQLite allows 32,766 parameters.
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

/// The loaded ledger of one token.
pub struct Ledger<'a> {
    offering_id: &'a OfferingId,
    block: i64,
    balances: BTreeMap<Place, Balance>,
    /// Locked units by release time.
    tranches: BTreeMap<Place, BTreeMap<i64, u128>>,
    accounts: BTreeMap<Address, Account>,
    partitions: BTreeMap<i64, Partition>,
}

impl<'a> Ledger<'a> {
    /// Loads the rows of all addresses in the events.
    async fn load(
        tx: &mut Tx,
        offering_id: &'a OfferingId,
        events: &[&TokenEvent],
        partitions: BTreeMap<i64, Partition>,
    ) -> Result<Self> {
        let block = events.iter().map(|e| e.block_number).max().unwrap_or_default();
        let named: BTreeSet<Address> =
            events.iter().flat_map(|e| [e.from_address, e.to_address]).flatten().map(|a| a.0).collect();
        let named: Vec<Address> = named.into_iter().collect();
        let mut ledger = Self {
            offering_id,
            block,
            balances: BTreeMap::new(),
            tranches: BTreeMap::new(),
            accounts: BTreeMap::new(),
            partitions,
        };
        for some in named.chunks(ROWS_PER_STATEMENT) {
            ledger.read(tx, some).await?;
        }
        Ok(ledger)
    }

    async fn read(&mut self, tx: &mut Tx, some: &[Address]) -> Result<()> {
        let held =
            sql("select wallet_address, partition_id, balance, first_acquired_at from holdings where offering_id = ");
        let held = among(held, self.offering_id, some);
        for (wallet, partition, units, first_acquired_at) in
            held.rows::<(Hex<Address>, i64, Dec<u128>, Option<DateTime<Utc>>)>(tx).await?
        {
            self.balances.insert((wallet.0, partition), Balance { units: units.0, first_acquired_at });
        }
        let locked =
            sql("select wallet_address, partition_id, release_at, quantity from tranches where offering_id = ");
        let locked = among(locked, self.offering_id, some);
        for (wallet, partition, release_at, units) in locked.rows::<(Hex<Address>, i64, i64, Dec<u128>)>(tx).await? {
            self.tranches.entry((wallet.0, partition)).or_default().insert(release_at, units.0);
        }
        let accounts = sql("select wallet_address, frozen, successor_address from token_accounts where offering_id = ");
        let accounts = among(accounts, self.offering_id, some);
        for (wallet, frozen, successor) in accounts.rows::<(Hex<Address>, bool, Option<Hex<Address>>)>(tx).await? {
            self.accounts.insert(wallet.0, Account { frozen, successor: successor.map(|s| s.0) });
        }
        Ok(())
    }

    /// Applies one event.
    pub fn apply(&mut self, event: &TokenEvent) -> Result<()> {
        let (from, to) = (event.from_address.map(|a| a.0), event.to_address.map(|a| a.0));
        let partition = event.partition_id.unwrap_or(WHOLE_TOKEN);
        let units = event.quantity.map_or(0, |q| q.0);
        match (event.kind, from, to) {
            (Kind::Transfer, from, to) => self.transfer(from, to, partition, units, event.block_at)?,
            (Kind::Lock, Some(holder), _) => {
                let release = event.release_at.unwrap_or(NEVER);
                *self.tranches.entry((holder, partition)).or_default().entry(release).or_default() += units;
            }
            (Kind::ReduceLock, Some(holder), _) => match event.release_at {
                Some(release) => self.release((holder, partition), units, release)?,
                None => self.cut((holder, partition), units, event.block_at.timestamp()),
            },
            (Kind::FreezeUnits, Some(holder), _) => {
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
                let why = format!("{} in block {} names no address", event.kind, event.block_number);
                return Err(Error::Unreadable {
                    what: "an event of the token of",
                    id: self.offering_id.to_string(),
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
            held.units = held.units.checked_sub(units).ok_or_else(|| missing_event(self.offering_id, from))?;
        } else {
            self.partitions.entry(partition).or_default().supply += units;
        }
        if let Some(to) = to {
            let held = self.balances.entry((to, partition)).or_default();
            held.units = held.units.checked_add(units).ok_or_else(|| missing_event(self.offering_id, to))?;
            // The first acquisition counts for holding periods, so it never changes.
            held.first_acquired_at = held.first_acquired_at.or(Some(at));
        } else {
            let supply = &mut self.partitions.entry(partition).or_default().supply;
            *supply = supply.checked_sub(units).ok_or_else(|| missing_event(self.offering_id, Address::ZERO))?;
        }
        Ok(())
    }

    /// The contract first drops expired locks and then cuts the locks with the latest release.
    fn cut(&mut self, place: Place, mut units: u128, now: i64) {
        let tranches = self.tranches.entry(place).or_default();
        for (_, locked) in tranches.range_mut(now + 1..NEVER).rev() {
            let taken = units.min(*locked);
            *locked -= taken;
            units -= taken;
        }
    }

    /// Compliance freed units of one release time, or brought them forward.
    fn release(&mut self, (holder, partition): Place, units: u128, release_at: i64) -> Result<()> {
        let locked = self.tranches.entry((holder, partition)).or_default().entry(release_at).or_default();
        *locked = locked.checked_sub(units).ok_or_else(|| missing_event(self.offering_id, holder))?;
        Ok(())
    }

    /// Balances move by their own transfer events. This event moves the locks and freezes the lost wallet permanently.
    fn recover(&mut self, lost: Address, replacement: Address) {
        // A recovery that was taken back: the wallet stays frozen and keeps nothing but its name.
        if lost == replacement {
            self.accounts.entry(lost).or_default().successor = None;
            return;
        }
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

    /// Writes the rows of the addresses back.
    async fn save(&self, tx: &mut Tx) -> Result<()> {
        let (offering_id, block, now) = (self.offering_id, self.block, tx.now());
        let balances: Vec<_> = self.balances.iter().collect();
        for some in balances.chunks(ROWS_PER_STATEMENT) {
            sql("insert into holdings (offering_id, wallet_address, partition_id, balance, synced_block, version,
                     updated_at, first_acquired_at)")
            .values(some, |((wallet, partition), held)| {
                (offering_id, Hex(*wallet), *partition, Dec(held.units), block, 1_i64, now, held.first_acquired_at)
            })
            .push(
                " on conflict (offering_id, wallet_address, partition_id) do update set balance = excluded.balance,
                     synced_block = excluded.synced_block, version = holdings.version + 1,
                     updated_at = excluded.updated_at, first_acquired_at = excluded.first_acquired_at",
            )
            .write(tx)
            .await?;
        }
        self.save_tranches(tx).await?;
        self.save_accounts(tx).await
    }

    async fn save_tranches(&self, tx: &mut Tx) -> Result<()> {
        let offering_id = self.offering_id;
        let rows: Vec<(Place, i64, u128)> =
            self.tranches.iter().flat_map(|(place, all)| all.iter().map(|(at, units)| (*place, *at, *units))).collect();
        for some in rows.chunks(ROWS_PER_STATEMENT) {
            sql("insert into tranches (offering_id, wallet_address, partition_id, release_at, quantity)")
                .values(some, |((wallet, partition), release_at, units)| {
                    (offering_id, Hex(*wallet), *partition, *release_at, Dec(*units))
                })
                .push(
                    " on conflict (offering_id, wallet_address, partition_id, release_at)
                     do update set quantity = excluded.quantity",
                )
                .write(tx)
                .await?;
        }
        // Delete locks that moved or were cut to zero. An expired lock stays until the next event of its holder and counts for nothing.
        for (wallet, partition) in
            self.tranches.iter().filter(|(_, all)| all.is_empty() || all.values().any(|u| *u == 0)).map(|(p, _)| *p)
        {
            sql("delete from tranches
                 where offering_id = $1 and wallet_address = $2 and partition_id = $3 and (quantity = '0' or $4)")
            .bind((offering_id, Hex(wallet), partition, self.tranches[&(wallet, partition)].is_empty()))
            .write(tx)
            .await?;
        }
        Ok(())
    }

    async fn save_accounts(&self, tx: &mut Tx) -> Result<()> {
        for (wallet, account) in &self.accounts {
            insert_into("token_accounts")
                .set("offering_id", self.offering_id)
                .set("wallet_address", Hex(*wallet))
                .set("frozen", account.frozen)
                .set("successor_address", account.successor.map(Hex))
                .set("block_number", self.block)
                .push(
                    " on conflict (offering_id, wallet_address) do update set frozen = excluded.frozen,
                    successor_address = excluded.successor_address, block_number = excluded.block_number",
                )
                .write(tx)
                .await?;
        }
        Ok(())
    }
}

/// Stores events and applies them to the ledgers, in chain order.
pub(crate) async fn apply(tx: &mut Tx, events: &[TokenEvent]) -> Result<()> {
    for portion in portions(tx, events) {
        token_event::insert(tx, portion).await?;
    }
    let mut by_token: BTreeMap<&OfferingId, Vec<&TokenEvent>> = BTreeMap::new();
    for event in events {
        by_token.entry(&event.offering_id).or_default().push(event);
    }
    // Read and written for all tokens together: a token's first event is often the only one of its block.
    let mut partitions = partitions_of(tx, &by_token.keys().copied().collect::<Vec<_>>()).await?;
    let mut changed = Vec::new();
    for (offering_id, own) in by_token {
        let known = partitions.remove(offering_id).unwrap_or_default();
        let mut ledger = Ledger::load(tx, offering_id, &own, known).await?;
        own.iter().try_for_each(|event| ledger.apply(event))?;
        ledger.save(tx).await?;
        changed.extend(ledger.partitions.into_iter().map(|(id, state)| (offering_id, id, state, ledger.block)));
    }
    save_partitions(tx, &changed).await
}

async fn partitions_of(
    tx: &mut Tx,
    offering_ids: &[&OfferingId],
) -> Result<BTreeMap<OfferingId, BTreeMap<i64, Partition>>> {
    let mut found: BTreeMap<OfferingId, BTreeMap<i64, Partition>> = BTreeMap::new();
    for portion in portions(tx, offering_ids) {
        let rows =
            sql("select offering_id, partition_id, restricted, supply from token_partitions where offering_id in (")
                .list(portion)
                .push(")")
                .rows::<(OfferingId, i64, bool, Dec<u128>)>(tx)
                .await?;
        for (offering_id, id, restricted, supply) in rows {
            found.entry(offering_id).or_default().insert(id, Partition { restricted, supply: supply.0 });
        }
    }
    Ok(found)
}

async fn save_partitions(tx: &mut Tx, changed: &[(&OfferingId, i64, Partition, i64)]) -> Result<()> {
    for portion in portions(tx, changed) {
        sql("insert into token_partitions (offering_id, partition_id, restricted, supply, block_number)")
            .values(portion, |(offering_id, id, state, block)| {
                (*offering_id, *id, state.restricted, Dec(state.supply), *block)
            })
            .push(
                " on conflict (offering_id, partition_id) do update set restricted = excluded.restricted,
                    supply = excluded.supply, block_number = excluded.block_number",
            )
            .write(tx)
            .await?;
    }
    Ok(())
}

/// The partitions of a token, each with its restriction and supply. [`WHOLE_TOKEN`] may be among them.
pub async fn partitions(tx: &mut Tx, offering_id: &OfferingId) -> Result<Vec<(i64, bool, Dec<u128>)>> {
    sql("select partition_id, restricted, supply from token_partitions where offering_id = $1 order by partition_id")
        .bind(offering_id)
        .rows(tx)
        .await
}

/// Appends the offering and, if there are any, the wallets to `… where offering_id =`. The wallets are rows: PostgreSQL would compare each
/// holder of the offering with each element of an array, which took 30 ms for 400 of 5,000 holders.
pub(crate) fn among(query: Sql, offering_id: &OfferingId, some: &[Address]) -> Sql {
    let query = query.value(offering_id);
    if some.is_empty() {
        return query;
    }
    query.push(" and wallet_address in (").values(some, |wallet| Hex(*wallet)).push(")")
}
