//! Users of the platform.

use std::collections::BTreeMap;

use chrono::{DateTime, Duration, Utc};
use sqlx::types::Json;

use crate::db::{Tx, expect_updated};
use crate::filter::CreatedBetween;
use crate::id::{IssuerId, UserId, of};
use crate::recorder::Facts;
pub use crate::role::{Role, Roles};
use crate::sql::{Sql, insert_into, sql, update_table};
use crate::total::Total;
use crate::{Code, Error, Result};
use crate::{approval, event};

/// The time for which a person who lost the access of staff still gets the mails about a lone admin.
const LATELY_DAYS: i64 = 30;

crate::words! {
    /// The status of a user.
    Status {
        /// Invited, or the address is not verified yet.
        PendingVerification = "pending_verification",
        /// Can log in.
        Active = "active",
        /// Disabled by an admin: sessions and API keys do not work.
        Disabled = "disabled",
        /// The personal data was erased.
        Erased = "erased",
    }
}

/// One row of `users`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct User {
    pub id: UserId,
    pub email: String,
    pub name: String,
    #[sqlx(try_from = "String")]
    pub roles: Roles,
    pub status: Status,
    pub password_hash: Option<String>,
    pub email_verified_at: Option<DateTime<Utc>>,
    pub locale: Option<String>,
    pub issuer_id: Option<IssuerId>,
    /// The accepted version of the platform's terms.
    pub accepted_terms_version: Option<String>,
    /// Which subjects of events the user wants mails about.
    pub notification_prefs: Json<BTreeMap<String, bool>>,
    /// Whether an auditor may see personal data.
    pub pii_read: bool,
    /// When the user last lost the access of staff.
    pub staff_until: Option<DateTime<Utc>>,
    pub version: i64,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

impl User {
    /// Whether the user can log in as an admin.
    pub fn is_admin(&self) -> bool {
        self.status == Status::Active && self.roles.has(Role::Admin)
    }

    /// Whether the user can log in as staff.
    pub fn is_working_staff(&self) -> bool {
        self.status == Status::Active && self.roles.is_staff()
    }
}

/// A user to create.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct New<'a> {
    pub email: &'a str,
    pub name: &'a str,
    pub roles: Roles,
    pub status: Status,
    pub password_hash: Option<&'a str>,
    pub issuer_id: Option<&'a IssuerId>,
}

/// The normalised form of an address, for storage and comparison: trimmed and in lower case.
pub fn normal_email(email: &str) -> String {
    email.trim().to_lowercase()
}

/// Stores a user who uses API keys, or whose password is set later.
pub async fn insert(tx: &mut Tx, email: &str, name: &str, role: Role) -> Result<UserId> {
    let (roles, status) = (Roles::only(role), Status::Active);
    create(tx, &New { email, name, roles, status, password_hash: None, issuer_id: None }).await
}

/// Stores a user; `email_taken` if the address already has an account.
pub async fn create(tx: &mut Tx, new: &New<'_>) -> Result<UserId> {
    let id = tx.new_id();
    create_with_id(tx, &id, new).await?;
    Ok(id)
}

/// Stores a user under a given id.
pub async fn create_with_id(tx: &mut Tx, id: &UserId, new: &New<'_>) -> Result<()> {
    let (now, email) = (tx.now(), normal_email(new.email));
    let rows = insert_into("users")
        .set("id", id)
        .set("email", email)
        .set("name", new.name)
        .set("roles", new.roles.to_string())
        .set("status", new.status)
        .set("password_hash", new.password_hash)
        .set("issuer_id", new.issuer_id)
        .set("version", 1)
        .set("created_at", now)
        .set("updated_at", now)
        .push(" on conflict (email) do nothing")
        .execute(tx)
        .await?;
    if rows == 0 {
        return Err(Error::refused(Code::EmailTaken, "This e-mail address already has an account."));
    }
    // With a second admin nobody acts alone any more.
    if new.status == Status::Active && new.roles.has(Role::Admin) {
        approval::clear_alone(tx).await?;
    }
    let data = serde_json::json!({ "roles": new.roles.list(), "status": new.status });
    event::write(tx, "user.created", "user", id, 1, data).await
}

/// Records the accepted version of the platform's terms.
pub async fn accept_terms(tx: &mut Tx, id: &UserId, terms_version: &str) -> Result<()> {
    let now = tx.now();
    let rows = sql("update users set accepted_terms_version = $2, accepted_terms_at = $3 where id = $1")
        .bind((id, terms_version, now))
        .execute(tx)
        .await?;
    expect_updated(rows, "user", id)?;
    event::write(tx, "user.terms_accepted", "user", id, 1, serde_json::json!({ "terms_version": terms_version })).await
}

/// The user with this id, which can be malformed.
pub async fn find(tx: &mut Tx, id: &UserId) -> Result<User> {
    id.check()?;
    sql("select * from users where id = $1")
        .bind(id)
        .optional::<User>(tx)
        .await?
        .ok_or_else(|| Error::refused(Code::NotFound, format!("There is no user {id}.")))
}

