//! Acknowledgements: what a person has seen on the chain and said to belong to nothing of the platform.

use alloy_primitives::B256;
use serde_json::json;

use crate::column::Hex;
use crate::db::Tx;
use crate::{Result, event, on};

/// Stands for the whole call where a line is named.
pub const WHOLE_CALL: i64 = -1;

/// Writes one down; saying it again changes nothing.
pub async fn insert(tx: &mut Tx, chain_id: i64, tx_hash: B256, line: i64, actor: &str) -> Result<()> {
    let now = tx.now();
    let rows = on!(tx, conn => sqlx::query(
        "insert into acknowledged_calls (chain_id, tx_hash, line, actor, acknowledged_at) values ($1, $2, $3, $4, $5) \
         on conflict do nothing")
        .bind(chain_id).bind(Hex(tx_hash)).bind(line).bind(actor).bind(now).execute(conn).await?.rows_affected());
    if rows == 0 {
        return Ok(());
    }
    let data = json!({ "tx_hash": tx_hash.to_string(), "line": (line >= 0).then_some(line), "actor": actor });
    event::write(tx, "lane.call_acknowledged", "chain", &chain_id.to_string(), line, data).await
}

/// Everything that was acknowledged on a chain: transaction and line.
pub async fn of_chain(tx: &mut Tx, chain_id: i64) -> Result<Vec<(Hex<B256>, i64)>> {
    Ok(
        on!(tx, conn => sqlx::query_as::<_, (Hex<B256>, i64)>("select tx_hash, line from acknowledged_calls where chain_id = $1")
        .bind(chain_id).fetch_all(conn).await?),
    )
}
