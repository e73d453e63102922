//! The token that stands for an offering.

use alloy_primitives::{Address, B256};
use serde_json::json;

use super::find;
use crate::column::Hex;
use crate::db::{Tx, touched};
use crate::{Result, event, on};

/// The token is deployed and final. Called by the commit that confirms the deployment, and by nothing else.
pub async fn set_deployed(
    tx: &mut Tx,
    id: &str,
    token: Address,
    symbol: &str,
    tx_hash: B256,
    block_number: i64,
) -> Result<()> {
    let offering = find(tx, id).await?;
    let now = tx.now();
    let rows = on!(tx, conn => sqlx::query(
        "update offerings set token_status = 'deployed', token_address = $3, token_tx_hash = $4, token_block_number = $5, \
         token_symbol = $7, version = version + 1, updated_at = $6 where id = $1 and version = $2 and token_status = 'not_deployed'")
        .bind(id).bind(offering.version).bind(Hex(token)).bind(Hex(tx_hash)).bind(block_number).bind(now)
        .bind(symbol).execute(conn).await?.rows_affected());
    touched(rows, "offering", id)?;
    let data = json!({ "chain_id": offering.chain_id, "contract_address": token.to_checksum(None), "tx_hash": tx_hash.to_string() });
    event::write(tx, "offering.token_deployed", "offering", id, offering.version + 1, data).await
}
