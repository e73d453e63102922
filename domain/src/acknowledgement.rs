//! Acknowledgements: calls on the chain that an operator has reviewed and confirmed as not belonging to the platform.

use alloy_primitives::B256;
use serde_json::json;

use crate::column::Hex;
use crate::db::Tx;
use crate::sql::{insert_into, sql};
use crate::{Result, event};

/// The line number that stands for a whole call.
pub const WHOLE_CALL: i64 = -1;

/// Stores an acknowledgement. Repeating it changes nothing.
pub async fn insert(tx: &mut Tx, chain_id: i64, tx_hash: B256, line: i64, actor: &str) -> Result<()> {
    let now = tx.now();
    let rows = insert_into("acknowledged_calls")
        .set("chain_id", chain_id)
        .set("tx_hash", Hex(tx_hash))
        .set("line", line)
        .set("actor", actor)
        .set("acknowledged_at", now)
        .push(" on conflict do nothing")
        .execute(tx)
        .await?;
    if rows == 0 {
        return Ok(());
    }
    let data = json!({ "tx_hash": tx_hash.to_string(), "line": (line >= 0).then_some(line), "actor": actor });
    event::write(tx, "lane.call_acknowledged", "chain", &chain_id.to_string(), line, data).await
}

/// All acknowledgements of a chain, as transaction and line.
pub async fn of_chain(tx: &mut Tx, chain_id: i64) -> Result<Vec<(Hex<B256>, i64)>> {
    sql("select tx_hash, line from acknowledged_calls where chain_id = $1").bind(chain_id).rows(tx).await
}
