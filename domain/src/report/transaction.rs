//! Report of the platform's transactions on chains.

use alloy_primitives::{Address, B256};
use chrono::{DateTime, Utc};

use super::Filter;
use crate::Result;
use crate::column::Hex;
use crate::db::Tx;
use crate::id::{OfferingId, OperationId};
use crate::operation::Kind;
use crate::sql::sql;

/// A confirmed transaction.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Line {
    pub operation_id: OperationId,
    pub kind: Kind,
    pub offering_id: Option<OfferingId>,
    pub chain_id: i64,
    pub name: String,
    pub target: Hex<Address>,
    pub tx_hash: Hex<B256>,
    pub block_number: Option<i64>,
    pub confirmed_at: DateTime<Utc>,
    /// As JSON. None for a transaction that somebody else sent.
    pub receipt: Option<String>,
}

/// The lines of the next `window` operations after an id, and the last of their ids; none at the end. Operations without a line count
/// towards the window, so that no statement reads more than one page, whatever the year.
pub async fn page(tx: &mut Tx, f: &Filter, after: &str, window: i64) -> Result<(Vec<Line>, Option<String>)> {
    // An operation that was requested after the year was not carried out in it.
    let last = sql("select max(id) from (select id from operations where id > ")
        .value(after)
        .with(" and id <= ", OperationId::last_of(f.to))
        .with_some(" and offering_id = ", f.offering_id.as_ref())
        .with(" order by id limit ", window)
        .push(") as looked_at")
        .scalar::<Option<String>>(tx)
        .await?;
    let Some(last) = last else { return Ok((Vec::new(), None)) };
    let lines = sql("select o.id as operation_id, o.kind, o.offering_id, s.chain_id, s.name, s.target, s.tx_hash,
            s.block_number, o.confirmed_at, coalesce(cast(a.receipt as text), a.receipt_text) as receipt
        from operations o join operation_steps s on s.operation_id = o.id
            left join attempts a on a.chain_id = s.chain_id and a.tx_hash = s.tx_hash
        where o.id > $1 and o.id <= $2 and o.status = 'confirmed' and o.confirmed_at >= $3 and o.confirmed_at < $4
            and s.outcome = 'success' and s.tx_hash is not null and ($5 = '' or o.offering_id = $5)
        order by o.id, s.position")
    .bind((after, &last, f.from, f.to, f.offering_id.as_deref().unwrap_or_default()))
    .rows::<Line>(tx)
    .await?;
    Ok((lines, Some(last)))
}
