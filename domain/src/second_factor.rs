//! Second factors: the sealed secret of six-digit codes, and recovery codes for the day the phone is lost.

use chrono::{DateTime, Utc};

use crate::db::{Tx, touched};
use crate::{Result, event, on};

/// A person's secret.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct SecondFactor {
    pub user_id: String,
    pub secret_sealed: String,
    /// When the person showed that they have it; before that it guards nothing.
    pub confirmed_at: Option<DateTime<Utc>>,
    pub last_step: i64,
    pub created_at: DateTime<Utc>,
}

/// What a person has.
pub async fn find(tx: &mut Tx, user_id: &str) -> Result<Option<SecondFactor>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, SecondFactor>("select * from second_factors where user_id = $1")
        .bind(user_id).fetch_optional(conn).await?))
}

/// Stores a secret that is not confirmed yet; none that is confirmed is replaced.
pub async fn enrol(tx: &mut Tx, user_id: &str, sealed: &str) -> Result<()> {
    let now = tx.now();
    let rows = on!(tx, conn => sqlx::query(
        "insert into second_factors (user_id, secret_sealed, last_step, created_at) values ($1, $2, 0, $3) \
         on conflict (user_id) do update set secret_sealed = excluded.secret_sealed, created_at = excluded.created_at \
         where second_factors.confirmed_at is null")
        .bind(user_id).bind(sealed).bind(now).execute(conn).await?.rows_affected());
    touched(rows, "second factor of", user_id)
}

/// Takes the code of a time step; an older step, or the same again, is stale.
pub async fn take_step(tx: &mut Tx, user_id: &str, step: i64) -> Result<()> {
    let rows = on!(tx, conn => sqlx::query("update second_factors set last_step = $2 where user_id = $1 and last_step < $2")
        .bind(user_id).bind(step).execute(conn).await?.rows_affected());
    touched(rows, "second factor of", user_id)
}

/// The person has shown a code of this secret, and of no other that came meanwhile: from now on it is asked for.
pub async fn confirm(tx: &mut Tx, factor: &SecondFactor) -> Result<()> {
    let (now, user_id) = (tx.now(), &factor.user_id);
    let rows = on!(tx, conn => sqlx::query(
        "update second_factors set confirmed_at = $3 where user_id = $1 and secret_sealed = $2 and confirmed_at is null")
        .bind(user_id).bind(&factor.secret_sealed).bind(now).execute(conn).await?.rows_affected());
    touched(rows, "second factor of", user_id)?;
    event::write(tx, "user.second_factor_added", "user", user_id, 0, serde_json::json!({})).await
}

/// Removes it with its recovery codes.
pub async fn remove(tx: &mut Tx, user_id: &str) -> Result<()> {
    on!(tx, conn => sqlx::query("delete from recovery_codes where user_id = $1").bind(user_id).execute(conn).await?.rows_affected());
    on!(tx, conn => sqlx::query("delete from second_factors where user_id = $1").bind(user_id).execute(conn).await?.rows_affected());
    event::write(tx, "user.second_factor_removed", "user", user_id, 0, serde_json::json!({})).await
}

/// Replaces all recovery codes.
pub async fn set_recovery_codes(tx: &mut Tx, user_id: &str, macs: &[String]) -> Result<()> {
    on!(tx, conn => sqlx::query("delete from recovery_codes where user_id = $1").bind(user_id).execute(conn).await?.rows_affected());
    for mac in macs {
        on!(tx, conn => sqlx::query("insert into recovery_codes (user_id, code_mac) values ($1, $2)")
            .bind(user_id).bind(mac).execute(conn).await?.rows_affected());
    }
    Ok(())
}

/// Uses a recovery code up; false if there is none such.
pub async fn use_recovery_code(tx: &mut Tx, user_id: &str, mac: &str) -> Result<bool> {
    let now = tx.now();
    let rows = on!(tx, conn => sqlx::query(
        "update recovery_codes set used_at = $3 where user_id = $1 and code_mac = $2 and used_at is null")
        .bind(user_id).bind(mac).bind(now).execute(conn).await?.rows_affected());
    if rows == 1 {
        event::write(tx, "user.recovery_code_used", "user", user_id, 0, serde_json::json!({})).await?;
    }
    Ok(rows == 1)
}
