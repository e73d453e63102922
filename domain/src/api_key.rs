//! API keys. A key acts for its owner within its scopes. Only its SHA-256 is stored; the key is shown once.

use chrono::{DateTime, Duration, Utc};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::db::{Tx, expect_updated};
use crate::filter::CreatedBetween;
use crate::id::{ApiKeyId, ApprovalId, UserId, of};
use crate::recorder::Facts;
use crate::sql::{Sql, insert_into, sql};
use crate::{Code, Error, Result, event, user};

/// How many characters of a key are stored in clear, so that its owner recognises it.
const PREFIX_LENGTH: usize = 13;

/// One row of `api_keys`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct ApiKey {
    pub id: ApiKeyId,
    pub user_id: UserId,
    pub name: String,
    pub prefix: String,
    pub scopes: String,
    /// Networks that the key may be used from, separated by spaces; empty for all.
    pub allowed_cidrs: String,
    pub per_minute: Option<i64>,
    pub expires_at: DateTime<Utc>,
    pub revoked_at: Option<DateTime<Utc>>,
    pub replaced_by: Option<String>,
    /// The approval by another admin; required for a key of the platform.
    pub approval_id: Option<ApprovalId>,
    pub created_at: DateTime<Utc>,
}

impl ApiKey {
    /// Whether the key has this scope.
    pub fn has_scope(&self, scope: &str) -> bool {
        self.scopes.split(' ').any(|given| given == scope)
    }
}

/// A key to store.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct New<'a> {
    pub user_id: &'a UserId,
    pub name: &'a str,
    pub scopes: &'a str,
    pub allowed_cidrs: &'a str,
    pub per_minute: Option<i64>,
    pub expires_at: DateTime<Utc>,
    pub approval_id: Option<&'a ApprovalId>,
    pub secret: [u8; 32],
}

/// Stores a key. Returns its id and the key, which cannot be read again. An approval allows one key only.
pub async fn insert(tx: &mut Tx, new: &New<'_>) -> Result<(ApiKeyId, String)> {
    // A key shows whether it opens something real.
    let kind = if tx.clock().is_for_tests() { "test" } else { "live" };
    let key = format!("rap_{kind}_{}", hex(&new.secret));
    let (id, now) = (tx.new_id(), tx.now());
    let rows = insert_into("api_keys")
        .set("id", &id)
        .set("user_id", new.user_id)
        .set("name", new.name)
        .set("prefix", &key[..PREFIX_LENGTH])
        .set("key_sha256", digest(&key))
        .set("scopes", new.scopes)
        .set("allowed_cidrs", new.allowed_cidrs)
        .set("per_minute", new.per_minute)
        .set("expires_at", new.expires_at)
        .set("created_at", now)
        .set("approval_id", new.approval_id)
        .push(" on conflict do nothing")
        .execute(tx)
        .await?;
    if rows == 0 {
        let detail = "The key was already created and shown once. If it is lost, revoke it and request another one.";
        return Err(Error::refused(Code::InvalidState, detail));
    }
    let data = json!({ "user_id": new.user_id, "scopes": new.scopes.split(' ').collect::<Vec<_>>() });
    event::write(tx, "api_key.created", "api_key", &id, 1, data).await?;
    Ok((id, key))
}

