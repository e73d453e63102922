//! Steps: each is one contract transaction of an operation.

use std::collections::HashMap;

use alloy_primitives::{Address, B256};
use chrono::{DateTime, Duration, Utc};

use crate::column::Hex;
use crate::db::Tx;
use crate::id::{LaneId, OperationId};
use crate::rows::portions;
use crate::sql::sql;
use crate::{Result, attempt};

/// Prefix of the blocked reason of an operation with a final effect whose rows cannot be read.
pub const UNREADABLE: &str = "damaged_row";

crate::words! {
    /// The state of a step on the chain. A reorganisation can take `included` back to `signed`; `final` never changes.
    State {
        /// Not signed in this cycle.
        Unsigned = "unsigned",
        /// Signed bytes are stored and can be on the chain.
        Signed = "signed",
        /// A canonical block contains one of its attempts.
        Included = "included",
        /// The outcome of its nonce is final.
        Final = "final",
    }
}

impl State {
    /// The states in which its transaction is with the chain and not final.
    pub const SENT: [Self; 2] = [Self::Signed, Self::Included];
}

crate::words! {
    /// The final outcome of a step.
    Outcome {
        /// Executed with its effect.
        Success = "success",
        /// Reverted, or executed without its effect.
        Reverted = "reverted",
        /// Our own cancel took the nonce.
        Cancelled = "cancelled",
        /// A foreign transaction took the nonce.
        Foreign = "taken",
    }
}

/// One row of `operation_steps`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Step {
    pub operation_id: OperationId,
    pub position: i64,
    pub name: String,
    pub target: Hex<Address>,
    pub calldata: Vec<u8>,
    pub op_number: Option<i64>,
    pub payload_hash: Option<Hex<B256>>,
    pub state: State,
    pub outcome: Option<Outcome>,
    pub chain_id: i64,
    pub lane_id: Option<LaneId>,
    pub nonce: Option<i64>,
    pub gas_limit: Option<i64>,
    pub tx_hash: Option<Hex<B256>>,
    pub block_number: Option<i64>,
    pub block_hash: Option<Hex<B256>>,
    pub signed_at: Option<DateTime<Utc>>,
    pub final_at: Option<DateTime<Utc>>,
}

/// The steps of an operation, in order.
pub async fn of_operation(tx: &mut Tx, operation_id: &OperationId) -> Result<Vec<Step>> {
    sql("select * from operation_steps where operation_id = $1 order by position").bind(operation_id).rows(tx).await
}

/// The steps of several operations, in order within each operation.
pub async fn of_operations(tx: &mut Tx, operation_ids: &[&OperationId]) -> Result<Vec<Step>> {
    let mut found = Vec::with_capacity(operation_ids.len());
    for portion in portions(tx, operation_ids) {
        found.extend(
            sql("select * from operation_steps where operation_id in (")
                .list(portion)
                .push(") order by operation_id, position")
                .rows::<Step>(tx)
                .await?,
        );
    }
    Ok(found)
}

/// A signed transaction, with one step of its operation.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Sent {
    pub sent_hash: Hex<B256>,
    pub sent_kind: attempt::Kind,
    pub sent_position: i64,
    pub sent_lane: LaneId,
    pub sent_nonce: i64,
    #[sqlx(flatten)]
    pub step: Step,
}

impl Sent {
    /// Whether the transaction is that of this step, and the step waits for it. An attempt of an earlier cycle cannot be here: its nonce was
    /// final before the new cycle started.
    pub fn is_awaited(&self) -> bool {
        let step = &self.step;
        step.position == self.sent_position
            && step.state == State::Signed
            && step.nonce == Some(self.sent_nonce)
            && step.lane_id.as_ref() == Some(&self.sent_lane)
    }
}

