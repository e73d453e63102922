//! Tokens: the terms with which an offering's token was deployed.

use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::types::Json;

use crate::column::Dec;
use crate::db::Tx;
use crate::id::OfferingId;
use crate::offering::Offering;
use crate::rows::portions;
use crate::sql::sql;
use crate::{Result, ledger};

/// The longest lock that a token accepts, in days: 20 years.
pub const LOCK_DAYS_MAX: i64 = 7_305;

/// One row of `tokens`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Token {
    pub offering_id: OfferingId,
    pub name: String,
    pub symbol: String,
    pub supply_units: Dec<u128>,
    pub holder_cap: Option<i64>,
    pub partitions: Json<Value>,
    pub created_at: DateTime<Utc>,
}

/// The terms of a deployment.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct NewToken<'a> {
    pub offering_id: &'a OfferingId,
    pub name: String,
    pub symbol: String,
    pub supply_units: u128,
    pub holder_cap: Option<i64>,
    pub partitions: Value,
}

/// Stores tokens. Only the commit that confirms the deployments calls it.
pub async fn insert(tx: &mut Tx, tokens: &[NewToken<'_>]) -> Result<()> {
    let now = tx.now();
    for portion in portions(tx, tokens) {
        sql("insert into tokens (offering_id, name, symbol, supply_units, holder_cap, partitions, created_at)")
            .values(portion, |t| {
                (t.offering_id, &t.name, &t.symbol, Dec(t.supply_units), t.holder_cap, Json(&t.partitions), now)
            })
            .push(" on conflict (offering_id) do nothing")
            .write(tx)
            .await?;
    }
    Ok(())
}

/// The token of an offering, once it is deployed.
pub async fn find(tx: &mut Tx, offering_id: &OfferingId) -> Result<Option<Token>> {
    sql("select * from tokens where offering_id = $1").bind(offering_id).optional(tx).await
}

/// What limits a mint now.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub struct MintLimits {
    /// Whether the token is paused.
    pub paused: bool,
    /// The limit of holders.
    pub holder_cap: Option<i64>,
    /// The gas limit of one transaction; none before the first contact with the chain.
    pub gas_cap: Option<i64>,
}

/// What limits a mint of an offering's token now.
pub async fn mint_limits(tx: &mut Tx, offering: &Offering) -> Result<MintLimits> {
    sql("select exists (select 1 from token_partitions
                where offering_id = $1 and partition_id = $2 and restricted) as paused,
            (select holder_cap from tokens where offering_id = $1) as holder_cap,
            (select gas_cap from chains where chain_id = $3) as gas_cap")
    .bind((&offering.id, ledger::WHOLE_TOKEN, offering.chain_id))
    .row(tx)
    .await
}

/// The number of partitions of a token; they are numbered from 1 without gaps.
pub async fn partitions(tx: &mut Tx, offering: &Offering) -> Result<i64> {
    // An offering without a deployed token has the partition of its terms.
    let listed = find(tx, &offering.id).await?.and_then(|token| token.partitions.as_array().map(Vec::len));
    Ok(listed.and_then(|count| i64::try_from(count).ok()).unwrap_or(offering.partition_id))
}

/// Everybody who holds units or will after live mints: investors by id, unknown wallets by address.
pub async fn holders(tx: &mut Tx, offering_id: &OfferingId) -> Result<Vec<String>> {
    sql("select coalesce(w.investor_id, h.wallet_address)
         from holdings h left join wallets w on w.address = h.wallet_address and w.verified_at is not null
         where h.offering_id = $1 and h.balance <> '0'
         union select coalesce(w.investor_id, i.wallet_address)
         from operation_items i join operations o on o.id = i.operation_id
             left join wallets w on w.address = i.wallet_address and w.verified_at is not null
         where o.offering_id = $1 and o.kind = 'mint' and i.live")
    .bind(offering_id)
    .scalars(tx)
    .await
}
