//! What decides whether a lane signs now.

use crate::chain::Anchor;
use crate::db::Tx;
use crate::id::LaneId;
use crate::lane::{self, Lane};
use crate::sql::sql;
use crate::{Result, attempt};

/// A lane, with what decides whether it signs now.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct LaneState {
    /// The lane.
    #[sqlx(flatten)]
    pub lane: Lane,
    /// The number of its signed steps that are not included yet. The mempools of nodes limit it.
    pub in_flight: i64,
    /// Whether it waits for funds. More signatures would only lengthen the queue behind the unpaid transaction.
    pub unfunded: bool,
    /// Its chain.
    #[sqlx(flatten)]
    pub anchor: Anchor,
}

/// The state of the lane with this id.
pub async fn find(tx: &mut Tx, id: &LaneId) -> Result<LaneState> {
    sql("select l.*, (select count(*) from operation_steps s where s.lane_id = l.id and s.state = 'signed') as in_flight,
             exists (select 1 from attempts a
                 where a.lane_id = l.id and a.open and a.block_number is null and a.last_answer like $2) as unfunded,
             c.halted_reason, c.final_number, c.final_hash
         from lanes l join chains c on c.chain_id = l.chain_id where l.id = $1")
    .bind((id, attempt::unfunded_answers()))
    .optional(tx)
    .await?
    .ok_or_else(|| lane::not_found(id))
}

/// The lanes of a chain, each with the number of its signed steps that are not included yet.
pub async fn loads_of_chain(tx: &mut Tx, chain_id: i64) -> Result<Vec<(Lane, i64)>> {
    #[derive(sqlx::FromRow)]
    struct Loaded {
        #[sqlx(flatten)]
        lane: Lane,
        in_flight: i64,
    }
    let loaded = sql("select l.*, (select count(*) from operation_steps s where s.lane_id = l.id and s.state = 'signed') as in_flight
         from lanes l where l.chain_id = $1 order by l.id")
    .bind(chain_id)
    .rows::<Loaded>(tx)
    .await?;
    Ok(loaded.into_iter().map(|row| (row.lane, row.in_flight)).collect())
}
