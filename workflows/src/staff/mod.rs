//! Who belongs to the staff: an invitation and a change of roles, each asked for by one admin and allowed by another.

pub mod api_key;
pub mod member;
pub mod policy;

use muniment_domain::db::Tx;
use muniment_domain::email_link::{self, Purpose};
use muniment_domain::user::{self, Role, Roles, Status};
use muniment_domain::{Code, Error, Result, session};
use serde::{Deserialize, Serialize};

use crate::approval::action::About;

/// Somebody new.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Invite {
    /// The account that it will make.
    #[serde(default)]
    pub user_id: String,
    /// Where the invitation goes.
    pub email: String,
    /// The person's name.
    pub name: String,
    /// What they will be.
    pub roles: Vec<Role>,
    /// Why.
    pub reason: String,
}

/// Other roles for somebody.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SetRoles {
    /// Whose.
    pub user_id: String,
    /// All that they have afterwards.
    pub roles: Vec<Role>,
    /// Whether an auditor sees who people are.
    #[serde(default)]
    pub pii_read: bool,
    /// Why.
    pub reason: String,
}

impl Invite {
    /// What it is about.
    pub fn about(&self) -> About {
        About {
            subject_type: "user",
            subject_id: self.user_id.clone(),
            offering_id: None,
            amount: None,
            reason: Some(self.reason.clone()),
            live_key: format!("invite:{}", user::normal_email(&self.email)),
        }
    }

    /// Refuses a taken address and roles that nobody may have together.
    pub async fn check(&self, tx: &mut Tx) -> Result<()> {
        Roles::new(&self.roles)?;
        match user::by_email(tx, &self.email).await? {
            None => Ok(()),
            Some(_) => Err(Error::refused(Code::EmailTaken, "There is an account with this e-mail address.")),
        }
    }

    /// Makes the account, which opens nothing before the person has followed the mail and set a password.
    pub async fn execute(self, tx: &mut Tx) -> Result<()> {
        let roles = Roles::new(&self.roles)?;
        let status = Status::PendingVerification;
        let (email, name) = (self.email.as_str(), self.name.as_str());
        let new = user::New { email, name, roles, status, password_hash: None, issuer_id: None };
        user::create_as(tx, &self.user_id, &new).await?;
        email_link::insert(tx, &self.user_id, Purpose::Invitation).await?;
        Ok(())
    }
}

impl SetRoles {
    /// What it is about.
    pub fn about(&self) -> About {
        About {
            subject_type: "user",
            subject_id: self.user_id.clone(),
            offering_id: None,
            amount: None,
            reason: Some(self.reason.clone()),
            live_key: format!("set_roles:{}", self.user_id),
        }
    }

    /// Refuses what changes nothing, what nobody may have together, and what would leave the platform without an admin.
    pub async fn check(&self, tx: &mut Tx) -> Result<()> {
        let roles = Roles::new(&self.roles)?;
        if self.pii_read && !roles.has(Role::Auditor) {
            return Err(Error::field("/pii_read", "unexpected", "This is for auditors; others see what they work on."));
        }
        let person = user::find(tx, &self.user_id).await?;
        if (&person.roles, person.pii_read) == (&roles, self.pii_read) {
            return Err(Error::refused(Code::InvalidState, format!("{} has these roles already.", person.id)));
        }
        if person.roles.has(Role::Admin) && !roles.has(Role::Admin) {
            another_admin(tx, &person.id).await?;
        }
        Ok(())
    }

    /// Sets them. Every session of the person ends: whoever has other rights shows again who they are.
    pub async fn execute(self, tx: &mut Tx) -> Result<()> {
        self.check(tx).await?;
        let mut person = user::find(tx, &self.user_id).await?;
        person.roles = Roles::new(&self.roles)?;
        person.pii_read = self.pii_read;
        user::update(tx, &person, "user.roles_changed").await?;
        session::revoke_all(tx, &self.user_id, None, "roles_changed").await
    }
}

/// Whether a change of roles touches the staff, and so needs a second admin.
pub fn concerns_staff(before: &Roles, after: &Roles) -> bool {
    before.is_staff() || after.is_staff()
}

/// Refuses to take the last admin away: nobody could ever make another one but on the host.
pub async fn another_admin(tx: &mut Tx, user_id: &str) -> Result<()> {
    if user::other_admins(tx, user_id).await? == 0 {
        let detail = "This is the last admin. Make another one first, on the host: `muniment admin user create`.";
        return Err(Error::refused(Code::InvalidState, detail));
    }
    Ok(())
}
