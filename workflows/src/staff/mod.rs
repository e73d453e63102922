//! Staff and members. An invitation to the staff, and a change of its roles or access, are requested by one admin and approved by another.
//!
//! The members of an issuer invite and remove each other (`member`). A suspension of the issuer stops their changes in
//! `api/src/access/admit.rs`; the eligibility rules of a subscription check it too.

pub mod access;
pub mod api_key;
pub mod member;
pub mod policy;

use muniment_domain::api_key as domain_keys;
use muniment_domain::db::Tx;
use muniment_domain::email_link::{self, Purpose};
use muniment_domain::id::{IssuerId, UserId};
use muniment_domain::user::{self, Role, Roles, Status, User};
use muniment_domain::{Code, Error, Result, issuer, session};
use serde::{Deserialize, Serialize};

use crate::approval_request::About;

/// A request to invite a new member of staff.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Invite {
    /// The id of the account that will be created.
    #[serde(default)]
    pub user_id: UserId,
    /// The address of the invitation.
    pub email: String,
    /// The person's name.
    pub name: String,
    /// The person's roles.
    pub roles: Vec<Role>,
    /// The reason.
    pub reason: String,
}

/// A request to change a person's roles.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SetRoles {
    /// The person.
    pub user_id: UserId,
    /// All roles after the change.
    pub roles: Vec<Role>,
    /// Whether an auditor can read personal data.
    #[serde(default)]
    pub pii_read: bool,
    /// The reason.
    pub reason: String,
}

impl Invite {
    /// What the approval shows.
    pub fn about(&self) -> About {
        About::of(
            "user",
            &self.user_id,
            Some(self.reason.clone()),
            format!("invite:{}", user::normal_email(&self.email)),
        )
    }

    /// Refuses an address that has an account, and roles that exclude each other.
    pub async fn check(&self, tx: &mut Tx) -> Result<()> {
        Roles::new(&self.roles)?;
        match user::by_email(tx, &self.email).await? {
            None => Ok(()),
            Some(_) => Err(Error::refused(Code::EmailTaken, "An account with this e-mail address already exists.")),
        }
    }

    /// Creates the account. It has no access until the person follows the link in the mail and sets a password.
    pub async fn execute(self, tx: &mut Tx) -> Result<()> {
        let roles = Roles::new(&self.roles)?;
        let status = Status::PendingVerification;
        let (email, name) = (self.email.as_str(), self.name.as_str());
        let new = user::New { email, name, roles, status, password_hash: None, issuer_id: None };
        user::create_with_id(tx, &self.user_id, &new).await?;
        email_link::insert(tx, &self.user_id, Purpose::Invitation).await?;
        Ok(())
    }
}

impl SetRoles {
    /// What the approval shows.
    pub fn about(&self) -> About {
        About::of("user", &self.user_id, Some(self.reason.clone()), format!("set_roles:{}", self.user_id))
    }

    /// Refuses a change without effect, roles that exclude each other, and the removal of the last admin or of the last member of an
    /// issuer.
    pub async fn check(&self, tx: &mut Tx) -> Result<()> {
        let roles = Roles::new(&self.roles)?;
        if self.pii_read && !roles.has(Role::Auditor) {
            return Err(Error::field(
                "/pii_read",
                "unexpected",
                "Only an auditor can have pii_read. Other staff can read the personal data that they work on.",
            ));
        }
        let person = user::find(tx, &self.user_id).await?;
        if (&person.roles, person.pii_read) == (&roles, self.pii_read) {
            return Err(Error::refused(Code::InvalidState, format!("{} already has these roles.", person.id)));
        }
        if person.roles.has(Role::Admin) && !roles.has(Role::Admin) {
            another_admin(tx, &person.id).await?;
        }
        match self.issuer_left_by(&person) {
            Some(issuer_id) => member::another_member(tx, issuer_id, &person.id).await,
            None => Ok(()),
        }
    }

    /// The issuer that the person stops being a member of.
    fn issuer_left_by<'a>(&self, person: &'a User) -> Option<&'a IssuerId> {
        person.issuer_id.as_ref().filter(|_| !self.roles.contains(&Role::Issuer))
    }

    /// Sets the roles. Every session of the person ends, so that the new rights need a new login. So do the keys of a person who joins the
    /// staff, because keys of the platform take two admins, and of one who leaves an issuer, whose members no longer see them. The issuer's
    /// row is locked, as when members remove each other.
    pub async fn execute(self, tx: &mut Tx) -> Result<()> {
        user::lock_admins(tx).await?;
        if let Some(issuer_id) = self.issuer_left_by(&user::find(tx, &self.user_id).await?) {
            issuer::lock_row(tx, issuer_id).await?;
        }
        self.check(tx).await?;
        let mut person = user::find(tx, &self.user_id).await?;
        let (was_staff, leaves) = (person.roles.is_staff(), self.issuer_left_by(&person).is_some());
        person.roles = Roles::new(&self.roles)?;
        person.pii_read = self.pii_read;
        if leaves {
            person.issuer_id = None;
        }
        user::update(tx, &person, "user.roles_changed").await?;
        if leaves || (person.roles.is_staff() && !was_staff) {
            domain_keys::revoke_all(tx, &self.user_id).await?;
        }
        session::revoke_all(tx, &self.user_id, None, "roles_changed").await
    }
}

/// Whether a change of roles concerns staff, and so needs a second admin.
pub fn concerns_staff(before: &Roles, after: &Roles) -> bool {
    before.is_staff() || after.is_staff()
}

/// Refuses to remove the last admin: a new one could then only be created on the host.
pub async fn another_admin(tx: &mut Tx, user_id: &UserId) -> Result<()> {
    if user::other_admins(tx, user_id).await? == 0 {
        let detail = "This is the last admin. Create another one first, on the host: `muniment admin user create`.";
        return Err(Error::refused(Code::InvalidState, detail));
    }
    Ok(())
}
