//! Users and the API keys that act for them.

use chrono::{DateTime, Duration, Utc};
use sha2::{Digest, Sha256};

use crate::db::Tx;
use crate::{Code, Error, Result, on};

crate::words! {
    /// What a person is to the platform.
    Role {
        /// Subscribes.
        Investor = "investor",
        /// Offers.
        Issuer = "issuer",
        /// Runs operations and compliance.
        Operator = "operator",
        /// Manages users, keys and policies.
        Admin = "admin",
        /// Reads everything, changes nothing.
        Auditor = "auditor",
    }
}

/// Who calls, and what the key allows.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Principal {
    pub user_id: String,
    pub email: String,
    pub role: Role,
    pub key_id: String,
    pub scopes: String,
    pub expires_at: DateTime<Utc>,
    pub revoked_at: Option<DateTime<Utc>>,
    pub user_status: String,
}

impl Principal {
    /// Whether the key was given this scope.
    pub fn has_scope(&self, scope: &str) -> bool {
        self.scopes.split(' ').any(|s| s == scope)
    }
}

/// Stores a user.
pub async fn insert(tx: &mut Tx, email: &str, name: &str, role: Role) -> Result<String> {
    let (id, now) = (tx.new_id("usr"), tx.now());
    on!(tx, conn => sqlx::query(
        "insert into users (id, email, name, role, status, version, created_at, updated_at) values ($1, $2, $3, $4, 'active', 1, $5, $5)")
        .bind(&id).bind(email).bind(name).bind(role).bind(now).execute(conn).await?.rows_affected());
    Ok(id)
}

/// The user with this e-mail address.
pub async fn find_by_email(tx: &mut Tx, email: &str) -> Result<Option<String>> {
    Ok(on!(tx, conn => sqlx::query_scalar::<_, String>("select id from users where email = $1")
        .bind(email).fetch_optional(conn).await?))
}

/// Stores a key for a user and returns it; it cannot be read again.
pub async fn insert_key(
    tx: &mut Tx,
    user_id: &str,
    name: &str,
    scopes: &str,
    days: i64,
    secret: [u8; 32],
) -> Result<String> {
    let key = format!("rap_live_{}", hex(&secret));
    let (id, now) = (tx.new_id("key"), tx.now());
    on!(tx, conn => sqlx::query(
        "insert into api_keys (id, user_id, name, prefix, key_sha256, scopes, expires_at, created_at) \
         values ($1, $2, $3, $4, $5, $6, $7, $8)")
        .bind(id).bind(user_id).bind(name).bind(&key[..13]).bind(digest(&key)).bind(scopes).bind(now + Duration::days(days)).bind(now)
        .execute(conn).await?.rows_affected());
    Ok(key)
}

/// The principal behind a key; `token_invalid` if it is unknown, expired, revoked or its owner disabled.
pub async fn by_key(tx: &mut Tx, key: &str) -> Result<Principal> {
    let now = tx.now();
    on!(tx, conn => sqlx::query_as::<_, Principal>(
        "select u.id as user_id, u.email, u.role, u.status as user_status, k.id as key_id, k.scopes, k.expires_at, k.revoked_at \
         from api_keys k join users u on u.id = k.user_id where k.key_sha256 = $1")
        .bind(digest(key)).fetch_optional(conn).await?)
        .filter(|p| p.revoked_at.is_none() && p.expires_at > now && p.user_status == "active")
        .ok_or_else(|| Error::refused(Code::TokenInvalid, "The bearer token is unknown, expired or revoked."))
}

/// Revokes every key of a user that bears this name.
pub async fn revoke_keys(tx: &mut Tx, user_id: &str, name: &str) -> Result<u64> {
    let now = tx.now();
    Ok(
        on!(tx, conn => sqlx::query("update api_keys set revoked_at = $3 where user_id = $1 and name = $2 and revoked_at is null")
        .bind(user_id).bind(name).bind(now).execute(conn).await?.rows_affected()),
    )
}

fn digest(key: &str) -> String {
    hex(&Sha256::digest(key))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
