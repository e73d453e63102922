//! The nonces of a lane: what we signed with each, and what took it instead.

use chrono::{DateTime, Utc};

use crate::Result;
use crate::column::Hex;
use crate::db::Tx;
use crate::id::{LaneId, OperationId};
use crate::lane::Lane;
use crate::sql::sql;

/// A nonce for which we signed transactions.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Signed {
    /// The nonce.
    pub nonce: i64,
    /// The operation that holds it.
    pub operation_id: OperationId,
    /// The number of transactions with this nonce. At most one of them is ever included.
    pub transactions: i64,
    /// When the first of them was signed.
    pub signed_at: DateTime<Utc>,
    /// When one of them was sent last. None if none was sent.
    pub sent_at: Option<DateTime<Utc>>,
    /// The block that includes one of them.
    pub block_number: Option<i64>,
    /// How many of them are open: none once a final transaction has used the nonce.
    pub open: i64,
}

/// A nonce that a transaction used which is not ours.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Foreign {
    /// The nonce.
    pub nonce: i64,
    /// The transaction.
    pub tx_hash: Hex<alloy_primitives::B256>,
}

/// The lowest nonce of a lane that no final transaction has used. None if all are used.
pub async fn lowest_open(tx: &mut Tx, lane_id: &LaneId) -> Result<Option<i64>> {
    sql("select nonce from attempts where lane_id = $1 and open order by nonce limit 1")
        .bind(lane_id)
        .optional_scalar(tx)
        .await
}

/// The nonces between these two for which we signed, lowest first.
pub async fn signed(tx: &mut Tx, lane_id: &LaneId, between: (i64, i64)) -> Result<Vec<Signed>> {
    sql("select nonce, operation_id, count(*) as transactions, min(signed_at) as signed_at, max(sent_at) as sent_at,
             max(block_number) as block_number, count(case when open then 1 end) as open
         from attempts where lane_id = $1 and nonce between $2 and $3 group by nonce, operation_id order by nonce")
    .bind((lane_id, between.0, between.1))
    .rows(tx)
    .await
}

/// The nonces between these two that foreign transactions used, lowest first.
pub async fn foreign(tx: &mut Tx, lane: &Lane, between: (i64, i64)) -> Result<Vec<Foreign>> {
    sql("select nonce, tx_hash from foreign_transactions
         where chain_id = $1 and signer = $2 and nonce between $3 and $4 order by nonce")
    .bind((lane.chain_id, lane.signer, between.0, between.1))
    .rows(tx)
    .await
}
