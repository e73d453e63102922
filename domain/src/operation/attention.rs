//! Operations that wait for an operator, in the order in which they should be resolved.

use chrono::{DateTime, Utc};

use super::{Kind, Operation, Status};
use crate::db::Tx;
use crate::id::{OfferingId, OperationId};
use crate::sql::sql;
use crate::{Result, step};

/// The filter of the list.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct Attention {
    /// Failed or dead letter; none for both.
    pub status: Option<Status>,
    pub kind: Option<Kind>,
    pub error_code: Option<String>,
    pub offering_id: Option<OfferingId>,
    pub created_from: Option<DateTime<Utc>>,
    /// Only these operations; empty for all.
    pub ids: Vec<OperationId>,
}

const MATCHES: &str = "
    from operations o
    where o.status in :attention and o.resolution is null
        and (cast($1 as text) is null or o.status = $1) and (cast($2 as text) is null or o.kind = $2)
        and (cast($3 as text) is null or o.error_code = $3) and (cast($4 as text) is null or o.offering_id = $4)
        and (cast($5 as timestamptz) is null or o.created_at >= $5)";

/// The number of matching operations, and the first of them. Lowest nonces first, because they free the later ones; without nonce last.
pub async fn attention(tx: &mut Tx, a: &Attention, limit: i64) -> Result<(i64, Vec<Operation>)> {
    let matching = |select| {
        let matching = sql(select).push(MATCHES).words(":attention", &Status::ATTENTION);
        let matching = matching.bind((a.status, a.kind, &a.error_code, &a.offering_id, a.created_from));
        match a.ids.as_slice() {
            [] => matching,
            ids => matching.push(" and o.id in (").list(ids).push(")"),
        }
    };
    let matched = matching("select count(*)").scalar(tx).await?;
    let rows = matching("select o.*")
        .push(
            " order by coalesce((select min(s.nonce) from operation_steps s
                where s.operation_id = o.id and s.state in :sent), 9223372036854775807), o.id",
        )
        .with(" limit ", limit)
        .words(":sent", &step::State::SENT)
        .rows(tx)
        .await?;
    Ok((matched, rows))
}
