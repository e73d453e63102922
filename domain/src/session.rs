//! Sessions: one for each login, read on every request, so that a logout or a lost role takes effect at once.

use chrono::{DateTime, Duration, Utc};

use crate::db::{Tx, expect_updated};
use crate::id::{SessionId, UserId};
use crate::sql::{insert_into, sql};
use crate::{Code, Error, Result, event};

/// Limit on the sessions of a user; above it the oldest is revoked.
const SESSIONS_MAX: i64 = 10;
/// How long an ended session is kept for investigations.
const KEPT_DAYS: i64 = 90;

/// One row of `sessions`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Session {
    pub id: SessionId,
    pub user_id: UserId,
    /// The generation of the valid refresh token.
    pub generation: i64,
    pub rotated_at: DateTime<Utc>,
    pub created_at: DateTime<Utc>,
    pub last_used_at: DateTime<Utc>,
    pub idle_expires_at: DateTime<Utc>,
    pub absolute_expires_at: DateTime<Utc>,
    /// The last time the user authenticated.
    pub auth_time: DateTime<Utc>,
    /// Authentication methods separated by spaces (RFC 8176): `pwd`, `otp`.
    pub amr: String,
    pub step_up_until: Option<DateTime<Utc>>,
    pub ip: String,
    pub user_agent: String,
    pub device_name: Option<String>,
    pub revoked_at: Option<DateTime<Utc>>,
    pub revoke_reason: Option<String>,
}

/// The lifetime of a session.
#[derive(Clone, Copy, Debug)]
pub struct Lifetime {
    /// Without a refresh.
    pub idle: Duration,
    /// In total.
    pub absolute: Duration,
}

impl Lifetime {
    /// Staff: half an hour idle, half a day in total. Others: a week idle, a month in total.
    pub const fn of(staff: bool) -> Self {
        if staff {
            Self { idle: Duration::minutes(30), absolute: Duration::hours(12) }
        } else {
            Self { idle: Duration::days(7), absolute: Duration::days(30) }
        }
    }
}

/// A successful login.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct New<'a> {
    pub user_id: &'a UserId,
    pub amr: &'a str,
    pub lifetime: Lifetime,
    pub ip: &'a str,
    pub user_agent: &'a str,
    pub device_name: Option<&'a str>,
}

impl Session {
    /// Whether the session is valid at this time.
    pub fn is_live(&self, now: DateTime<Utc>) -> bool {
        self.revoked_at.is_none() && self.idle_expires_at > now && self.absolute_expires_at > now
    }

    /// Whether the user has authenticated again recently.
    pub fn is_stepped_up(&self, now: DateTime<Utc>) -> bool {
        self.step_up_until.is_some_and(|until| until > now)
    }

    /// Whether a second factor was used.
    pub fn has_second_factor(&self) -> bool {
        self.amr.split(' ').any(|method| method == "otp")
    }
}

/// Creates a session. Above the limit of sessions the oldest is revoked.
pub async fn insert(tx: &mut Tx, new: &New<'_>) -> Result<Session> {
    let (id, now) = (tx.new_id(), tx.now());
    let (idle, absolute) = (now + new.lifetime.idle, now + new.lifetime.absolute);
    insert_into("sessions")
        .set("id", &id)
        .set("user_id", new.user_id)
        .set("generation", 1)
        .set("rotated_at", now)
        .set("created_at", now)
        .set("last_used_at", now)
        .set("idle_expires_at", idle)
        .set("absolute_expires_at", absolute)
        .set("auth_time", now)
        .set("amr", new.amr)
        .set("ip", new.ip)
        .set("user_agent", new.user_agent)
        .set("device_name", new.device_name)
        .execute(tx)
        .await?;
    sql("update sessions set revoked_at = $2, revoke_reason = 'too_many'
         where user_id = $1 and revoked_at is null and id not in (
             select id from sessions where user_id = $1 and revoked_at is null order by id desc limit $3)")
    .bind((new.user_id, now, SESSIONS_MAX))
    .execute(tx)
    .await?;
    // The login itself is an act of this user, who was anonymous before.
    tx.recorder().set_authenticated(new.user_id, &id);
    find(tx, &id).await
}

/// The session with this id, even if it has ended.
pub async fn find(tx: &mut Tx, id: &SessionId) -> Result<Session> {
    sql("select * from sessions where id = $1")
        .bind(id)
        .optional::<Session>(tx)
        .await?
        .ok_or_else(|| Error::refused(Code::NotFound, format!("There is no session {id}.")))
}

/// The valid sessions of a user, newest first.
pub async fn of_user(tx: &mut Tx, user_id: &UserId) -> Result<Vec<Session>> {
    let now = tx.now();
    sql("select * from sessions
         where user_id = $1 and revoked_at is null and idle_expires_at > $2 and absolute_expires_at > $2
         order by id desc")
    .bind((user_id, now))
    .rows(tx)
    .await
}

/// Rotates the refresh token. Of two parallel rotations one succeeds, because both expect the same generation.
pub async fn rotate(tx: &mut Tx, session: &Session, idle: Duration) -> Result<Session> {
    let now = tx.now();
    let rows = sql("update sessions
        set generation = generation + 1, rotated_at = $3, last_used_at = $3, idle_expires_at = $4
        where id = $1 and generation = $2 and revoked_at is null")
    .bind((&session.id, session.generation, now, now + idle))
    .execute(tx)
    .await?;
    expect_updated(rows, "session", &session.id)?;
    find(tx, &session.id).await
}

/// Records that the user authenticated again, with these methods.
pub async fn step_up(tx: &mut Tx, id: &SessionId, until: DateTime<Utc>, amr: &str) -> Result<()> {
    let now = tx.now();
    let rows = sql("update sessions set step_up_until = $2, auth_time = $3, last_used_at = $3, amr = $4
        where id = $1 and revoked_at is null")
    .bind((id, until, now, amr))
    .execute(tx)
    .await?;
    expect_updated(rows, "session", id)
}

/// Revokes one session.
pub async fn revoke(tx: &mut Tx, session: &Session, reason: &str) -> Result<()> {
    let now = tx.now();
    let rows = sql("update sessions set revoked_at = $2, revoke_reason = $3 where id = $1 and revoked_at is null")
        .bind((&session.id, now, reason))
        .execute(tx)
        .await?;
    if rows == 1 {
        let data = serde_json::json!({ "user_id": session.user_id, "reason": reason });
        event::write(tx, "session.revoked", "session", &session.id, 1, data).await?;
    }
    Ok(())
}

/// Revokes all sessions of a user except one.
pub async fn revoke_all(tx: &mut Tx, user_id: &UserId, but: Option<&str>, reason: &str) -> Result<()> {
    for session in of_user(tx, user_id).await? {
        if but != Some(session.id.as_str()) {
            revoke(tx, &session, reason).await?;
        }
    }
    Ok(())
}

/// Deletes up to `limit` sessions that ended long ago. Actions taken in them stay in the audit log.
pub async fn prune(tx: &mut Tx, limit: i64) -> Result<u64> {
    let oldest = tx.now() - Duration::days(KEPT_DAYS);
    sql("delete from sessions where id in
         (select id from sessions where absolute_expires_at < $1 order by absolute_expires_at limit $2)")
    .bind((oldest, limit))
    .execute(tx)
    .await
}
