//! The coins that holders can be paid in, and what their payers allowed our contracts to pull.

use alloy_primitives::Address;

use crate::column::Hex;
use crate::db::Tx;
use crate::{Code, Error, Result, on};

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

/// Notes a coin as the configuration has it now.
pub async fn ensure(tx: &mut Tx, coin: &PayoutToken) -> Result<()> {
    let now = tx.now();
    on!(tx, conn => sqlx::query(
        "insert into payout_tokens (chain_id, address, symbol, decimals, payer, updated_at) values ($1, $2, $3, $4, $5, $6) \
         on conflict (chain_id, address) do update set symbol = excluded.symbol, decimals = excluded.decimals, payer = excluded.payer, \
         updated_at = excluded.updated_at")
        .bind(coin.chain_id).bind(coin.address).bind(&coin.symbol).bind(coin.decimals).bind(coin.payer).bind(now)
        .execute(conn).await?.rows_affected());
    Ok(())
}

/// The coins of a chain.
pub async fn of_chain(tx: &mut Tx, chain_id: i64) -> Result<Vec<PayoutToken>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, PayoutToken>(
        "select chain_id, address, symbol, decimals, payer from payout_tokens where chain_id = $1 order by symbol, address")
        .bind(chain_id).fetch_all(conn).await?))
}

/// The coin that is meant: the named one, or the only one that the chain has.
pub async fn choose(tx: &mut Tx, chain_id: i64, named: Option<Address>) -> Result<PayoutToken> {
    let mut coins = of_chain(tx, chain_id).await?;
    if let Some(address) = named {
        coins.retain(|coin| coin.address.0 == address);
    }
    match (coins.len(), named) {
        (1, _) => Ok(coins.remove(0)),
        (0, Some(address)) => {
            let address = address.to_checksum(None);
            Err(Error::refused(Code::PayoutTokenUnknown, format!("{address} is no payout token of chain {chain_id}.")))
        }
        (0, None) => Err(Error::refused(
            Code::PayoutTokenUnknown,
            format!("No payout token is configured for chain {chain_id}. Add one to payout_tokens of the chain."),
        )),
        _ => Err(Error::refused(Code::PayoutTokenUnknown, "The chain has several payout tokens: name one.")),
    }
}

/// Whether a payer's allowance to a contract of ours is final on the chain.
pub async fn is_allowed(tx: &mut Tx, chain_id: i64, asset: Address, payer: Address, spender: Address) -> Result<bool> {
    Ok(on!(tx, conn => sqlx::query_scalar::<_, bool>(
        "select exists (select 1 from payout_allowances where chain_id = $1 and asset = $2 and payer = $3 and spender = $4)")
        .bind(chain_id).bind(Hex(asset)).bind(Hex(payer)).bind(Hex(spender)).fetch_one(conn).await?))
}

/// Notes that an allowance is final. Called by the commit that confirms it.
pub async fn set_allowed(
    tx: &mut Tx,
    chain_id: i64,
    asset: Address,
    payer: Address,
    spender: Address,
    operation_id: &str,
) -> Result<()> {
    let now = tx.now();
    on!(tx, conn => sqlx::query(
        "insert into payout_allowances (chain_id, asset, payer, spender, operation_id, granted_at) values ($1, $2, $3, $4, $5, $6) \
         on conflict do nothing")
        .bind(chain_id).bind(Hex(asset)).bind(Hex(payer)).bind(Hex(spender)).bind(operation_id).bind(now)
        .execute(conn).await?.rows_affected());
    Ok(())
}
