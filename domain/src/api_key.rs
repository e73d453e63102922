//! API keys: they act for their owner, with the scopes that they were given and never more. Stored as SHA-256, shown once.

use chrono::{DateTime, Duration, Utc};
use serde_json::json;
use sha2::{Digest, Sha256};
use sqlx::QueryBuilder;

use crate::audit::Facts;
use crate::db::{Tx, touched};
use crate::narrow::Created;
use crate::{Code, Error, Result, event, on, user};

/// How many characters of a key are kept, so that its owner knows it again.
const PREFIX_LENGTH: usize = 13;

/// A key as its row has it.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct ApiKey {
    pub id: String,
    pub user_id: String,
    pub name: String,
    pub prefix: String,
    pub scopes: String,
    /// The networks it may come from, separated by blanks; none for any.
    pub allowed_cidrs: String,
    pub per_minute: Option<i64>,
    pub expires_at: DateTime<Utc>,
    pub revoked_at: Option<DateTime<Utc>>,
    pub replaced_by: Option<String>,
    /// What another admin allowed, for a key of the platform.
    pub approval_id: Option<String>,
    pub created_at: DateTime<Utc>,
}

impl ApiKey {
    /// Whether the key was given this scope.
    pub fn has_scope(&self, scope: &str) -> bool {
        self.scopes.split(' ').any(|given| given == scope)
    }
}

/// A key to be made.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct New<'a> {
    pub user_id: &'a str,
    pub name: &'a str,
    pub scopes: &'a str,
    pub allowed_cidrs: &'a str,
    pub per_minute: Option<i64>,
    pub expires_at: DateTime<Utc>,
    pub approval_id: Option<&'a str>,
    pub secret: [u8; 32],
}

/// Stores a key and returns its id and the key itself, which cannot be read again. Of one approval one key is made.
pub async fn insert(tx: &mut Tx, new: &New<'_>) -> Result<(String, String)> {
    let key = format!("rap_live_{}", hex(&new.secret));
    let (id, now) = (tx.new_id("key"), tx.now());
    let rows = on!(tx, conn => sqlx::query(
        "insert into api_keys (id, user_id, name, prefix, key_sha256, scopes, allowed_cidrs, per_minute, expires_at, created_at, approval_id) \
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) on conflict do nothing")
        .bind(&id).bind(new.user_id).bind(new.name).bind(&key[..PREFIX_LENGTH]).bind(digest(&key)).bind(new.scopes)
        .bind(new.allowed_cidrs).bind(new.per_minute).bind(new.expires_at).bind(now).bind(new.approval_id)
        .execute(conn).await?.rows_affected());
    if rows == 0 {
        let detail = "The key was made, and shown once. Who has lost it revokes it, and asks for another one.";
        return Err(Error::refused(Code::InvalidState, detail));
    }
    let data = json!({ "user_id": new.user_id, "scopes": new.scopes.split(' ').collect::<Vec<_>>() });
    event::write(tx, "api_key.created", "api_key", &id, 1, data).await?;
    Ok((id, key))
}

/// Refuses one key more than somebody may have in use. Who makes several at once makes them one after the other.
pub async fn make_room(tx: &mut Tx, user_id: &str, max: i64) -> Result<()> {
    let now = tx.now();
    user::hold(tx, user_id).await?;
    let used = on!(tx, conn => sqlx::query_scalar::<_, i64>(
        "select count(*) from api_keys where user_id = $1 and revoked_at is null and replaced_by is null and expires_at > $2")
        .bind(user_id).bind(now).fetch_one(conn).await?);
    if used < max {
        return Ok(());
    }
    Err(Error::refused(
        Code::InvalidState,
        format!("There are {used} keys in use, which is the most. Revoke one first."),
    ))
}

