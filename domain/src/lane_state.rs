//! What decides whether a lane signs now.

use crate::Result;
use crate::attempt::{self, SendAnswer};
use crate::chain::Anchor;
use crate::column::Hex;
use crate::db::Tx;
use crate::id::LaneId;
use crate::lane::{self, Lane, Mode};
use crate::rows::portions;
use crate::sql::sql;

const IN_FLIGHT: &str =
    "(select count(*) from operation_steps s where s.lane_id = l.id and s.state = 'signed') as in_flight";
const LOWEST: &str =
    "(select min(nonce) from operation_steps s where s.lane_id = l.id and s.state = 'signed') as lowest";

/// A lane, with what decides whether it signs now.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct LaneState {
    /// The lane.
    #[sqlx(flatten)]
    pub lane: Lane,
    /// The number of its signed steps that are not included yet. The mempools of nodes limit it.
    pub in_flight: i64,
    /// The lowest nonce of these steps.
    pub lowest: Option<i64>,
    /// Whether it waits for funds. More signatures would only lengthen the queue behind the unpaid transaction.
    pub unfunded: bool,
    /// Its chain.
    #[sqlx(flatten)]
    pub anchor: Anchor,
}

impl LaneState {
    /// Whether stored transactions may be sent. In quarantine the chain and the database disagree about the key, and a halted chain may be a
    /// different one.
    pub fn may_send(&self) -> bool {
        self.lane.mode != Mode::Quarantined && self.anchor.halted_reason.is_none()
    }
}

/// The state of the lane with this id.
pub async fn find(tx: &mut Tx, id: &LaneId) -> Result<LaneState> {
    sql("select l.*, ")
        .push(IN_FLIGHT)
        .push(", ")
        .push(LOWEST)
        .push(", exists (select 1 from attempts a where lane_id = l.id and open and block_number is null and ")
        .push(attempt::IS_UNFUNDED)
        // A replacement that was refused says nothing once another transaction of its nonce is included.
        .push(
            " and exists (select 1 from operation_steps s
                    where s.lane_id = a.lane_id and s.nonce = a.nonce and s.state = 'signed')) as unfunded,
                c.halted_reason, c.final_number, c.final_hash
             from lanes l join chains c on c.chain_id = l.chain_id where l.id = $1",
        )
        .bind(id)
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
    let loaded = sql("select l.*, ")
        .push(IN_FLIGHT)
        .push(" from lanes l where l.chain_id = $1 order by l.id")
        .bind(chain_id)
        .rows::<Loaded>(tx)
        .await?;
    Ok(loaded.into_iter().map(|row| (row.lane, row.in_flight)).collect())
}

/// The lanes that wait for funds because of these answers, and did not before.
pub async fn newly_unfunded(tx: &mut Tx, chain_id: i64, answers: &[SendAnswer]) -> Result<Vec<LaneId>> {
    let refused: Vec<_> =
        answers.iter().filter(|a| a.answer.starts_with(attempt::UNFUNDED)).map(|a| Hex(a.tx_hash)).collect();
    let mut lanes = Vec::new();
    for portion in portions(tx, &refused) {
        let of_these = sql("select distinct lane_id from attempts where chain_id = ").value(chain_id);
        let of_these = of_these.push(" and tx_hash in (").list(portion.iter().copied()).push(")");
        for lane_id in of_these.scalars::<LaneId>(tx).await? {
            if !lanes.contains(&lane_id) && !find(tx, &lane_id).await?.unfunded {
                lanes.push(lane_id);
            }
        }
    }
    Ok(lanes)
}
