//! Users: the people of the platform.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use sqlx::QueryBuilder;
use sqlx::types::Json;

use crate::audit::Facts;
use crate::db::{Tx, touched};
use crate::narrow::{self, Created};
pub use crate::role::{Role, Roles};
use crate::total::Total;
use crate::{Code, Error, Result, on};
use crate::{approval, event};

crate::words! {
    /// How far a person is.
    Status {
        /// Invited, or the address is not proved yet.
        PendingVerification = "pending_verification",
        /// May log in.
        Active = "active",
        /// Was shut out by an admin; nothing of theirs works.
        Disabled = "disabled",
        /// Asked to be forgotten.
        Erased = "erased",
    }
}

/// A person.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct User {
    pub id: String,
    pub email: String,
    pub name: String,
    #[sqlx(try_from = "String")]
    pub roles: Roles,
    pub status: Status,
    pub password_hash: Option<String>,
    pub email_verified_at: Option<DateTime<Utc>>,
    pub locale: Option<String>,
    pub issuer_id: Option<String>,
    /// The terms of the platform to which the person said yes.
    pub accepted_terms_version: Option<String>,
    /// What the person wants to be told of by mail: subjects of events, each with yes or no.
    pub notification_prefs: Json<BTreeMap<String, bool>>,
    /// Whether an auditor sees who people are.
    pub pii_read: bool,
    pub version: i64,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

impl User {
    /// Whether this person may log in as an admin.
    pub fn is_admin(&self) -> bool {
        self.status == Status::Active && self.roles.has(Role::Admin)
    }
}

/// Somebody new.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct New<'a> {
    pub email: &'a str,
    pub name: &'a str,
    pub roles: Roles,
    pub status: Status,
    pub password_hash: Option<&'a str>,
    pub issuer_id: Option<&'a str>,
}

/// An address as it is stored and compared: without the blanks around it and in small letters.
pub fn normal_email(email: &str) -> String {
    email.trim().to_lowercase()
}

/// Stores a user who acts by keys, or whose password is set later.
pub async fn insert(tx: &mut Tx, email: &str, name: &str, role: Role) -> Result<String> {
    let (roles, status) = (Roles::only(role), Status::Active);
    create(tx, &New { email, name, roles, status, password_hash: None, issuer_id: None }).await
}

/// Stores a user; `email_taken` if somebody has the address.
pub async fn create(tx: &mut Tx, new: &New<'_>) -> Result<String> {
    let id = tx.new_id("usr");
    create_as(tx, &id, new).await?;
    Ok(id)
}

/// The same under an id that was given before.
pub async fn create_as(tx: &mut Tx, id: &str, new: &New<'_>) -> Result<()> {
    let (now, email) = (tx.now(), normal_email(new.email));
    let rows = on!(tx, conn => sqlx::query(
        "insert into users (id, email, name, roles, status, password_hash, issuer_id, version, created_at, updated_at) \
         values ($1, $2, $3, $4, $5, $6, $7, 1, $8, $8) on conflict (email) do nothing")
        .bind(id).bind(email).bind(new.name).bind(new.roles.to_string()).bind(new.status).bind(new.password_hash).bind(new.issuer_id)
        .bind(now).execute(conn).await?.rows_affected());
    if rows == 0 {
        return Err(Error::refused(Code::EmailTaken, "There is an account with this e-mail address."));
    }
    if new.status == Status::Active && new.roles.has(Role::Admin) {
        approval::end_alone(tx).await?;
    }
    let data = serde_json::json!({ "roles": new.roles.list(), "status": new.status });
    event::write(tx, "user.created", "user", id, 1, data).await
}

/// Writes down to which terms of the platform somebody said yes.
pub async fn accept_terms(tx: &mut Tx, id: &str, terms_version: &str) -> Result<()> {
    let now = tx.now();
    let rows = on!(tx, conn => sqlx::query("update users set accepted_terms_version = $2, accepted_terms_at = $3 where id = $1")
        .bind(id).bind(terms_version).bind(now).execute(conn).await?.rows_affected());
    touched(rows, "user", id)?;
    event::write(tx, "user.terms_accepted", "user", id, 1, serde_json::json!({ "terms_version": terms_version })).await
}

/// The user with this id, which may be malformed.
pub async fn find(tx: &mut Tx, id: &str) -> Result<User> {
    crate::id::check("usr", id)?;
    on!(tx, conn => sqlx::query_as::<_, User>("select * from users where id = $1").bind(id).fetch_optional(conn).await?)
        .ok_or_else(|| Error::refused(Code::NotFound, format!("There is no user {id}.")))
}

/// The user with this e-mail address.
pub async fn by_email(tx: &mut Tx, email: &str) -> Result<Option<User>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, User>("select * from users where email = $1")
        .bind(normal_email(email)).fetch_optional(conn).await?))
}

