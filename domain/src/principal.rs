//! The caller of a request: a person in a session, or an API key that acts for its owner.

use chrono::{DateTime, Utc};

use crate::api_key::{self, ApiKey};
use crate::db::Tx;
use crate::id::{InvestorId, IssuerId, SessionId, UserId};
use crate::session::Session;
use crate::sql::sql;
use crate::user::{Role, Roles, Status};
use crate::{Code, Error, Result};

/// The credential of a caller.
#[derive(Clone, Debug)]
pub enum Credential {
    /// An API key with scopes.
    Key(ApiKey),
    /// A session of a person.
    Session(Session),
}

/// The caller, read on every request: a revoked key, an ended session and a lost role take effect at once.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Principal {
    /// The person; for an API key its owner.
    pub user_id: UserId,
    pub email: String,
    pub roles: Roles,
    /// The issuer that the person is a member of.
    pub issuer_id: Option<IssuerId>,
    /// The investor record of the person.
    pub investor_id: Option<InvestorId>,
    /// Whether an auditor may see personal data.
    pub pii_read: bool,
    /// Whether the e-mail address is verified.
    pub email_verified: bool,
    pub credential: Credential,
}

/// The credential with the columns of its owner, read in one statement per request.
#[derive(sqlx::FromRow)]
struct Owned<T> {
    #[sqlx(flatten)]
    credential: T,
    owner_email: String,
    #[sqlx(try_from = "String")]
    owner_roles: Roles,
    owner_status: Status,
    owner_issuer_id: Option<IssuerId>,
    owner_investor_id: Option<InvestorId>,
    owner_pii_read: bool,
    owner_email_verified_at: Option<DateTime<Utc>>,
}

impl<T> Owned<T> {
    fn principal(self, user_id: UserId, credential: impl FnOnce(T) -> Credential) -> Principal {
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
    /// Whether a person calls, not an API key.
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

    /// The API key, if a program calls.
    pub const fn key(&self) -> Option<&ApiKey> {
        match &self.credential {
            Credential::Key(key) => Some(key),
            Credential::Session(_) => None,
        }
    }

    /// Whether the person has this role.
    pub fn has_role(&self, role: Role) -> bool {
        self.roles.has(role)
    }

    /// Whether personal data is masked: for auditors without the permission of two admins.
    pub fn is_masked(&self) -> bool {
        self.has_role(Role::Auditor) && !self.pii_read
    }

    /// Whether the only role is investor.
    pub fn is_only_investor(&self) -> bool {
        self.roles.list() == [Role::Investor]
    }

    /// Whether the caller may use this scope. A session has all scopes of its roles.
    pub fn has_scope(&self, scope: &str) -> bool {
        self.key().is_none_or(|key| key.has_scope(scope))
    }

    /// Until when the last step-up counts; none for an API key, which cannot step up.
    pub fn step_up_until(&self) -> Option<DateTime<Utc>> {
        self.session().and_then(|session| session.step_up_until)
    }

    /// Whether the person has authenticated again recently.
    pub fn is_stepped_up(&self, now: DateTime<Utc>) -> bool {
        self.session().is_some_and(|session| session.is_stepped_up(now))
    }
}

/// The caller with an API key; `token_invalid` if the key is unknown, expired or revoked, or its owner disabled.
pub async fn by_key(tx: &mut Tx, key: &str) -> Result<Principal> {
    let now = tx.now();
    let row = sql("select k.*, u.email as owner_email, u.roles as owner_roles, u.status as owner_status,
            u.issuer_id as owner_issuer_id, u.email_verified_at as owner_email_verified_at,
            i.id as owner_investor_id, u.pii_read as owner_pii_read
        from api_keys k join users u on u.id = k.user_id left join investors i on i.user_id = u.id
        where k.key_sha256 = $1")
    .bind(api_key::digest(key))
    .optional::<Owned<ApiKey>>(tx)
    .await?;
    // One error for all cases, so that a caller cannot probe for keys.
    row.filter(|row| {
        let key = &row.credential;
        key.revoked_at.is_none() && key.expires_at > now && row.owner_status == Status::Active
    })
    .map(|row| (row.credential.user_id.clone(), row))
    .map(|(user_id, row)| row.principal(user_id, Credential::Key))
    .ok_or_else(|| Error::refused(Code::TokenInvalid, "The bearer token is unknown, expired or revoked."))
}

/// The caller with a session; `session_revoked` if the session has ended, `account_disabled` if the account is disabled.
pub async fn by_session(tx: &mut Tx, session_id: &SessionId) -> Result<Principal> {
    let now = tx.now();
    let row = sql("select s.*, u.email as owner_email, u.roles as owner_roles, u.status as owner_status,
            u.issuer_id as owner_issuer_id, u.email_verified_at as owner_email_verified_at,
            i.id as owner_investor_id, u.pii_read as owner_pii_read
        from sessions s join users u on u.id = s.user_id left join investors i on i.user_id = u.id
        where s.id = $1")
    .bind(session_id)
    .optional::<Owned<Session>>(tx)
    .await?;
    let row = row.filter(|row| row.credential.is_live(now));
    let row = row.ok_or_else(|| Error::refused(Code::SessionRevoked, "The session has ended. Log in again."))?;
    if row.owner_status != Status::Active {
        return Err(Error::refused(Code::AccountDisabled, "The account is disabled."));
    }
    let user_id = row.credential.user_id.clone();
    Ok(row.principal(user_id, Credential::Session))
}

/// The investor record of a user.
pub async fn investor_of(tx: &mut Tx, user_id: &UserId) -> Result<Option<InvestorId>> {
    sql("select id from investors where user_id = $1").bind(user_id).optional_scalar(tx).await
}
