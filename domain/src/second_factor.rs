//! Second factors: the encrypted secret of six-digit codes, and recovery codes.

use chrono::{DateTime, Utc};

use crate::db::{Tx, expect_updated};
use crate::id::UserId;
use crate::sql::sql;
use crate::{Result, event};

/// One row of `second_factors`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct SecondFactor {
    pub user_id: UserId,
    pub secret_sealed: String,
    /// When the user confirmed it with a code; an unconfirmed factor is not required at login.
    pub confirmed_at: Option<DateTime<Utc>>,
    pub last_step: i64,
    pub created_at: DateTime<Utc>,
}

/// The second factor of a user.
pub async fn find(tx: &mut Tx, user_id: &UserId) -> Result<Option<SecondFactor>> {
    sql("select * from second_factors where user_id = $1").bind(user_id).optional(tx).await
}

/// The second factors of all users.
pub async fn all(tx: &mut Tx) -> Result<Vec<SecondFactor>> {
    sql("select * from second_factors order by user_id").rows(tx).await
}

/// Stores an unconfirmed secret. A confirmed one is not replaced.
pub async fn enrol(tx: &mut Tx, user_id: &UserId, sealed: &str) -> Result<()> {
    let now = tx.now();
    let rows = sql("insert into second_factors (user_id, secret_sealed, last_step, created_at)
        values ($1, $2, 0, $3)
        on conflict (user_id) do update set secret_sealed = excluded.secret_sealed, created_at = excluded.created_at
        where second_factors.confirmed_at is null")
    .bind((user_id, sealed, now))
    .execute(tx)
    .await?;
    expect_updated(rows, "second factor of", user_id)
}

/// Uses the code of a time step. The same or an earlier step is stale, so that a code works once.
pub async fn take_step(tx: &mut Tx, user_id: &UserId, step: i64) -> Result<()> {
    let rows = sql("update second_factors set last_step = $2 where user_id = $1 and last_step < $2")
        .bind((user_id, step))
        .execute(tx)
        .await?;
    expect_updated(rows, "second factor of", user_id)
}

/// Confirms this secret, unless it was replaced since. From now on a code is required at login.
pub async fn confirm(tx: &mut Tx, factor: &SecondFactor) -> Result<()> {
    let (now, user_id) = (tx.now(), &factor.user_id);
    let rows = sql("update second_factors set confirmed_at = $3
        where user_id = $1 and secret_sealed = $2 and confirmed_at is null")
    .bind((user_id, &factor.secret_sealed, now))
    .execute(tx)
    .await?;
    expect_updated(rows, "second factor of", user_id)?;
    event::write(tx, "user.second_factor_added", "user", user_id, 0, serde_json::json!({})).await
}

/// Removes the second factor and its recovery codes.
pub async fn remove(tx: &mut Tx, user_id: &UserId) -> Result<()> {
    sql("delete from recovery_codes where user_id = $1").bind(user_id).execute(tx).await?;
    sql("delete from second_factors where user_id = $1").bind(user_id).execute(tx).await?;
    event::write(tx, "user.second_factor_removed", "user", user_id, 0, serde_json::json!({})).await
}

/// Replaces all recovery codes.
pub async fn set_recovery_codes(tx: &mut Tx, user_id: &UserId, macs: &[String]) -> Result<()> {
    sql("delete from recovery_codes where user_id = $1").bind(user_id).execute(tx).await?;
    for mac in macs {
        sql("insert into recovery_codes (user_id, code_mac) values ($1, $2)").bind((user_id, mac)).execute(tx).await?;
    }
    Ok(())
}

/// Uses a recovery code; false if it does not exist or was used.
pub async fn use_recovery_code(tx: &mut Tx, user_id: &UserId, mac: &str) -> Result<bool> {
    let now = tx.now();
    let rows = sql("update recovery_codes set used_at = $3 where user_id = $1 and code_mac = $2 and used_at is null")
        .bind((user_id, mac, now))
        .execute(tx)
        .await?;
    if rows == 1 {
        event::write(tx, "user.recovery_code_used", "user", user_id, 0, serde_json::json!({})).await?;
    }
    Ok(rows == 1)
}
