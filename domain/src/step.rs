//! Steps: one contract transaction each.

use std::collections::HashMap;

use alloy_primitives::{Address, B256};
use chrono::{DateTime, Duration, Utc};

use crate::column::Hex;
use crate::db::{Tx, all_touched};
use crate::operation::DAMAGED;
use crate::rows::portions;
use crate::{Result, on};

crate::words! {
    /// How far a step is on the chain. A reorg may take `included` back to `signed`; `final` stays.
    State {
        /// Nothing was signed for it in this cycle.
        Unsigned = "unsigned",
        /// Its bytes are stored and may be on the chain.
        Signed = "signed",
        /// A canonical block holds one of its attempts.
        Included = "included",
        /// The fate of its nonce is final.
        Final = "final",
    }
}

crate::words! {
    /// What became of it.
    Outcome {
        /// Executed, with its effect.
        Success = "success",
        /// Executed and reverted, or without its effect.
        Reverted = "reverted",
        /// Our own cancel took its nonce.
        Cancelled = "cancelled",
        /// A stranger took its nonce.
        Taken = "taken",
    }
}

/// One row of `operation_steps`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Step {
    pub operation_id: String,
    pub position: i64,
    pub name: String,
    pub target: Hex<Address>,
    pub calldata: Vec<u8>,
    pub op_number: Option<i64>,
    pub payload_hash: Option<Hex<B256>>,
    pub state: State,
    pub outcome: Option<Outcome>,
    pub chain_id: i64,
    pub lane_id: Option<String>,
    pub nonce: Option<i64>,
    pub gas_limit: Option<i64>,
    pub tx_hash: Option<Hex<B256>>,
    pub block_number: Option<i64>,
    pub block_hash: Option<Hex<B256>>,
    pub signed_at: Option<DateTime<Utc>>,
    pub final_at: Option<DateTime<Utc>>,
}

/// The steps of an operation, in order.
pub async fn of_operation(tx: &mut Tx, operation_id: &str) -> Result<Vec<Step>> {
    Ok(
        on!(tx, conn => sqlx::query_as::<_, Step>("select * from operation_steps where operation_id = $1 order by position")
        .bind(operation_id).fetch_all(conn).await?),
    )
}

/// The steps of several operations, each's in order.
pub async fn of_operations(tx: &mut Tx, operation_ids: &[&str]) -> Result<Vec<Step>> {
    let mut found = Vec::with_capacity(operation_ids.len());
    for portion in portions(operation_ids) {
        found.extend(on!(tx, conn => {
            let mut query = sqlx::QueryBuilder::new("select * from operation_steps where operation_id in (");
            let mut list = query.separated(", ");
            for id in portion {
                list.push_bind(id);
            }
            query.push(") order by operation_id, position");
            query.build_query_as::<Step>().fetch_all(conn).await?
        }));
    }
    Ok(found)
}

/// Those of these operations that have one step only.
pub async fn singles(tx: &mut Tx, operation_ids: &[&str]) -> Result<Vec<String>> {
    let mut found = Vec::with_capacity(operation_ids.len());
    for portion in portions(operation_ids) {
        found.extend(on!(tx, conn => {
            let mut query = sqlx::QueryBuilder::new("select operation_id from operation_steps where operation_id in (");
            let mut list = query.separated(", ");
            for id in portion {
                list.push_bind(id);
            }
            query.push(") group by operation_id having count(*) = 1");
            query.build_query_scalar::<String>().fetch_all(conn).await?
        }));
    }
    Ok(found)
}

/// Writes what moved, if the step still is where it was read.
pub async fn save(tx: &mut Tx, step: &Step, read: State) -> Result<()> {
    save_all(tx, std::slice::from_ref(step), read).await
}

/// Writes what moved, if all of them still are where they were read.
pub async fn save_all(tx: &mut Tx, steps: &[Step], read: State) -> Result<()> {
    for portion in portions(steps) {
        let rows = on!(tx, conn => {
            let mut query = sqlx::QueryBuilder::new(
                "update operation_steps set state = v.column3, outcome = v.column4, lane_id = v.column5, nonce = v.column6, \
                 gas_limit = v.column7, tx_hash = v.column8, block_number = v.column9, block_hash = v.column10, signed_at = v.column11, \
                 final_at = v.column12 from (");
            query.push_values(portion, |mut row, s| {
                row.push_bind(&s.operation_id).push_bind(s.position).push_bind(s.state).push_bind(s.outcome).push_bind(&s.lane_id)
                    .push_bind(s.nonce).push_bind(s.gas_limit).push_bind(s.tx_hash).push_bind(s.block_number).push_bind(s.block_hash)
                    .push_bind(s.signed_at).push_bind(s.final_at);
            });
            query.push(") as v where operation_steps.operation_id = v.column1 and operation_steps.position = v.column2 and \
                operation_steps.state = ").push_bind(read);
            query.build().execute(conn).await?.rows_affected()
        });
        all_touched(rows, portion.len(), "step of", &portion[0].operation_id)?;
    }
    Ok(())
}

