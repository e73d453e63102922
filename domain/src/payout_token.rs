//! The coins of payouts, and the allowances of their payers for our contracts.

use alloy_primitives::Address;

use crate::column::Hex;
use crate::db::Tx;
use crate::id::OperationId;
use crate::sql::{insert_into, sql};
use crate::{Code, Error, Result};

/// One row of `payout_tokens`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct PayoutToken {
    pub chain_id: i64,
    pub address: Hex<Address>,
    pub symbol: String,
    pub decimals: i64,
    pub payer: Hex<Address>,
}

/// Stores a coin from the configuration.
pub async fn ensure(tx: &mut Tx, coin: &PayoutToken) -> Result<()> {
    let now = tx.now();
    insert_into("payout_tokens")
        .set("chain_id", coin.chain_id)
        .set("address", coin.address)
        .set("symbol", &coin.symbol)
        .set("decimals", coin.decimals)
        .set("payer", coin.payer)
        .set("updated_at", now)
        .push(
            " on conflict (chain_id, address) do update set symbol = excluded.symbol, decimals = excluded.decimals,
                    payer = excluded.payer, updated_at = excluded.updated_at",
        )
        .execute(tx)
        .await?;
    Ok(())
}

/// The coins of a chain.
pub async fn of_chain(tx: &mut Tx, chain_id: i64) -> Result<Vec<PayoutToken>> {
    sql("select chain_id, address, symbol, decimals, payer from payout_tokens where chain_id = $1
         order by symbol, address")
    .bind(chain_id)
    .rows(tx)
    .await
}

/// The named coin, or the only coin of the chain.
pub async fn choose(tx: &mut Tx, chain_id: i64, named: Option<Address>) -> Result<PayoutToken> {
    let mut coins = of_chain(tx, chain_id).await?;
    if let Some(address) = named {
        coins.retain(|coin| coin.address.0 == address);
    }
    match (coins.len(), named) {
        (1, _) => Ok(coins.remove(0)),
        (0, Some(address)) => {
            let address = address.to_checksum(None);
            Err(Error::refused(
                Code::PayoutTokenUnknown,
                format!("{address} is not a payout token of chain {chain_id}."),
            ))
        }
        (0, None) => Err(Error::refused(
            Code::PayoutTokenUnknown,
            format!("Chain {chain_id} has no payout token. Add one to `payout_tokens` of the chain."),
        )),
        _ => Err(Error::refused(Code::PayoutTokenUnknown, "The chain has several payout tokens. Select one.")),
    }
}

/// Whether a payer's allowance for a contract is final.
pub async fn is_allowed(tx: &mut Tx, chain_id: i64, asset: Address, payer: Address, spender: Address) -> Result<bool> {
    sql("select exists (select 1 from payout_allowances where chain_id = $1 and asset = $2 and payer = $3
             and spender = $4)")
    .bind((chain_id, Hex(asset), Hex(payer), Hex(spender)))
    .scalar(tx)
    .await
}

/// Records a final allowance, in the commit that confirms it.
pub async fn set_allowed(
    tx: &mut Tx,
    chain_id: i64,
    asset: Address,
    payer: Address,
    spender: Address,
    operation_id: &OperationId,
) -> Result<()> {
    let now = tx.now();
    insert_into("payout_allowances")
        .set("chain_id", chain_id)
        .set("asset", Hex(asset))
        .set("payer", Hex(payer))
        .set("spender", Hex(spender))
        .set("operation_id", operation_id)
        .set("granted_at", now)
        .push(" on conflict do nothing")
        .execute(tx)
        .await?;
    Ok(())
}
