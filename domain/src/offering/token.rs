//! The token of an offering.

use alloy_primitives::{Address, B256};
use serde_json::json;

use super::find;
use crate::column::Hex;
use crate::db::{Tx, expect_updated};
use crate::sql::update_table;
use crate::{Result, event};

crate::words! {
    /// Whether the token is on the chain.
    TokenStatus {
        /// Not yet, or its deployment is not final.
        NotDeployed = "not_deployed",
        /// Its deployment is final.
        Deployed = "deployed",
    }
}

/// Records the final deployment of the token. Only the commit that confirms the deployment calls it.
pub async fn record_deployment(
    tx: &mut Tx,
    id: &str,
    token: Address,
    symbol: &str,
    tx_hash: B256,
    block_number: i64,
) -> Result<()> {
    let offering = find(tx, id).await?;
    let now = tx.now();
    let rows = update_table("offerings")
        .set("token_status", TokenStatus::Deployed)
        .set("token_address", Hex(token))
        .set("token_tx_hash", Hex(tx_hash))
        .set("token_block_number", block_number)
        .set("token_symbol", symbol)
        .set("updated_at", now)
        .with(", version = version + 1 where id = ", id)
        .with(" and version = ", offering.version)
        .push(" and token_status = 'not_deployed'")
        .execute(tx)
        .await?;
    expect_updated(rows, "offering", id)?;
    let data = json!({ "chain_id": offering.chain_id, "contract_address": token.to_checksum(None), "tx_hash": tx_hash.to_string() });
    event::write(tx, "offering.token_deployed", "offering", id, offering.version + 1, data).await
}
