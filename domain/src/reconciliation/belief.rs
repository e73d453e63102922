//! The database's state of a token at one final block, which a reconciliation compares with the chain.

use std::collections::BTreeSet;

use alloy_primitives::{Address, B256};

use crate::column::{Dec, Hex};
use crate::db::Tx;
use crate::holding::{self, Holding};
use crate::id::OperationId;
use crate::offering::Offering;
use crate::operation::{Resolution, Status};
use crate::sql::sql;
use crate::step::Outcome;
use crate::{Result, ledger, token, token_event, token_read};

/// The state of a token in the ledger.
#[derive(Clone, Debug)]
pub struct TokenState {
    /// The final block up to which the token is read.
    pub block_number: i64,
    /// Whether it is a past block. For such a block only the holdings are known, not freezes and locks.
    pub past: bool,
    /// The partitions of the token.
    pub partitions: Vec<u32>,
    /// The holdings.
    pub holdings: Vec<Holding>,
    /// The frozen addresses.
    pub frozen: BTreeSet<Address>,
    /// The restricted partitions.
    pub restricted: BTreeSet<u32>,
    /// Whether the token is paused.
    pub paused: bool,
}

/// The state of a token, now or at a past block; none if the token is not read up to it yet.
pub async fn of_token(tx: &mut Tx, offering: &Offering, at: Option<i64>) -> Result<Option<TokenState>> {
    let Some(cursor) = token_read::cursor(tx, &offering.id).await? else { return Ok(None) };
    if cursor.block_number < cursor.made_in.max(at.unwrap_or_default()) {
        return Ok(None);
    }
    let last = token::partitions(tx, offering).await?;
    let partitions = (1..=u32::try_from(last).unwrap_or(1)).collect();
    if let Some(block_number) = at {
        let holdings = held_at(tx, offering, last, block_number).await?;
        let (frozen, restricted) = (BTreeSet::new(), BTreeSet::new());
        let paused = false;
        return Ok(Some(TokenState { block_number, past: true, partitions, holdings, frozen, restricted, paused }));
    }
    let holdings = holding::of_offering(tx, &offering.id).await?;
    let frozen = holding::frozen(tx, &offering.id).await?;
    let known = ledger::partitions(tx, &offering.id).await?;
    let restricted = known.into_iter().filter(|(_, restricted, _)| *restricted);
    let mut restricted: BTreeSet<u32> = restricted.filter_map(|(id, ..)| u32::try_from(id).ok()).collect();
    let paused = restricted.remove(&0);
    let block_number = cursor.block_number;
    Ok(Some(TokenState { block_number, past: false, partitions, holdings, frozen, restricted, paused }))
}

/// The holdings at the end of a block, computed from the token's events.
async fn held_at(tx: &mut Tx, offering: &Offering, last: i64, block_number: i64) -> Result<Vec<Holding>> {
    let (mut held, now) = (Vec::new(), tx.now());
    for partition_id in 1..=last {
        for (wallet, balance) in token_event::balances_at(tx, &offering.id, partition_id, block_number).await? {
            held.push(Holding {
                offering_id: offering.id.clone(),
                wallet_address: Hex(wallet),
                partition_id,
                balance: Dec(balance),
                locked: Dec(0),
                synced_block: block_number,
                first_acquired_at: None,
                version: 0,
                updated_at: now,
            });
        }
    }
    Ok(held)
}

/// A step with an operation number, as the database knows it.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct KnownStep {
    pub operation_id: OperationId,
    pub op_number: i64,
    /// The function that it calls, from which its kind follows.
    pub selector: Vec<u8>,
    pub payload_hash: Option<Hex<B256>>,
    pub outcome: Option<Outcome>,
    pub block_number: Option<i64>,
    pub status: Status,
    pub resolution: Option<Resolution>,
}

impl KnownStep {
    /// Whether the database has it as executed.
    pub fn is_done(&self) -> bool {
        self.outcome == Some(Outcome::Success)
    }

    /// Whether the engine still works on it.
    pub const fn is_live(&self) -> bool {
        self.status.is_live()
    }
}

/// All steps with operation numbers on a token.
pub async fn steps_of_token(tx: &mut Tx, offering: &Offering) -> Result<Vec<KnownStep>> {
    sql("select s.operation_id, s.op_number, substr(s.calldata, 1, 4) as selector, s.payload_hash, s.outcome, s.block_number,
             o.status, o.resolution
         from operations o join operation_steps s on s.operation_id = o.id
         where o.offering_id = $1 and s.op_number is not null and s.target = $2
         order by s.op_number")
    .bind((&offering.id, offering.token_address))
    .rows(tx)
    .await
}
