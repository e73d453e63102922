//! Sessions: one for each login, read on every request, so that a logout or a lost role bites at once.

use chrono::{DateTime, Duration, Utc};

use crate::db::{Tx, touched};
use crate::rows::delete_older;
use crate::{Code, Error, Result, event, on};

/// How many sessions one person has at most; the oldest makes room.
const SESSIONS_MAX: i64 = 10;
/// How long a session is kept after its end, for whoever looks into what somebody did in it.
const KEPT_DAYS: i64 = 90;

/// A session.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Session {
    pub id: String,
    pub user_id: String,
    /// Which refresh token is the valid one.
    pub generation: i64,
    pub rotated_at: DateTime<Utc>,
    pub created_at: DateTime<Utc>,
    pub last_used_at: DateTime<Utc>,
    pub idle_expires_at: DateTime<Utc>,
    pub absolute_expires_at: DateTime<Utc>,
    /// When the person last showed who they are.
    pub auth_time: DateTime<Utc>,
    /// By what, separated by blanks (RFC 8176): `pwd`, `otp`.
    pub amr: String,
    pub step_up_until: Option<DateTime<Utc>>,
    pub ip: String,
    pub user_agent: String,
    pub device_name: Option<String>,
    pub revoked_at: Option<DateTime<Utc>>,
    pub revoke_reason: Option<String>,
}

/// How long a session lives.
#[derive(Clone, Copy, Debug)]
pub struct Lifetime {
    /// Without being refreshed.
    pub idle: Duration,
    /// At most.
    pub absolute: Duration,
}

impl Lifetime {
    /// Staff is asked again after half an hour of absence and each half day; others after a week and each month.
    pub const fn of(staff: bool) -> Self {
        if staff {
            Self { idle: Duration::minutes(30), absolute: Duration::hours(12) }
        } else {
            Self { idle: Duration::days(7), absolute: Duration::days(30) }
        }
    }
}

/// A login that succeeded.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct New<'a> {
    pub user_id: &'a str,
    pub amr: &'a str,
    pub lifetime: Lifetime,
    pub ip: &'a str,
    pub user_agent: &'a str,
    pub device_name: Option<&'a str>,
}

impl Session {
    /// Whether it can be used at this time.
    pub fn is_live(&self, now: DateTime<Utc>) -> bool {
        self.revoked_at.is_none() && self.idle_expires_at > now && self.absolute_expires_at > now
    }

    /// Whether the person has just shown again who they are.
    pub fn is_stepped_up(&self, now: DateTime<Utc>) -> bool {
        self.step_up_until.is_some_and(|until| until > now)
    }

    /// Whether a second factor was shown.
    pub fn has_second_factor(&self) -> bool {
        self.amr.split(' ').any(|method| method == "otp")
    }
}

/// Opens a session. Above the most that one person may have, the oldest is revoked.
pub async fn insert(tx: &mut Tx, new: &New<'_>) -> Result<Session> {
    let (id, now) = (tx.new_id("ses"), tx.now());
    let (idle, absolute) = (now + new.lifetime.idle, now + new.lifetime.absolute);
    on!(tx, conn => sqlx::query(
        "insert into sessions (id, user_id, generation, rotated_at, created_at, last_used_at, idle_expires_at, absolute_expires_at, \
         auth_time, amr, ip, user_agent, device_name) values ($1, $2, 1, $3, $3, $3, $4, $5, $3, $6, $7, $8, $9)")
        .bind(&id).bind(new.user_id).bind(now).bind(idle).bind(absolute).bind(new.amr).bind(new.ip).bind(new.user_agent)
        .bind(new.device_name).execute(conn).await?.rows_affected());
    on!(tx, conn => sqlx::query(
        "update sessions set revoked_at = $2, revoke_reason = 'too_many' where user_id = $1 and revoked_at is null and id not in \
         (select id from sessions where user_id = $1 and revoked_at is null order by id desc limit $3)")
        .bind(new.user_id).bind(now).bind(SESSIONS_MAX).execute(conn).await?.rows_affected());
    tx.doing().showed(new.user_id, &id);
    find(tx, &id).await
}

/// The session with this id, whatever became of it.
pub async fn find(tx: &mut Tx, id: &str) -> Result<Session> {
    on!(tx, conn => sqlx::query_as::<_, Session>("select * from sessions where id = $1").bind(id).fetch_optional(conn).await?)
        .ok_or_else(|| Error::refused(Code::NotFound, format!("There is no session {id}.")))
}

/// The sessions of a person that can still be used, the newest first.
pub async fn of_user(tx: &mut Tx, user_id: &str) -> Result<Vec<Session>> {
    let now = tx.now();
    Ok(on!(tx, conn => sqlx::query_as::<_, Session>(
        "select * from sessions where user_id = $1 and revoked_at is null and idle_expires_at > $2 and absolute_expires_at > $2 \
         order by id desc")
        .bind(user_id).bind(now).fetch_all(conn).await?))
}

/// Makes the next refresh token the valid one. Of two at once only one finds the generation that it read.
pub async fn rotate(tx: &mut Tx, session: &Session, idle: Duration) -> Result<Session> {
    let now = tx.now();
    let rows = on!(tx, conn => sqlx::query(
        "update sessions set generation = generation + 1, rotated_at = $3, last_used_at = $3, idle_expires_at = $4 \
         where id = $1 and generation = $2 and revoked_at is null")
        .bind(&session.id).bind(session.generation).bind(now).bind(now + idle).execute(conn).await?.rows_affected());
    touched(rows, "session", &session.id)?;
    find(tx, &session.id).await
}

/// Notes that the person has shown again who they are, and by what.
pub async fn step_up(tx: &mut Tx, id: &str, until: DateTime<Utc>, amr: &str) -> Result<()> {
    let now = tx.now();
    let rows = on!(tx, conn => sqlx::query(
        "update sessions set step_up_until = $2, auth_time = $3, last_used_at = $3, amr = $4 where id = $1 and revoked_at is null")
        .bind(id).bind(until).bind(now).bind(amr).execute(conn).await?.rows_affected());
    touched(rows, "session", id)
}

/// Revokes one session.
pub async fn revoke(tx: &mut Tx, session: &Session, reason: &str) -> Result<()> {
    let now = tx.now();
    let rows = on!(tx, conn => sqlx::query(
        "update sessions set revoked_at = $2, revoke_reason = $3 where id = $1 and revoked_at is null")
        .bind(&session.id).bind(now).bind(reason).execute(conn).await?.rows_affected());
    if rows == 1 {
        let data = serde_json::json!({ "user_id": session.user_id, "reason": reason });
        event::write(tx, "session.revoked", "session", &session.id, 1, data).await?;
    }
    Ok(())
}

/// Revokes every session of a person but the one that is named.
pub async fn revoke_all(tx: &mut Tx, user_id: &str, but: Option<&str>, reason: &str) -> Result<()> {
    for session in of_user(tx, user_id).await? {
        if but != Some(session.id.as_str()) {
            revoke(tx, &session, reason).await?;
        }
    }
    Ok(())
}

/// Forgets so many of the sessions that ended long ago. What was done in them is in the audit log.
pub async fn prune(tx: &mut Tx, limit: i64) -> Result<u64> {
    let oldest = tx.now() - Duration::days(KEPT_DAYS);
    let delete = "delete from sessions where id in \
        (select id from sessions where absolute_expires_at < $1 order by absolute_expires_at limit $2)";
    delete_older(tx, delete, oldest, limit).await
}