/// The attempts among these transactions, each with every step of its operation.
pub async fn sent(tx: &mut Tx, chain_id: i64, hashes: &[B256]) -> Result<Vec<Sent>> {
    let mut found = Vec::with_capacity(hashes.len());
    for portion in portions(tx, hashes) {
        found.extend(
            sql("select a.tx_hash as sent_hash, a.kind as sent_kind, a.position as sent_position, a.lane_id as sent_lane,
                     a.nonce as sent_nonce, s.*
                 from attempts a join operation_steps s on s.operation_id = a.operation_id where a.chain_id = ")
            .value(chain_id)
            .push(" and a.tx_hash in (")
            .list(portion.iter().map(|hash| Hex(*hash)))
            .push(")")
            .rows::<Sent>(tx)
            .await?,
        );
    }
    Ok(found)
}

/// The operations among these that have exactly one step.
pub async fn singles(tx: &mut Tx, operation_ids: &[&OperationId]) -> Result<Vec<OperationId>> {
    let mut found = Vec::with_capacity(operation_ids.len());
    for portion in portions(tx, operation_ids) {
        found.extend(
            sql("select operation_id from operation_steps where operation_id in (")
                .list(portion)
                .push(") group by operation_id having count(*) = 1")
                .scalars::<OperationId>(tx)
                .await?,
        );
    }
    Ok(found)
}

/// Writes the changed columns if the step is still in the state that was read.
pub async fn save(tx: &mut Tx, step: &Step, read: State) -> Result<()> {
    save_all(tx, std::slice::from_ref(step), read).await
}

/// Writes the changed columns if all steps are still in the state that was read.
pub async fn save_all(tx: &mut Tx, steps: &[Step], read: State) -> Result<()> {
    for portion in portions(tx, steps) {
        sql("update operation_steps
            set state = v.column3, outcome = v.column4, lane_id = v.column5, nonce = v.column6,
                gas_limit = v.column7, tx_hash = v.column8, block_number = v.column9, block_hash = v.column10,
                signed_at = v.column11, final_at = v.column12
            from (")
        .values(portion, |s| {
            (
                &s.operation_id,
                s.position,
                s.state,
                s.outcome,
                &s.lane_id,
                s.nonce,
                s.gas_limit,
                s.tx_hash,
                s.block_number,
                s.block_hash,
                s.signed_at,
                s.final_at,
            )
        })
        .push(
            ") as v where operation_steps.operation_id = v.column1 and operation_steps.position = v.column2
                and operation_steps.state in :read",
        )
        // As text: indexes hold one state each, and SQLite would plan the statement again for each value.
        .words(":read", &[read])
        .write_exactly(tx, portion.len(), "step of", &portion[0].operation_id)
        .await?;
    }
    Ok(())
}

/// Takes back an inclusion in a block that is not part of the chain. Its nonce is explained anew; an adopted step has none, so its operation
/// is woken.
pub async fn withdraw_inclusion(tx: &mut Tx, step: &Step) -> Result<()> {
    let now = tx.now();
    let state = if step.nonce.is_some() { State::Signed } else { State::Unsigned };
    sql("update attempts set block_number = null, block_hash = null, receipt = null, receipt_text = null where chain_id = $1 and tx_hash = $2")
        .bind((step.chain_id, step.tx_hash))
        .execute(tx)
        .await?;
    if state == State::Unsigned {
        sql("update operations set next_action_at = $2 where id = $1 and status = 'submitted'")
            .bind((&step.operation_id, now))
            .execute(tx)
            .await?;
    }
    let back = Step { state, tx_hash: None, block_number: None, block_hash: None, ..step.clone() };
    save(tx, &back, State::Included).await
}

/// Locks a step until the commit, so that a new attempt is not stored beside the verdict on its nonce.
pub async fn lock_row(tx: &mut Tx, operation_id: &OperationId, position: i64) -> Result<()> {
    sql("update operation_steps set state = state where operation_id = $1 and position = $2")
        .bind((operation_id, position))
        .execute(tx)
        .await?;
    Ok(())
}

/// The number of signed steps that are not included yet, for each lane of a chain. Lanes without such steps are left out.
pub async fn in_flight_of_chain(tx: &mut Tx, chain_id: i64) -> Result<HashMap<LaneId, i64>> {
    Ok(sql("select s.lane_id, count(*) from operation_steps s join lanes l on l.id = s.lane_id
        where l.chain_id = $1 and s.state = 'signed' group by s.lane_id")
    .bind(chain_id)
    .rows::<(LaneId, i64)>(tx)
    .await?
    .into_iter()
    .collect())
}

/// The number of signed steps of a lane that are not included yet. The mempools of nodes limit it.
pub async fn in_flight(tx: &mut Tx, lane_id: &LaneId) -> Result<i64> {
    sql("select count(*) from operation_steps where lane_id = $1 and state = 'signed'").bind(lane_id).scalar(tx).await
}

/// The signed steps of a lane that are not included yet, lowest nonce first.
pub async fn signed_of_lane(tx: &mut Tx, lane_id: &LaneId) -> Result<Vec<Step>> {
    sql("select * from operation_steps where lane_id = $1 and state = 'signed' order by nonce")
        .bind(lane_id)
        .rows(tx)
        .await
}

/// The one of them with the lowest nonce.
pub async fn lowest_signed_of_lane(tx: &mut Tx, lane_id: &LaneId) -> Result<Option<Step>> {
    sql("select * from operation_steps where lane_id = $1 and state = 'signed' order by nonce limit 1")
        .bind(lane_id)
        .optional(tx)
        .await
}

/// Included steps up to a final block, in chain order, for the finaliser. A step on a token waits until the token is read up to its block.
/// The commit that settles the steps may itself read all tokens up to a block. Steps of an operation with unreadable rows pause, so that they
/// take no place from others.
pub async fn included_up_to(
    tx: &mut Tx,
    chain_id: i64,
    (block, read_up_to): (i64, Option<i64>),
    pause: Duration,
    limit: i64,
) -> Result<Vec<Step>> {
    let now = tx.now();
    sql("select * from operation_steps s
         where chain_id = $1 and state = 'included' and block_number <= $2
             and (block_number <= $3 or not exists (
                 select 1 from token_places t
                 where t.chain_id = s.chain_id and t.token_address = s.target and t.block_number < s.block_number))
             and not exists (
                 select 1 from operations o
                 where o.id = s.operation_id and o.blocked_reason like $4 and o.updated_at > $5 and o.updated_at <= $6)
         order by block_number, lane_id, nonce limit $7")
    .bind((chain_id, block, read_up_to, format!("{UNREADABLE}:%"), now - pause, now, limit))
    .rows(tx)
    .await
}

/// The steps that adopted a transaction above a block, which is not final yet.
pub async fn adopted_above(tx: &mut Tx, chain_id: i64, block: i64) -> Result<Vec<Step>> {
    sql("select * from operation_steps
         where chain_id = $1 and block_number > $2 and state = 'included' and nonce is null order by operation_id, position")
    .bind((chain_id, block))
    .rows(tx)
    .await
}

/// The operation that adopted this transaction, which was not signed here.
pub async fn adopted_by(tx: &mut Tx, chain_id: i64, tx_hash: B256) -> Result<Option<OperationId>> {
    sql("select operation_id from operation_steps
         where chain_id = $1 and tx_hash = $2 and nonce is null and tx_hash is not null")
    .bind((chain_id, Hex(tx_hash)))
    .optional_scalar(tx)
    .await
}

/// Whether a step of a chain is signed or included and not final yet.
pub async fn any_unfinished(tx: &mut Tx, chain_id: i64) -> Result<bool> {
    sql("select
             exists (select 1 from operation_steps where chain_id = $1 and state = 'included')
             or exists (
                 select 1 from operation_steps s join lanes l on l.id = s.lane_id
                 where l.chain_id = $1 and s.state = 'signed')")
    .bind(chain_id)
    .scalar(tx)
    .await
}
