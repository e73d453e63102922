//! Tokens: what an offering's token was deployed with.

use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::types::Json;

use crate::column::Dec;
use crate::db::Tx;
use crate::offering::Offering;
use crate::{Result, on};

/// One row of `tokens`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Token {
    pub offering_id: String,
    pub name: String,
    pub symbol: String,
    pub supply_units: Dec<u128>,
    pub holder_cap: Option<i64>,
    pub partitions: Json<Value>,
    pub created_at: DateTime<Utc>,
}

/// What a deployment says of its token.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct NewToken<'a> {
    pub offering_id: &'a str,
    pub name: &'a str,
    pub symbol: &'a str,
    pub supply_units: u128,
    pub holder_cap: Option<i64>,
    pub partitions: Value,
}

/// Stores a token. Called by the commit that confirms the deployment, and by nothing else.
pub async fn insert(tx: &mut Tx, t: &NewToken<'_>) -> Result<()> {
    let now = tx.now();
    on!(tx, conn => sqlx::query(
        "insert into tokens (offering_id, name, symbol, supply_units, holder_cap, partitions, created_at) \
         values ($1, $2, $3, $4, $5, $6, $7) on conflict (offering_id) do nothing")
        .bind(t.offering_id).bind(t.name).bind(t.symbol).bind(Dec(t.supply_units)).bind(t.holder_cap).bind(Json(&t.partitions)).bind(now)
        .execute(conn).await?.rows_affected());
    Ok(())
}

/// The token of an offering, once it is deployed.
pub async fn find(tx: &mut Tx, offering_id: &str) -> Result<Option<Token>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Token>("select * from tokens where offering_id = $1")
        .bind(offering_id).fetch_optional(conn).await?))
}

/// How many partitions a token has: they are dense from 1.
pub async fn partitions(tx: &mut Tx, offering: &Offering) -> Result<i64> {
    let listed = find(tx, &offering.id).await?.and_then(|token| token.partitions.as_array().map(Vec::len));
    Ok(listed.and_then(|count| i64::try_from(count).ok()).unwrap_or(offering.partition_id))
}

/// Who holds units of it or will when what is under way is final: investors by their ids, unknown wallets by their addresses.
pub async fn holders(tx: &mut Tx, offering_id: &str) -> Result<Vec<String>> {
    Ok(on!(tx, conn => sqlx::query_scalar::<_, String>(
        "select coalesce(w.investor_id, h.wallet_address) from holdings h left join wallets w on w.address = h.wallet_address \
         and w.verified_at is not null where h.offering_id = $1 and h.balance <> '0' \
         union \
         select coalesce(w.investor_id, i.wallet_address) from operation_items i join operations o on o.id = i.operation_id \
         left join wallets w on w.address = i.wallet_address and w.verified_at is not null where o.offering_id = $1 and o.kind = 'mint' and i.live")
        .bind(offering_id).fetch_all(conn).await?))
}
