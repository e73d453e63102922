//! Actions of a lone admin that normally take two admins. After a day without another admin, the requester may approve them alone.

use super::Approval;
use crate::Result;
use crate::db::Tx;
use crate::sql::sql;

/// Ends the right to approve alone: another admin exists now, and it stays ended if that admin leaves again.
pub async fn clear_alone(tx: &mut Tx) -> Result<()> {
    sql("update approvals set alone_from = null where alone_from is not null").execute(tx).await?;
    Ok(())
}

/// Uses the right to approve alone. False if its time has not come or the right has ended.
pub async fn use_alone(tx: &mut Tx, a: &mut Approval) -> Result<bool> {
    let now = tx.now();
    let rows = sql("update approvals set alone_from = null where id = $1 and version = $2 and alone_from <= $3")
        .bind((&a.id, a.version, now))
        .execute(tx)
        .await?;
    a.alone_from = None;
    Ok(rows == 1)
}
