//! Login attempts: who, from where, and with what result.

use chrono::{DateTime, Duration, Utc};

use crate::Result;
use crate::db::Tx;
use crate::id::{LoginAttemptId, UserId, of};
use crate::sql::{insert_into, sql};

crate::words! {
    /// The result of a login attempt.
    Outcome {
        /// A session was created.
        Accepted = "accepted",
        /// The password was right; the second factor is needed.
        MfaRequired = "mfa_required",
        /// The credentials were wrong.
        Refused = "refused",
        /// Not checked, because of too many attempts.
        Throttled = "throttled",
    }
}

/// How long attempts are kept.
const KEPT_DAYS: i64 = 90;

/// One row of `login_attempts`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct LoginAttempt {
    pub id: LoginAttemptId,
    pub user_id: Option<UserId>,
    pub ip: String,
    pub user_agent: String,
    pub outcome: Outcome,
    pub created_at: DateTime<Utc>,
}

/// Stores an attempt, without a user if the address is unknown.
pub async fn insert(tx: &mut Tx, user_id: Option<&UserId>, ip: &str, user_agent: &str, outcome: Outcome) -> Result<()> {
    let (id, now) = (tx.new_id::<of::LoginAttempt>(), tx.now());
    insert_into("login_attempts")
        .set("id", id)
        .set("user_id", user_id)
        .set("ip", ip)
        .set("user_agent", user_agent)
        .set("outcome", outcome)
        .set("created_at", now)
        .execute(tx)
        .await?;
    Ok(())
}

/// The newest attempts for a user.
pub async fn of_user(tx: &mut Tx, user_id: &UserId, limit: i64) -> Result<Vec<LoginAttempt>> {
    sql("select * from login_attempts where user_id = $1 order by id desc limit $2")
        .bind((user_id, limit))
        .rows(tx)
        .await
}

/// Deletes up to `limit` old attempts.
pub async fn prune(tx: &mut Tx, limit: i64) -> Result<u64> {
    let oldest = tx.now() - Duration::days(KEPT_DAYS);
    sql("delete from login_attempts where id in
         (select id from login_attempts where created_at < $1 order by created_at limit $2)")
    .bind((oldest, limit))
    .execute(tx)
    .await
}
