//! Idempotency keys: the first answer is stored with its effect and given again.

use chrono::Duration;

use crate::db::Tx;
use crate::rows::delete_older;
use crate::{Code, Error, Result, on};

/// How long an answer is given again.
pub const REPLAY_HOURS: i64 = 24;

/// Whose key, on which request. Where the request named none its text is empty: nothing is remembered, and nothing given again.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Key {
    pub principal: String,
    pub method: String,
    pub path: String,
    pub key: String,
    /// What tells the request from others: a code over method, path and body.
    pub fingerprint: String,
    /// What it was under the secrets of before, which the row of an earlier request may have.
    pub earlier: Vec<String>,
}

impl Key {
    /// Whether the request named one.
    pub const fn is_named(&self) -> bool {
        !self.key.is_empty()
    }

    fn is_of(&self, fingerprint: &str) -> bool {
        self.fingerprint == fingerprint || self.earlier.iter().any(|earlier| earlier == fingerprint)
    }

    /// The key with the request that it is spent for, as it stands on an operation for ever.
    pub fn spent_for(&self) -> String {
        format!("{} {} {}", self.method, self.path, self.key)
    }
}

/// The key alone, without the request that it is spent for; no key has a space.
pub fn bare(spent_for: &str) -> &str {
    spent_for.rsplit(' ').next().unwrap_or(spent_for)
}

/// An answer as it was given.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Answer {
    pub status: i64,
    pub location: Option<String>,
    pub body: String,
}

/// What a key has started before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Nothing: the request is new.
    Nothing,
    /// It was answered so, not long ago.
    Answered(Answer),
    /// It started the operation, the approval, the subscription or the distribution with this id, and the answer is forgotten.
    Spent(String),
}

type Row = (Option<String>, Option<i64>, Option<String>, Option<String>, Option<String>);

/// What this key has started before, in one look. Another request under the same key is refused.
pub async fn look(tx: &mut Tx, k: &Key) -> Result<Seen> {
    if !k.is_named() {
        return Ok(Seen::Nothing);
    }
    let oldest = tx.now() - Duration::hours(REPLAY_HOURS);
    // What a second time would cost money remembers its key for ever.
    let row: Row = on!(tx, conn => sqlx::query_as::<_, Row>(
        "select k.fingerprint, k.status, k.location, k.body, coalesce(\
         (select id from operations where requested_by = $1 and idempotency_key = $6 order by batch_index limit 1), \
         (select id from approvals where maker = $1 and idempotency_key = $6 order by id limit 1), \
         (select id from subscriptions where created_by = $1 and idempotency_key = $6), \
         (select id from distributions where created_by = $1 and idempotency_key = $6)) \
         from (select 1 as one) as always left join idempotency_keys k \
         on k.principal = $1 and k.method = $2 and k.path = $3 and k.key = $4 and k.created_at > $5")
        .bind(&k.principal).bind(&k.method).bind(&k.path).bind(&k.key).bind(oldest).bind(k.spent_for()).fetch_one(conn).await?);
    match row {
        (Some(fingerprint), ..) if !k.is_of(&fingerprint) => Err(reused()),
        (Some(_), Some(status), location, Some(body), _) => Ok(Seen::Answered(Answer { status, location, body })),
        (.., spent) => Ok(spent.map_or(Seen::Nothing, Seen::Spent)),
    }
}

fn reused() -> Error {
    Error::refused(
        Code::IdempotencyKeyReuse,
        "This Idempotency-Key came with another request. Use a new key for a new request.",
    )
}

/// Stores the answer in the commit of its effect. Of two at once, the second finds the row taken and must not commit.
pub async fn store(tx: &mut Tx, k: &Key, answer: &Answer) -> Result<()> {
    let now = tx.now();
    tx.doing().answered(answer.status);
    if !k.is_named() {
        return Ok(());
    }
    let oldest = now - Duration::hours(REPLAY_HOURS);
    let rows = on!(tx, conn => sqlx::query(
        "insert into idempotency_keys (principal, method, path, key, fingerprint, status, location, body, created_at) \
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict (principal, method, path, key) do update set \
         fingerprint = excluded.fingerprint, status = excluded.status, location = excluded.location, body = excluded.body, \
         created_at = excluded.created_at where idempotency_keys.created_at <= $10")
        .bind(&k.principal).bind(&k.method).bind(&k.path).bind(&k.key).bind(&k.fingerprint).bind(answer.status)
        .bind(&answer.location).bind(&answer.body).bind(now).bind(oldest)
        .execute(conn).await?.rows_affected());
    if rows == 1 { Ok(()) } else { Err(Error::Stale { what: "idempotency key", id: k.key.clone() }) }
}

/// Forgets so many of the answers that are no longer given again.
pub async fn prune(tx: &mut Tx, limit: i64) -> Result<u64> {
    let oldest = tx.now() - Duration::hours(REPLAY_HOURS);
    let delete = "delete from idempotency_keys where (principal, method, path, key) in \
        (select principal, method, path, key from idempotency_keys where created_at <= $1 order by created_at limit $2)";
    delete_older(tx, delete, oldest, limit).await
}
