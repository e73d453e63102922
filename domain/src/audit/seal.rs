//! Chains audit entries. The leader of the sweep does it later, because a chain in every commit would make all writers wait for each other.

use super::{BEGINNING, Entry};
use crate::Result;
use crate::db::{Tx, expect_all_updated};
use crate::rows::portions;
use crate::sql::sql;

/// Position and hash of the newest chained entry.
pub async fn head(tx: &mut Tx) -> Result<Option<(i64, String)>> {
    sql("select position, hash from audit_seals order by position desc limit 1").optional(tx).await
}

/// The hash at a position.
pub async fn hash_at(tx: &mut Tx, position: i64) -> Result<Option<String>> {
    sql("select hash from audit_seals where position = $1").bind(position).optional_scalar(tx).await
}

/// Chains up to `limit` entries in the order of their ids and returns their number. If two processes do it at once, the second is stale.
pub async fn chain_entries(tx: &mut Tx, limit: i64) -> Result<usize> {
    // A cross join keeps its order on SQLite: what is not sealed is little, and the log is long.
    let lines = sql(
        "select a.* from audit_unsealed u cross join audit_log a where a.id = u.audit_id order by u.audit_id limit $1",
    )
    .bind(limit)
    .rows::<Entry>(tx)
    .await?;
    let Some(first) = lines.first() else { return Ok(0) };
    let (mut position, mut hash) = head(tx).await?.unwrap_or_else(|| (0, BEGINNING.to_owned()));
    let mut seals = Vec::with_capacity(lines.len());
    for line in &lines {
        let next = line.hash_after(&hash);
        position += 1;
        seals.push((position, &line.id, std::mem::replace(&mut hash, next.clone()), next));
    }
    let (mut sealed, mut taken) = (0, 0);
    for portion in portions(tx, &seals) {
        sealed += sql("insert into audit_seals (position, audit_id, prev_hash, hash)")
            .values(portion, |(position, id, previous, hash)| (position, *id, previous, hash))
            .push(" on conflict do nothing")
            .execute(tx)
            .await?;
        taken += sql("delete from audit_unsealed where audit_id in (")
            .list(portion.iter().map(|(_, id, ..)| *id))
            .push(")")
            .execute(tx)
            .await?;
    }
    // If another process chained the same entries, the counts differ and this transaction is stale.
    expect_all_updated(sealed, seals.len(), "audit seal", &first.id)?;
    expect_all_updated(taken, seals.len(), "audit line", &first.id)?;
    Ok(seals.len())
}
