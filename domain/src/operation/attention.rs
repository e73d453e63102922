//! What waits for a person, in the order in which it would be taken up again.

use chrono::{DateTime, Utc};

use super::{Kind, Operation, Status};
use crate::db::Tx;
use crate::{Result, on};

/// Which of them.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct Attention {
    /// Failed, dead letters, or both.
    pub status: Option<Status>,
    pub kind: Option<Kind>,
    pub error_code: Option<String>,
    pub offering_id: Option<String>,
    pub created_from: Option<DateTime<Utc>>,
}

const MATCHES: &str = "o.status in ('failed', 'dead_letter') and o.resolution is null and (cast($1 as text) is null or o.status = $1) \
    and (cast($2 as text) is null or o.kind = $2) and (cast($3 as text) is null or o.error_code = $3) \
    and (cast($4 as text) is null or o.offering_id = $4) and (cast($5 as timestamptz) is null or o.created_at >= $5)";

/// How many there are, and the first of them by their nonces: a lower one frees those above it. What has none comes last, oldest first.
pub async fn attention(tx: &mut Tx, a: &Attention, limit: i64) -> Result<(i64, Vec<Operation>)> {
    let (status, kind) = (a.status.map(Status::as_str), a.kind.map(Kind::as_str));
    let count = format!("select count(*) from operations o where {MATCHES}");
    let rows = format!(
        "select o.* from operations o where {MATCHES} order by coalesce((select min(s.nonce) from operation_steps s \
         where s.operation_id = o.id and s.state in ('signed', 'included')), 9223372036854775807), o.id limit $6"
    );
    let matched = on!(tx, conn => sqlx::query_scalar::<_, i64>(sqlx::AssertSqlSafe(count)).bind(status).bind(kind).bind(&a.error_code)
        .bind(&a.offering_id).bind(a.created_from).fetch_one(conn).await?);
    let rows = on!(tx, conn => sqlx::query_as::<_, Operation>(sqlx::AssertSqlSafe(rows)).bind(status).bind(kind).bind(&a.error_code)
        .bind(&a.offering_id).bind(a.created_from).bind(limit).fetch_all(conn).await?);
    Ok((matched, rows))
}