/// The user with this e-mail address.
pub async fn by_email(tx: &mut Tx, email: &str) -> Result<Option<User>> {
    sql("select * from users where email = $1").bind(normal_email(email)).optional(tx).await
}

/// The id of the user with this e-mail address.
pub async fn find_by_email(tx: &mut Tx, email: &str) -> Result<Option<UserId>> {
    Ok(by_email(tx, email).await?.map(|user| user.id))
}

/// The filter of a list. Empty means no restriction.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct Filter {
    pub statuses: Vec<Status>,
    pub created: CreatedBetween,
}

/// A page of users, newest first, and their number.
pub async fn page(tx: &mut Tx, f: &Filter, limit: i64, offset: i64) -> Result<(Vec<User>, Total)> {
    let matching = |select: Sql| {
        select.push(" from users where 1 = 1").one_of("status", &f.statuses).created::<of::User>(f.created, "")
    };
    let total = Total::count(tx, matching(sql("select count(*) from (select 1")), offset).await?;
    let rows = matching(sql("select *")).push(" order by id desc").page(limit, offset).rows(tx).await?;
    Ok((rows, total))
}

/// Locks the user's row until the commit, so that parallel requests are counted one after the other.
pub async fn lock_row(tx: &mut Tx, id: &UserId) -> Result<()> {
    sql("update users set status = status where id = $1").bind(id).execute(tx).await?;
    Ok(())
}

/// Locks the rows of all active admins until the end of the transaction, so that two admins who remove each other at once wait for each
/// other.
pub async fn lock_admins(tx: &mut Tx) -> Result<()> {
    sql("update users set status = status where roles like '%admin%' and status = 'active'").execute(tx).await?;
    Ok(())
}

/// The number of other active admins.
pub async fn other_admins(tx: &mut Tx, id: &UserId) -> Result<i64> {
    admins_besides(tx, id, id).await
}

/// The number of active admins besides these two.
pub async fn admins_besides(tx: &mut Tx, id: &UserId, other: &UserId) -> Result<i64> {
    sql("select count(*) from users where roles like '%admin%' and status = 'active' and id not in ($1, $2)")
        .bind((id, other))
        .scalar(tx)
        .await
}

/// Active staff, and those who lost that access in the last weeks.
pub async fn staff_of_late(tx: &mut Tx) -> Result<Vec<User>> {
    let oldest = tx.now() - Duration::days(LATELY_DAYS);
    sql("select * from users
        where (status = 'active' and (roles like '%admin%' or roles like '%operator%' or roles like '%auditor%'))
            or (status <> 'erased' and staff_until > $1)
        order by id")
    .bind(oldest)
    .rows(tx)
    .await
}

/// The last time at which a person lost the access of staff.
pub async fn last_staff_loss(tx: &mut Tx) -> Result<Option<DateTime<Utc>>> {
    sql("select max(staff_until) from users").scalar(tx).await
}

/// Writes the user if the version is still the one that was read, and writes the named event.
pub async fn update(tx: &mut Tx, user: &User, event: &str) -> Result<User> {
    let (now, before) = (tx.now(), find(tx, &user.id).await?);
    if before.status == Status::Erased {
        return Err(Error::refused(
            Code::InvalidState,
            format!("The personal data of {} was erased, so nothing can be added.", user.id),
        ));
    }
    let rows = update_table("users")
        .set("name", &user.name)
        .set("roles", user.roles.to_string())
        .set("status", user.status)
        .set("password_hash", &user.password_hash)
        .set("email_verified_at", user.email_verified_at)
        .set("locale", &user.locale)
        .set("issuer_id", &user.issuer_id)
        .set("notification_prefs", &user.notification_prefs)
        .set("pii_read", user.pii_read)
        .set(
            "staff_until",
            if before.is_working_staff() && !user.is_working_staff() { Some(now) } else { before.staff_until },
        )
        .set("updated_at", now)
        .with(", version = version + 1 where id = ", &user.id)
        .with(" and version = ", user.version)
        .execute(tx)
        .await?;
    expect_updated(rows, "user", &user.id)?;
    // With a second admin nobody acts alone any more.
    if user.is_admin() && !before.is_admin() {
        approval::clear_alone(tx).await?;
    }
    let data = serde_json::json!({ "roles": user.roles.list(), "status": user.status });
    event::write(tx, event, "user", &user.id, user.version + 1, data).await?;
    let after = User { version: user.version + 1, updated_at: now, ..user.clone() };
    tx.recorder().record_change(&user.id, facts(&before), facts(&after));
    Ok(after)
}

/// The fields for the audit log: permissions with values, personal data by name only.
fn facts(user: &User) -> Facts {
    let open = serde_json::json!({ "roles": user.roles.to_string(), "status": user.status, "issuer_id": user.issuer_id,
        "pii_read": user.pii_read, "email_verified_at": user.email_verified_at, "version": user.version });
    let personal = serde_json::json!({ "name": user.name, "locale": user.locale, "password_hash": user.password_hash });
    Facts::new(open, personal)
}
