//! The cap table of a token at one final block, even if new blocks are applied while it is read.

use std::collections::BTreeMap;

use alloy_primitives::Address;
use chrono::{DateTime, Utc};

use crate::column::{Dec, Hex};
use crate::db::Tx;
use crate::id::{InvestorId, OfferingId};
use crate::sql::sql;
use crate::{Result, token_event};

/// The block of a report, with the supply of each partition.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct BlockState {
    pub block_number: i64,
    pub read_at: DateTime<Utc>,
    pub supplies: BTreeMap<i64, u128>,
}

/// The block up to which the token is read; none if it was not read yet.
pub async fn block_state(tx: &mut Tx, offering_id: &OfferingId) -> Result<Option<BlockState>> {
    // One statement, because block and supply must match.
    let rows = sql("select c.block_number, c.read_at, p.partition_id, p.supply
        from token_places c left join token_partitions p on p.offering_id = c.offering_id
        where c.offering_id = $1")
    .bind(offering_id)
    .rows::<(i64, DateTime<Utc>, Option<i64>, Option<Dec<u128>>)>(tx)
    .await?;
    let supplies = rows.iter().filter_map(|(.., partition, supply)| Some(((*partition)?, (*supply)?.0))).collect();
    Ok(rows.first().map(|(block_number, read_at, ..)| BlockState {
        block_number: *block_number,
        read_at: *read_at,
        supplies,
    }))
}

/// The units of a wallet in a partition.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Line {
    pub wallet_address: Hex<Address>,
    pub partition_id: i64,
    pub balance: Dec<u128>,
    pub synced_block: i64,
    pub frozen: bool,
    pub investor_id: Option<InvestorId>,
    pub legal_name: Option<String>,
    pub country: Option<String>,
}

/// The key of a line, after which the next page begins.
pub type Key = (String, i64);

/// The next lines in the order of wallets, and the key for the next page; none at the end.
pub async fn page(
    tx: &mut Tx,
    offering_id: &OfferingId,
    block: i64,
    after: &Key,
    limit: i64,
) -> Result<(Vec<Line>, Option<Key>)> {
    let mut lines =
        sql("select h.wallet_address, h.partition_id, h.balance, h.synced_block, coalesce(a.frozen, false) as frozen,
            i.id as investor_id, i.legal_name, i.country
        from holdings h
            left join token_accounts a on a.offering_id = h.offering_id and a.wallet_address = h.wallet_address
            left join wallets w on w.address = h.wallet_address and w.verified_at is not null
            left join investors i on i.id = w.investor_id
        where h.offering_id = $1 and (h.balance <> '0' or h.synced_block > $2)
            and (h.wallet_address > $3 or (h.wallet_address = $3 and h.partition_id > $4))
        order by h.wallet_address, h.partition_id limit $5")
        .bind((offering_id, block, &after.0, after.1, limit))
        .rows::<Line>(tx)
        .await?;
    let last = lines.last().map(|line| (line.wallet_address.to_string(), line.partition_id));
    // Lines that changed after the block are taken back to it.
    if lines.iter().any(|line| line.synced_block > block) {
        back(tx, offering_id, block, &mut lines).await?;
        lines.retain(|line| line.balance.0 > 0);
    }
    Ok((lines, last))
}

/// Undoes movements after the block. Later movements than a line's own synced block are not in its balance and must not be undone.
async fn back(tx: &mut Tx, offering_id: &OfferingId, block: i64, lines: &mut [Line]) -> Result<()> {
    type Moved = (i64, i64, Option<Hex<Address>>, Option<Hex<Address>>, Dec<u128>);
    let moved: Vec<Moved> = sql("select block_number, partition_id, from_address, to_address, quantity
        from token_events where offering_id = $1 and kind = 'transfer' and block_number > $2
        order by block_number desc, log_index desc, line desc")
    .bind((offering_id, block))
    .rows(tx)
    .await?;
    for (number, partition_id, from, to, Dec(units)) in moved {
        let known = |line: &&mut Line| line.partition_id == partition_id && line.synced_block >= number;
        for line in lines.iter_mut().filter(known) {
            let wallet = Some(line.wallet_address);
            if from == wallet {
                line.balance.0 += units;
            }
            if to == wallet {
                let missing_event = || token_event::missing_event(offering_id, line.wallet_address.0);
                line.balance.0 = line.balance.0.checked_sub(units).ok_or_else(missing_event)?;
            }
        }
    }
    Ok(())
}