/// Refuses another key if the user already has `max` keys in use. The user's row is locked, so that parallel requests are counted.
pub async fn check_limit(tx: &mut Tx, user_id: &UserId, max: i64) -> Result<()> {
    let now = tx.now();
    user::lock_row(tx, user_id).await?;
    let used = sql("select count(*) from api_keys
        where user_id = $1 and revoked_at is null and replaced_by is null and expires_at > $2")
    .bind((user_id, now))
    .scalar::<i64>(tx)
    .await?;
    if used < max {
        // Expired and replaced keys do not count.
        return Ok(());
    }
    Err(Error::refused(Code::InvalidState, format!("The limit of {used} keys in use is reached. Revoke a key first.")))
}

/// Stores a key with no restriction other than its scopes, and returns it.
pub async fn issue(
    tx: &mut Tx,
    user_id: &UserId,
    name: &str,
    scopes: &str,
    days: i64,
    secret: [u8; 32],
) -> Result<String> {
    let expires_at = tx.now() + Duration::days(days);
    let (allowed_cidrs, per_minute, approval_id) = ("", None, None);
    let new = New { user_id, name, scopes, allowed_cidrs, per_minute, expires_at, approval_id, secret };
    Ok(insert(tx, &new).await?.1)
}

/// The owners whose keys a caller may see.
#[derive(Clone, Copy, Debug)]
pub enum Scope<'a> {
    /// All owners.
    All,
    /// The members of an issuer.
    Issuer(&'a str),
    /// The caller only.
    Own(&'a str),
}

impl Scope<'_> {
    fn keys(self, select: Sql) -> Sql {
        let keys = select.push(" from api_keys where ");
        match self {
            Self::All => keys.push("1 = 1"),
            Self::Own(user_id) => keys.with("user_id = ", user_id),
            Self::Issuer(id) => keys.with("user_id in (select id from users where issuer_id = ", id).push(")"),
        }
    }
}

/// One key, if the caller may see it.
pub async fn find(tx: &mut Tx, id: &ApiKeyId, whose: Scope<'_>) -> Result<ApiKey> {
    id.check()?;
    let found = whose.keys(sql("select *")).with(" and id = ", id).optional::<ApiKey>(tx).await?;
    found.ok_or_else(|| Error::refused(Code::NotFound, format!("There is no key {id}.")))
}

/// A page of the keys that the caller may see, newest first, and their number.
pub async fn page(
    tx: &mut Tx,
    whose: Scope<'_>,
    created: CreatedBetween,
    limit: i64,
    offset: i64,
) -> Result<(Vec<ApiKey>, i64)> {
    let matching = |select| whose.keys(sql(select)).created::<of::ApiKey>(created, "");
    let rows = matching("select *").push(" order by id desc").page(limit, offset).rows(tx).await?;
    let total = matching("select count(*)").scalar(tx).await?;
    Ok((rows, total))
}

/// Records the key that replaces this one. The old key stays valid until `until` at most.
pub async fn replace(tx: &mut Tx, key: &ApiKey, by: &str, until: DateTime<Utc>) -> Result<()> {
    let rows = sql("update api_keys set replaced_by = $2, expires_at = $3
        where id = $1 and replaced_by is null and revoked_at is null")
    .bind((&key.id, by, until.min(key.expires_at)))
    .execute(tx)
    .await?;
    expect_updated(rows, "API key", &key.id)?;
    let after = ApiKey { replaced_by: Some(by.to_owned()), expires_at: until.min(key.expires_at), ..key.clone() };
    tx.recorder().record_change(&key.id, facts(key), facts(&after));
    event::write(tx, "api_key.rotated", "api_key", &key.id, 2, json!({ "replaced_by": by })).await
}

/// Revokes a key. Revoking it again changes nothing.
pub async fn revoke(tx: &mut Tx, key: &ApiKey) -> Result<()> {
    let now = tx.now();
    let rows = sql("update api_keys set revoked_at = $2 where id = $1 and revoked_at is null")
        .bind((&key.id, now))
        .execute(tx)
        .await?;
    if rows == 1 {
        tx.recorder().record_change(&key.id, facts(key), facts(&ApiKey { revoked_at: Some(now), ..key.clone() }));
        event::write(tx, "api_key.revoked", "api_key", &key.id, 3, json!({ "user_id": key.user_id })).await?;
    }
    Ok(())
}

/// The fields for the audit log.
fn facts(key: &ApiKey) -> Facts {
    let open = json!({
        "scopes": key.scopes, "allowed_cidrs": key.allowed_cidrs, "per_minute": key.per_minute, "expires_at": key.expires_at,
        "revoked_at": key.revoked_at, "replaced_by": key.replaced_by,
    });
    Facts::new(open, json!({ "name": key.name }))
}

/// Revokes every key of a user.
pub async fn revoke_all(tx: &mut Tx, user_id: &UserId) -> Result<()> {
    let used = sql("select * from api_keys where user_id = $1 and revoked_at is null")
        .bind(user_id)
        .rows::<ApiKey>(tx)
        .await?;
    for key in used {
        revoke(tx, &key).await?;
    }
    Ok(())
}

/// Revokes all keys of a user with this name.
pub async fn revoke_named(tx: &mut Tx, user_id: &UserId, name: &str) -> Result<u64> {
    let now = tx.now();
    sql("update api_keys set revoked_at = $3 where user_id = $1 and name = $2 and revoked_at is null")
        .bind((user_id, name, now))
        .execute(tx)
        .await
}

/// The stored form of a key.
pub(crate) fn digest(key: &str) -> String {
    hex(&Sha256::digest(key))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
