//! The token of an offering.

use alloy_primitives::{Address, B256};
use serde_json::json;

use super::Offering;
use crate::column::Hex;
use crate::db::Tx;
use crate::rows::portions;
use crate::sql::sql;
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

/// The final deployment of a token.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Deployed<'a> {
    /// The offering as it was read.
    pub offering: &'a Offering,
    pub token: Address,
    pub symbol: &'a str,
    pub tx_hash: B256,
    pub block_number: i64,
}

/// Records final deployments of tokens. Only the commit that confirms the deployments calls it.
pub async fn record_deployments(tx: &mut Tx, deployed: &[Deployed<'_>]) -> Result<()> {
    let now = tx.now();
    for portion in portions(tx, deployed) {
        sql("update offerings
            set token_status = 'deployed', token_address = v.column3, token_tx_hash = v.column4,
                token_block_number = v.column5, token_symbol = v.column6, updated_at = v.column7, version = version + 1
            from (")
        .values(portion, |d| {
            (&d.offering.id, d.offering.version, Hex(d.token), Hex(d.tx_hash), d.block_number, d.symbol, now)
        })
        .push(
            ") as v where offerings.id = v.column1 and offerings.version = v.column2
                 and offerings.token_status = 'not_deployed'",
        )
        .write_exactly(tx, portion.len(), "offering", &portion[0].offering.id)
        .await?;
    }
    let events: Vec<event::New> = deployed.iter().map(told).collect();
    event::write_all(tx, &events).await
}

fn told(d: &Deployed<'_>) -> event::New {
    event::New {
        name: "offering.token_deployed".to_owned(),
        subject_type: "offering",
        subject_id: d.offering.id.to_string(),
        sequence: d.offering.version + 1,
        data: json!({ "chain_id": d.offering.chain_id, "contract_address": d.token.to_checksum(None),
            "tx_hash": d.tx_hash.to_string() }),
    }
}
