//! The access of a person: disabling, enabling, and ending the sessions. For staff one admin requests it and another approves it: taking
//! people away decides who is left to approve, so it is as hard as letting them in.

use muniment_domain::db::Tx;
use muniment_domain::id::UserId;
use muniment_domain::user::{self, Role, Status, User};
use muniment_domain::{Code, Error, Result, session};
use serde::{Deserialize, Serialize};

use super::another_admin;
use crate::approval_request::About;
pub use crate::approval_request::lone_admin::CHANGE_ACCESS as ACTION;

/// A change of a person's access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Ends every session and refuses logins and API keys.
    #[default]
    Disable,
    /// Lets a disabled person log in again.
    Enable,
    /// Ends every session.
    RevokeSessions,
}

/// A request to change a person's access.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    /// The person.
    pub user_id: UserId,
    /// The change.
    pub change: Change,
    /// The reason.
    pub reason: Option<String>,
}

impl Request {
    /// What the approval shows. Only one change of a person can wait for approval.
    pub fn about(&self) -> About {
        About::of("user", &self.user_id, self.reason.clone(), format!("{ACTION}:{}", self.user_id))
    }

    /// Refuses a change without effect, and the removal of the last admin.
    pub async fn check(&self, tx: &mut Tx) -> Result<()> {
        let person = user::find(tx, &self.user_id).await?;
        let fits = match self.change {
            Change::Disable => matches!(person.status, Status::Active | Status::PendingVerification),
            Change::Enable => person.status == Status::Disabled,
            Change::RevokeSessions => true,
        };
        if !fits {
            return Err(Error::refused(Code::InvalidState, format!("{} is {}.", person.id, person.status)));
        }
        if self.change == Change::Disable && person.roles.has(Role::Admin) {
            another_admin(tx, &person.id).await?;
        }
        Ok(())
    }

    /// Makes the change and returns the person.
    pub async fn execute(self, tx: &mut Tx) -> Result<User> {
        if self.change == Change::Disable {
            user::lock_admins(tx).await?;
        }
        self.check(tx).await?;
        let person = user::find(tx, &self.user_id).await?;
        let reason = if self.change == Change::Disable { "account_disabled" } else { "ended_by_admin" };
        let person = match self.change {
            Change::Disable => user::update(tx, &User { status: Status::Disabled, ..person }, "user.disabled").await?,
            Change::Enable => {
                return user::update(tx, &User { status: Status::Active, ..person }, "user.enabled").await;
            }
            Change::RevokeSessions => person,
        };
        session::revoke_all(tx, &person.id, None, reason).await?;
        Ok(person)
    }
}
