//! Who tried to log in, from where, and how it ended.

use chrono::{DateTime, Duration, Utc};

use crate::db::Tx;
use crate::rows::delete_older;
use crate::{Result, on};

crate::words! {
    /// How an attempt ended.
    Outcome {
        /// A session was opened.
        Accepted = "accepted",
        /// The password was right, the second factor is asked for.
        MfaRequired = "mfa_required",
        /// Something was wrong.
        Refused = "refused",
        /// Nothing was looked at: there were too many before.
        Throttled = "throttled",
    }
}

/// How long attempts are kept.
const KEPT_DAYS: i64 = 90;

/// One attempt.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct LoginAttempt {
    pub id: String,
    pub user_id: Option<String>,
    pub ip: String,
    pub user_agent: String,
    pub outcome: Outcome,
    pub created_at: DateTime<Utc>,
}

/// Notes an attempt; without a user where the address is unknown.
pub async fn insert(tx: &mut Tx, user_id: Option<&str>, ip: &str, user_agent: &str, outcome: Outcome) -> Result<()> {
    let (id, now) = (tx.new_id("log"), tx.now());
    on!(tx, conn => sqlx::query(
        "insert into login_attempts (id, user_id, ip, user_agent, outcome, created_at) values ($1, $2, $3, $4, $5, $6)")
        .bind(id).bind(user_id).bind(ip).bind(user_agent).bind(outcome).bind(now).execute(conn).await?.rows_affected());
    Ok(())
}

/// The newest attempts on an account.
pub async fn of_user(tx: &mut Tx, user_id: &str, limit: i64) -> Result<Vec<LoginAttempt>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, LoginAttempt>(
        "select * from login_attempts where user_id = $1 order by id desc limit $2")
        .bind(user_id).bind(limit).fetch_all(conn).await?))
}

/// Forgets so many of those that are too old to be of use.
pub async fn prune(tx: &mut Tx, limit: i64) -> Result<u64> {
    let oldest = tx.now() - Duration::days(KEPT_DAYS);
    let delete = "delete from login_attempts where id in \
        (select id from login_attempts where created_at < $1 order by created_at limit $2)";
    delete_older(tx, delete, oldest, limit).await
}
