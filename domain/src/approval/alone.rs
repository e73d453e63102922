//! What a lone admin asked for that takes two: he may allow it himself after a day, unless another admin was there meanwhile.

use super::Approval;
use crate::db::Tx;
use crate::{Result, on};

/// Another admin is there: what a lone one asked for needs two again, also when the other one leaves.
pub async fn end_alone(tx: &mut Tx) -> Result<()> {
    on!(tx, conn => sqlx::query("update approvals set alone_from = null where alone_from is not null")
        .execute(conn).await?.rows_affected());
    Ok(())
}

/// Uses the right up; false if its time has not come, or it has ended.
pub async fn take_alone(tx: &mut Tx, a: &mut Approval) -> Result<bool> {
    let now = tx.now();
    let rows = on!(tx, conn => sqlx::query("update approvals set alone_from = null where id = $1 and version = $2 and alone_from <= $3")
        .bind(&a.id).bind(a.version).bind(now).execute(conn).await?.rows_affected());
    a.alone_from = None;
    Ok(rows == 1)
}