/// The id of the user with this e-mail address.
pub async fn find_by_email(tx: &mut Tx, email: &str) -> Result<Option<String>> {
    Ok(by_email(tx, email).await?.map(|user| user.id))
}

/// Which users are meant. What is empty restricts nothing.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct Filter {
    pub statuses: Vec<Status>,
    pub created: Created,
}

/// One page of the users, the newest first, and how many there are.
pub async fn page(tx: &mut Tx, f: &Filter, limit: i64, offset: i64) -> Result<(Vec<User>, Total)> {
    let words = || f.statuses.iter().map(|status| status.as_str());
    let count = on!(tx, conn => {
        let mut query = QueryBuilder::new("select count(*) from (select 1 from users where 1 = 1");
        narrow::words(&mut query, "status", words());
        f.created.narrow(&mut query, "", "usr");
        query.push(" limit ").push_bind(Total::bound(offset)).push(") as counted");
        query.build_query_scalar::<i64>().fetch_one(conn).await?
    });
    let rows = on!(tx, conn => {
        let mut query = QueryBuilder::new("select * from users where 1 = 1");
        narrow::words(&mut query, "status", words());
        f.created.narrow(&mut query, "", "usr");
        query.push(" order by id desc limit ").push_bind(limit).push(" offset ").push_bind(offset);
        query.build_query_as::<User>().fetch_all(conn).await?
    });
    Ok((rows, Total::counted(count, offset)))
}

/// Takes the row of a person for this commit: what several requests of theirs count at once, they count one after the other.
pub async fn hold(tx: &mut Tx, id: &str) -> Result<()> {
    on!(tx, conn => sqlx::query("update users set status = status where id = $1").bind(id).execute(conn).await?.rows_affected());
    Ok(())
}

/// How many people other than this one may log in as an admin. They stay so until the end of the transaction: two admins who take
/// each other away at once wait for one another here.
pub async fn other_admins(tx: &mut Tx, id: &str) -> Result<i64> {
    on!(tx, conn => sqlx::query("update users set status = status where roles like '%admin%' and status = 'active'")
        .execute(conn).await?.rows_affected());
    Ok(on!(tx, conn => sqlx::query_scalar::<_, i64>(
        "select count(*) from users where roles like '%admin%' and status = 'active' and id <> $1")
        .bind(id).fetch_one(conn).await?))
}

/// Those of the platform's own people who may log in.
pub async fn staff(tx: &mut Tx) -> Result<Vec<User>> {
    let active = on!(tx, conn => sqlx::query_as::<_, User>(
        "select * from users where status = 'active' and (roles like '%admin%' or roles like '%operator%' or roles like '%auditor%') order by id")
        .fetch_all(conn).await?);
    Ok(active)
}

/// Writes what may change of a user, guarded by the version that was read, and tells of it under this name.
pub async fn update(tx: &mut Tx, user: &User, event: &str) -> Result<User> {
    let (now, before) = (tx.now(), find(tx, &user.id).await?);
    if before.status == Status::Erased {
        return Err(Error::refused(Code::InvalidState, format!("Who {} is was forgotten: nothing is added.", user.id)));
    }
    let rows = on!(tx, conn => sqlx::query(
        "update users set name = $3, roles = $4, status = $5, password_hash = $6, email_verified_at = $7, locale = $8, issuer_id = $9, \
         notification_prefs = $11, pii_read = $12, version = version + 1, updated_at = $10 where id = $1 and version = $2")
        .bind(&user.id).bind(user.version).bind(&user.name).bind(user.roles.to_string()).bind(user.status).bind(&user.password_hash)
        .bind(user.email_verified_at).bind(&user.locale).bind(&user.issuer_id).bind(now).bind(&user.notification_prefs)
        .bind(user.pii_read).execute(conn).await?.rows_affected());
    touched(rows, "user", &user.id)?;
    if user.is_admin() && !before.is_admin() {
        approval::end_alone(tx).await?;
    }
    let data = serde_json::json!({ "roles": user.roles.list(), "status": user.status });
    event::write(tx, event, "user", &user.id, user.version + 1, data).await?;
    let after = User { version: user.version + 1, updated_at: now, ..user.clone() };
    tx.doing().changed(&user.id, facts(&before), facts(&after));
    Ok(after)
}

/// What the audit log may show of somebody: what they may do, and not who they are.
fn facts(user: &User) -> Facts {
    let open = serde_json::json!({ "roles": user.roles.to_string(), "status": user.status, "issuer_id": user.issuer_id,
        "pii_read": user.pii_read, "email_verified_at": user.email_verified_at, "version": user.version });
    let personal = serde_json::json!({ "name": user.name, "locale": user.locale, "password_hash": user.password_hash });
    Facts::new(open, personal)
}