/// How many steps of each lane of a chain are signed and not yet included; a lane without any is left out.
pub async fn in_flight_of_chain(tx: &mut Tx, chain_id: i64) -> Result<HashMap<String, i64>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, (String, i64)>(
        "select s.lane_id, count(*) from operation_steps s join lanes l on l.id = s.lane_id where l.chain_id = $1 and s.state = 'signed' \
         group by s.lane_id")
        .bind(chain_id).fetch_all(conn).await?).into_iter().collect())
}

/// How many steps of a lane are signed and not yet included: what the pools of nodes limit.
pub async fn in_flight(tx: &mut Tx, lane_id: &str) -> Result<i64> {
    Ok(
        on!(tx, conn => sqlx::query_scalar::<_, i64>("select count(*) from operation_steps where lane_id = $1 and state = 'signed'")
        .bind(lane_id).fetch_one(conn).await?),
    )
}

/// The steps of a lane that wait for inclusion, lowest nonce first.
pub async fn signed_of_lane(tx: &mut Tx, lane_id: &str) -> Result<Vec<Step>> {
    Ok(
        on!(tx, conn => sqlx::query_as::<_, Step>("select * from operation_steps where lane_id = $1 and state = 'signed' order by nonce")
        .bind(lane_id).fetch_all(conn).await?),
    )
}

/// Included steps at or below a final block, in chain order: what the finaliser settles. A call of a token waits until the token is read
/// up to it; those of an operation that was set aside for what its rows hold rest for a pause, and take nobody's place.
pub async fn included_up_to(tx: &mut Tx, chain_id: i64, block: i64, pause: Duration, limit: i64) -> Result<Vec<Step>> {
    let now = tx.now();
    Ok(on!(tx, conn => sqlx::query_as::<_, Step>(
        "select * from operation_steps s where chain_id = $1 and state = 'included' and block_number <= $2 and not exists \
         (select 1 from token_places t where t.chain_id = s.chain_id and t.token_address = s.target and t.block_number < s.block_number) \
         and not exists (select 1 from operations o where o.id = s.operation_id and o.blocked_reason like $3 \
         and o.updated_at > $4 and o.updated_at <= $5) order by block_number, lane_id, nonce limit $6")
        .bind(chain_id).bind(block).bind(format!("{DAMAGED}:%")).bind(now - pause).bind(now).bind(limit).fetch_all(conn).await?))
}

/// The operation whose step was taken over from this transaction, which was not signed here.
pub async fn taken_over(tx: &mut Tx, chain_id: i64, tx_hash: B256) -> Result<Option<String>> {
    Ok(on!(tx, conn => sqlx::query_scalar::<_, String>(
        "select operation_id from operation_steps where chain_id = $1 and tx_hash = $2 and nonce is null and tx_hash is not null")
        .bind(chain_id).bind(Hex(tx_hash)).fetch_optional(conn).await?))
}

/// An operation that is not finished and has a step with this very call.
pub async fn wished(tx: &mut Tx, chain_id: i64, target: Address, payload_hash: B256) -> Result<Option<String>> {
    Ok(on!(tx, conn => sqlx::query_scalar::<_, String>(
        "select s.operation_id from operations o join operation_steps s on s.operation_id = o.id \
         where o.status in ('pending', 'submitted', 'failed', 'dead_letter') and o.resolution is null and s.chain_id = $1 \
         and s.target = $2 and s.payload_hash = $3 order by o.id limit 1")
        .bind(chain_id).bind(Hex(target)).bind(Hex(payload_hash)).fetch_optional(conn).await?))
}

/// Whether anything of a chain is signed or included and not yet final.
pub async fn any_under_way(tx: &mut Tx, chain_id: i64) -> Result<bool> {
    Ok(on!(tx, conn => sqlx::query_scalar::<_, bool>(
        "select exists (select 1 from operation_steps where chain_id = $1 and state = 'included') or exists (select 1 from \
         operation_steps s join lanes l on l.id = s.lane_id where l.chain_id = $1 and s.state = 'signed')")
        .bind(chain_id).fetch_one(conn).await?))
}
