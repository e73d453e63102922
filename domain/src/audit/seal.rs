//! Sealing: the leader of the sweep puts lines into an order and chains them, long after those who wrote them went on.

use super::{BEGINNING, Line};
use crate::db::{Tx, all_touched};
use crate::rows::portions;
use crate::{Result, on};

/// Position and hash of the newest seal.
pub async fn head(tx: &mut Tx) -> Result<Option<(i64, String)>> {
    Ok(
        on!(tx, conn => sqlx::query_as::<_, (i64, String)>("select position, hash from audit_seals order by position desc limit 1")
        .fetch_optional(conn).await?),
    )
}

/// Seals up to so many lines that have no seal, in the order of their ids; how many it were. Of two at once, the second is stale.
pub async fn seal(tx: &mut Tx, limit: i64) -> Result<usize> {
    let lines = on!(tx, conn => sqlx::query_as::<_, Line>(
        "select a.* from audit_unsealed u join audit_log a on a.id = u.audit_id order by a.id limit $1")
        .bind(limit).fetch_all(conn).await?);
    let Some(first) = lines.first() else { return Ok(0) };
    let (mut position, mut hash) = head(tx).await?.unwrap_or_else(|| (0, BEGINNING.to_owned()));
    let mut seals = Vec::with_capacity(lines.len());
    for line in &lines {
        let next = line.hash_after(&hash);
        position += 1;
        seals.push((position, &line.id, std::mem::replace(&mut hash, next.clone()), next));
    }
    let (mut sealed, mut taken) = (0, 0);
    for portion in portions(&seals) {
        sealed += on!(tx, conn => {
            let mut query = sqlx::QueryBuilder::new("insert into audit_seals (position, audit_id, prev_hash, hash) ");
            query.push_values(portion, |mut row, (position, id, previous, hash)| {
                row.push_bind(position).push_bind(*id).push_bind(previous).push_bind(hash);
            });
            query.push(" on conflict do nothing");
            query.build().execute(conn).await?.rows_affected()
        });
        taken += on!(tx, conn => {
            let mut query = sqlx::QueryBuilder::new("delete from audit_unsealed where audit_id in (");
            let mut ids = query.separated(", ");
            for (_, id, ..) in portion {
                ids.push_bind(*id);
            }
            query.push(")");
            query.build().execute(conn).await?.rows_affected()
        });
    }
    all_touched(sealed, seals.len(), "audit seal", &first.id)?;
    all_touched(taken, seals.len(), "audit line", &first.id)?;
    Ok(seals.len())
}
