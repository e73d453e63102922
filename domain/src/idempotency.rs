//! Idempotency keys: the first answer is stored with its effect and returned again.

use chrono::Duration;

use crate::db::Tx;
use crate::sql::sql;
use crate::{Code, Error, Result};

/// How long a stored answer is returned again.
pub const REPLAY_HOURS: i64 = 24;

/// The idempotency key of a request. Without a key the text is empty: nothing is stored and nothing is returned again.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Key {
    pub principal: String,
    pub method: String,
    pub path: String,
    pub key: String,
    /// A keyed hash over method, path and body.
    pub fingerprint: String,
    /// The fingerprint under earlier secrets, which the row of an earlier request can have.
    pub earlier: Vec<String>,
}

impl Key {
    /// Whether the request has a key.
    pub const fn is_named(&self) -> bool {
        !self.key.is_empty()
    }

    fn is_of(&self, fingerprint: &str) -> bool {
        self.fingerprint == fingerprint || self.earlier.iter().any(|earlier| earlier == fingerprint)
    }

    /// Method, path and key in one text. An operation stores it permanently.
    pub fn spent_for(&self) -> String {
        format!("{} {} {}", self.method, self.path, self.key)
    }
}

/// The key alone, without method and path. A key has no spaces.
pub fn key_only(spent_for: &str) -> &str {
    spent_for.rsplit(' ').next().unwrap_or(spent_for)
}

/// A stored answer.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Answer {
    pub status: i64,
    pub location: Option<String>,
    pub body: String,
}

/// What is known of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyState {
    /// The key is new.
    Nothing,
    /// The stored answer.
    Answered(Answer),
    /// The answer has expired; the id is that of the operation, approval, subscription or distribution that the key created.
    Spent(String),
}

type Row = (Option<String>, Option<i64>, Option<String>, Option<String>, Option<String>);

/// Reads what is known of a key, in one statement. A key with another request is refused.
pub async fn find(tx: &mut Tx, k: &Key) -> Result<KeyState> {
    if !k.is_named() {
        return Ok(KeyState::Nothing);
    }
    let oldest = tx.now() - Duration::hours(REPLAY_HOURS);
    // Requests whose repetition would cost money keep their key permanently on the row that they created.
    let row: Row = sql("select k.fingerprint, k.status, k.location, k.body, coalesce(
                (select id from operations where requested_by = $1 and idempotency_key = $6 order by batch_index limit 1),
                (select id from approvals where maker = $1 and idempotency_key = $6 order by id limit 1),
                (select id from subscriptions where created_by = $1 and idempotency_key = $6),
                (select id from distributions where created_by = $1 and idempotency_key = $6))
        from (select 1 as one) as always
            left join idempotency_keys k on k.principal = $1 and k.method = $2 and k.path = $3 and k.key = $4
                and k.created_at > $5")
    .bind((&k.principal, &k.method, &k.path, &k.key, oldest, k.spent_for()))
    .row::<Row>(tx)
    .await?;
    match row {
        (Some(fingerprint), ..) if !k.is_of(&fingerprint) => Err(reused()),
        (Some(_), Some(status), location, Some(body), _) => Ok(KeyState::Answered(Answer { status, location, body })),
        (.., spent) => Ok(spent.map_or(KeyState::Nothing, KeyState::Spent)),
    }
}

fn reused() -> Error {
    Error::refused(
        Code::IdempotencyKeyReuse,
        "This Idempotency-Key was used with another request. Use a new key for a new request.",
    )
}

/// Stores the answer in the commit of its effect. Of two parallel requests the second is stale and must not commit.
pub async fn store(tx: &mut Tx, k: &Key, answer: &Answer) -> Result<()> {
    let now = tx.now();
    tx.recorder().set_http_status(answer.status);
    if !k.is_named() {
        return Ok(());
    }
    let oldest = now - Duration::hours(REPLAY_HOURS);
    sql("insert into idempotency_keys (principal, method, path, key, fingerprint, status, location, body,
            created_at)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
        on conflict (principal, method, path, key) do update set fingerprint = excluded.fingerprint,
            status = excluded.status, location = excluded.location, body = excluded.body,
            created_at = excluded.created_at
        where idempotency_keys.created_at <= $10")
    .bind((
        &k.principal,
        &k.method,
        &k.path,
        &k.key,
        &k.fingerprint,
        answer.status,
        &answer.location,
        &answer.body,
        now,
        oldest,
    ))
    .write_exactly(tx, 1, "idempotency key", &k.key)
    .await
}

/// Deletes up to `limit` expired answers.
pub async fn prune(tx: &mut Tx, limit: i64) -> Result<u64> {
    let oldest = tx.now() - Duration::hours(REPLAY_HOURS);
    sql("delete from idempotency_keys where (principal, method, path, key) in
         (select principal, method, path, key from idempotency_keys where created_at <= $1 order by created_at limit $2)")
    .bind((oldest, limit))
    .execute(tx)
    .await
}
