//! Who calls: a person by a session, or a key that acts for its owner.

use chrono::{DateTime, Utc};

use crate::api_key::{self, ApiKey};
use crate::db::Tx;
use crate::session::Session;
use crate::user::{Role, Roles, Status};
use crate::{Code, Error, Result, on};

/// By what somebody calls.
#[derive(Clone, Debug)]
pub enum Credential {
    /// A key; it has scopes, and is never a person.
    Key(ApiKey),
    /// A session of a person.
    Session(Session),
}

/// Who calls, as the rows say now: a revoked key, an ended session and a lost role bite at once.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Principal {
    /// The person, who for a key is its owner.
    pub user_id: String,
    pub email: String,
    pub roles: Roles,
    /// The organisation that the person belongs to.
    pub issuer_id: Option<String>,
    /// The investor that the person is.
    pub investor_id: Option<String>,
    /// Whether an auditor sees who people are.
    pub pii_read: bool,
    /// Whether the person has shown that the address is theirs.
    pub email_verified: bool,
    pub credential: Credential,
}

/// The person's columns beside those of the credential: one statement for each request.
#[derive(sqlx::FromRow)]
struct Owned<T> {
    #[sqlx(flatten)]
    credential: T,
    owner_email: String,
    #[sqlx(try_from = "String")]
    owner_roles: Roles,
    owner_status: Status,
    owner_issuer_id: Option<String>,
    owner_investor_id: Option<String>,
    owner_pii_read: bool,
    owner_email_verified_at: Option<DateTime<Utc>>,
}

impl<T> Owned<T> {
    fn principal(self, user_id: String, credential: impl FnOnce(T) -> Credential) -> Principal {
        let credential = credential(self.credential);
        Principal {
            user_id,
            email: self.owner_email,
            roles: self.owner_roles,
            issuer_id: self.owner_issuer_id,
            investor_id: self.owner_investor_id,
            pii_read: self.owner_pii_read,
            email_verified: self.owner_email_verified_at.is_some(),
            credential,
        }
    }
}

impl Principal {
    /// Whether a person calls, and not a key.
    pub const fn is_person(&self) -> bool {
        matches!(self.credential, Credential::Session(_))
    }

    /// The session, if a person calls.
    pub const fn session(&self) -> Option<&Session> {
        match &self.credential {
            Credential::Session(session) => Some(session),
            Credential::Key(_) => None,
        }
    }

    /// The key, if one calls.
    pub const fn key(&self) -> Option<&ApiKey> {
        match &self.credential {
            Credential::Key(key) => Some(key),
            Credential::Session(_) => None,
        }
    }

    /// Whether this role is among the person's.
    pub fn has_role(&self, role: Role) -> bool {
        self.roles.has(role)
    }

    /// Whether who people are is masked: to an auditor to whom two admins have not given more.
    pub fn sees_masked(&self) -> bool {
        self.has_role(Role::Auditor) && !self.pii_read
    }

    /// Whether the person is an investor and nothing else.
    pub fn is_only_investor(&self) -> bool {
        self.roles.list() == [Role::Investor]
    }

    /// Whether the caller may use this scope: a person may use all that the roles allow, a key what it was given.
    pub fn has_scope(&self, scope: &str) -> bool {
        self.key().is_none_or(|key| key.has_scope(scope))
    }

    /// Until when the person counts as having just shown who they are; none for a key, which cannot.
    pub fn step_up_until(&self) -> Option<DateTime<Utc>> {
        self.session().and_then(|session| session.step_up_until)
    }

    /// Whether the person has just shown again who they are.
    pub fn is_stepped_up(&self, now: DateTime<Utc>) -> bool {
        self.session().is_some_and(|session| session.is_stepped_up(now))
    }
}

/// The principal behind a key; `token_invalid` if it is unknown, expired, revoked or its owner disabled.
pub async fn by_key(tx: &mut Tx, key: &str) -> Result<Principal> {
    let now = tx.now();
    let row = on!(tx, conn => sqlx::query_as::<_, Owned<ApiKey>>(
        "select k.*, u.email as owner_email, u.roles as owner_roles, u.status as owner_status, u.issuer_id as owner_issuer_id, \
         u.email_verified_at as owner_email_verified_at, i.id as owner_investor_id, u.pii_read as owner_pii_read \
         from api_keys k join users u on u.id = k.user_id left join investors i on i.user_id = u.id where k.key_sha256 = $1")
        .bind(api_key::digest(key)).fetch_optional(conn).await?);
    row.filter(|row| {
        let key = &row.credential;
        key.revoked_at.is_none() && key.expires_at > now && row.owner_status == Status::Active
    })
    .map(|row| (row.credential.user_id.clone(), row))
    .map(|(user_id, row)| row.principal(user_id, Credential::Key))
    .ok_or_else(|| Error::refused(Code::TokenInvalid, "The bearer token is unknown, expired or revoked."))
}

/// The principal behind a session that an access token names; `session_revoked` if it ended, `account_disabled` if its person did.
pub async fn by_session(tx: &mut Tx, session_id: &str) -> Result<Principal> {
    let now = tx.now();
    let row = on!(tx, conn => sqlx::query_as::<_, Owned<Session>>(
        "select s.*, u.email as owner_email, u.roles as owner_roles, u.status as owner_status, u.issuer_id as owner_issuer_id, \
         u.email_verified_at as owner_email_verified_at, i.id as owner_investor_id, u.pii_read as owner_pii_read \
         from sessions s join users u on u.id = s.user_id left join investors i on i.user_id = u.id where s.id = $1")
        .bind(session_id).fetch_optional(conn).await?);
    let row = row.filter(|row| row.credential.is_live(now));
    let row = row.ok_or_else(|| Error::refused(Code::SessionRevoked, "The session has ended. Log in again."))?;
    if row.owner_status != Status::Active {
        return Err(Error::refused(Code::AccountDisabled, "The account is disabled."));
    }
    let user_id = row.credential.user_id.clone();
    Ok(row.principal(user_id, Credential::Session))
}

/// The investor that a person is.
pub async fn investor_of(tx: &mut Tx, user_id: &str) -> Result<Option<String>> {
    Ok(on!(tx, conn => sqlx::query_scalar::<_, String>("select id from investors where user_id = $1")
        .bind(user_id).fetch_optional(conn).await?))
}
