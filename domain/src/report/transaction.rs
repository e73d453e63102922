//! What the platform did on chains, transaction by transaction.

use alloy_primitives::{Address, B256};
use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::QueryBuilder;
use sqlx::types::Json;

use super::Filter;
use crate::column::Hex;
use crate::db::Tx;
use crate::operation::Kind;
use crate::{Result, id, on};

/// A transaction that had its effect, finally.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Line {
    pub operation_id: String,
    pub kind: Kind,
    pub offering_id: Option<String>,
    pub chain_id: i64,
    pub name: String,
    pub target: Hex<Address>,
    pub tx_hash: Hex<B256>,
    pub block_number: Option<i64>,
    pub confirmed_at: DateTime<Utc>,
    /// None where somebody else sent it.
    pub receipt: Option<Json<Value>>,
}

/// The lines of the next operations after an id, and the last of these; none when all are read. So many operations are looked at, whether they
/// have a line or not: a statement is never longer than a page, in whichever year it is.
pub async fn page(tx: &mut Tx, f: &Filter, after: &str, window: i64) -> Result<(Vec<Line>, Option<String>)> {
    let last = on!(tx, conn => {
        // What was asked for after the year was not done in it.
        let mut query = QueryBuilder::new("select max(id) from (select id from operations where id > ");
        query.push_bind(after.to_owned()).push(" and id <= ").push_bind(id::last_of("op", f.to));
        if let Some(offering_id) = &f.offering_id {
            query.push(" and offering_id = ").push_bind(offering_id.clone());
        }
        query.push(" order by id limit ").push_bind(window).push(") as looked_at");
        query.build_query_scalar::<Option<String>>().fetch_one(conn).await?
    });
    let Some(last) = last else { return Ok((Vec::new(), None)) };
    let lines = on!(tx, conn => sqlx::query_as::<_, Line>(
        "select o.id as operation_id, o.kind, o.offering_id, s.chain_id, s.name, s.target, s.tx_hash, s.block_number, o.confirmed_at, a.receipt \
         from operations o join operation_steps s on s.operation_id = o.id \
         left join attempts a on a.chain_id = s.chain_id and a.tx_hash = s.tx_hash \
         where o.id > $1 and o.id <= $2 and o.status = 'confirmed' and o.confirmed_at >= $3 and o.confirmed_at < $4 \
         and s.outcome = 'success' and s.tx_hash is not null and ($5 = '' or o.offering_id = $5) order by o.id, s.position")
        .bind(after).bind(&last).bind(f.from).bind(f.to).bind(f.offering_id.as_deref().unwrap_or_default())
        .fetch_all(conn).await?);
    Ok((lines, Some(last)))
}