/// Stores a key without any restriction but its scopes, and returns it.
pub async fn issue(
    tx: &mut Tx,
    user_id: &str,
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

/// Whose keys somebody sees.
#[derive(Clone, Copy, Debug)]
pub enum Whose<'a> {
    /// Everybody's.
    All,
    /// Those of the people of an organisation.
    Organisation(&'a str),
    /// One's own.
    Own(&'a str),
}

/// Writes whose keys are meant; a macro, because a builder names its database.
macro_rules! of {
    ($query:expr, $whose:expr) => {
        match $whose {
            Whose::All => $query.push(" where 1 = 1"),
            Whose::Own(user_id) => $query.push(" where user_id = ").push_bind(user_id.to_owned()),
            Whose::Organisation(id) => $query
                .push(" where user_id in (select id from users where issuer_id = ")
                .push_bind(id.to_owned())
                .push(")"),
        }
    };
}

/// One key that somebody sees.
pub async fn find(tx: &mut Tx, id: &str, whose: Whose<'_>) -> Result<ApiKey> {
    crate::id::check("key", id)?;
    on!(tx, conn => {
        let mut query = QueryBuilder::new("select * from api_keys");
        of!(query, whose).push(" and id = ").push_bind(id.to_owned());
        query.build_query_as::<ApiKey>().fetch_optional(conn).await?
    })
    .ok_or_else(|| Error::refused(Code::NotFound, format!("There is no key {id}.")))
}

/// One page of the keys that somebody sees, the newest first, and how many there are.
pub async fn page(
    tx: &mut Tx,
    whose: Whose<'_>,
    created: Created,
    limit: i64,
    offset: i64,
) -> Result<(Vec<ApiKey>, i64)> {
    let rows = on!(tx, conn => {
        let mut query = QueryBuilder::new("select * from api_keys");
        of!(query, whose);
        created.narrow(&mut query, "", "key");
        query.push(" order by id desc limit ").push_bind(limit).push(" offset ").push_bind(offset);
        query.build_query_as::<ApiKey>().fetch_all(conn).await?
    });
    let total = on!(tx, conn => {
        let mut query = QueryBuilder::new("select count(*) from api_keys");
        of!(query, whose);
        created.narrow(&mut query, "", "key");
        query.build_query_scalar::<i64>().fetch_one(conn).await?
    });
    Ok((rows, total))
}

/// Names the key that takes this one's place, and lets this one live no longer than until then.
pub async fn replace(tx: &mut Tx, key: &ApiKey, by: &str, until: DateTime<Utc>) -> Result<()> {
    let rows = on!(tx, conn => sqlx::query(
        "update api_keys set replaced_by = $2, expires_at = $3 where id = $1 and replaced_by is null and revoked_at is null")
        .bind(&key.id).bind(by).bind(until.min(key.expires_at)).execute(conn).await?.rows_affected());
    touched(rows, "API key", &key.id)?;
    let after = ApiKey { replaced_by: Some(by.to_owned()), expires_at: until.min(key.expires_at), ..key.clone() };
    tx.doing().changed(&key.id, facts(key), facts(&after));
    event::write(tx, "api_key.rotated", "api_key", &key.id, 2, json!({ "replaced_by": by })).await
}

/// Revokes a key; once is enough.
pub async fn revoke(tx: &mut Tx, key: &ApiKey) -> Result<()> {
    let now = tx.now();
    let rows = on!(tx, conn => sqlx::query("update api_keys set revoked_at = $2 where id = $1 and revoked_at is null")
        .bind(&key.id).bind(now).execute(conn).await?.rows_affected());
    if rows == 1 {
        tx.doing().changed(&key.id, facts(key), facts(&ApiKey { revoked_at: Some(now), ..key.clone() }));
        event::write(tx, "api_key.revoked", "api_key", &key.id, 3, json!({ "user_id": key.user_id })).await?;
    }
    Ok(())
}

/// What the audit log may show of it.
fn facts(key: &ApiKey) -> Facts {
    let open = json!({
        "scopes": key.scopes, "allowed_cidrs": key.allowed_cidrs, "per_minute": key.per_minute, "expires_at": key.expires_at,
        "revoked_at": key.revoked_at, "replaced_by": key.replaced_by,
    });
    Facts::new(open, json!({ "name": key.name }))
}

/// Revokes every key of a user.
pub async fn revoke_all(tx: &mut Tx, user_id: &str) -> Result<()> {
    let used = on!(tx, conn => sqlx::query_as::<_, ApiKey>("select * from api_keys where user_id = $1 and revoked_at is null")
        .bind(user_id).fetch_all(conn).await?);
    for key in used {
        revoke(tx, &key).await?;
    }
    Ok(())
}

/// Revokes every key of a user that bears this name.
pub async fn revoke_named(tx: &mut Tx, user_id: &str, name: &str) -> Result<u64> {
    let now = tx.now();
    Ok(
        on!(tx, conn => sqlx::query("update api_keys set revoked_at = $3 where user_id = $1 and name = $2 and revoked_at is null")
        .bind(user_id).bind(name).bind(now).execute(conn).await?.rows_affected()),
    )
}

/// How a key stands in its row.
pub(crate) fn digest(key: &str) -> String {
    hex(&Sha256::digest(key))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
