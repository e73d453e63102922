//! The members of an issuer: one member invites or removes another. At least one member always remains.

use muniment_domain::db::Tx;
use muniment_domain::email_link::{self, Purpose};
use muniment_domain::id::{IssuerId, UserId};
use muniment_domain::user::{self, Role, Roles, Status, User};
use muniment_domain::{Code, Error, Result, api_key, issuer, member, session};

use crate::limits;
use crate::settings::Settings;

/// The limit of members of an issuer.
const MEMBERS_MAX: i64 = 100;

/// Creates an account for a new member. It has no access until the person follows the link in the mail and sets a password. Only an issuer
/// that an operator approved sends mails to strangers, and only so many in one day.
pub async fn invite(tx: &mut Tx, settings: &Settings, issuer_id: &IssuerId, email: &str, name: &str) -> Result<User> {
    issuer::lock_row(tx, issuer_id).await?;
    issuer::active(tx, issuer_id).await?;
    let most = limits::current(tx, settings).await?.1.issuer_invitations_per_day;
    if !member::count_invitation(tx, issuer_id, most).await? {
        let detail = format!("The issuer has invited {most} members today, the maximum. Invite more tomorrow.");
        return Err(Error::refused(Code::InvalidState, detail));
    }
    if member::page(tx, issuer_id, 1, 0).await?.1 >= MEMBERS_MAX {
        let detail = format!("The issuer already has {MEMBERS_MAX} members, the maximum.");
        return Err(Error::refused(Code::InvalidState, detail));
    }
    let (roles, status) = (Roles::only(Role::Issuer), Status::PendingVerification);
    let new = user::New { email, name, roles, status, password_hash: None, issuer_id: Some(issuer_id) };
    let id = user::create(tx, &new).await?;
    email_link::insert(tx, &id, Purpose::Invitation).await?;
    user::find(tx, &id).await
}

/// Removes a member: their access, sessions and keys end in this commit. An account without another role is disabled; an investor remains
/// an investor. The issuer's row is locked, so that two members who remove each other at once do not both disappear.
pub async fn remove(tx: &mut Tx, issuer_id: &IssuerId, user_id: &UserId) -> Result<()> {
    issuer::lock_row(tx, issuer_id).await?;
    let person = member::find(tx, issuer_id, user_id).await?;
    another_member(tx, issuer_id, user_id).await?;
    let left: Vec<Role> = person.roles.list().iter().copied().filter(|role| *role != Role::Issuer).collect();
    let (roles, status) = match left.is_empty() {
        true => (person.roles.clone(), Status::Disabled),
        false => (Roles::new(&left)?, person.status),
    };
    user::update(tx, &User { roles, status, issuer_id: None, ..person }, "user.left_organisation").await?;
    email_link::void(tx, user_id, Purpose::Invitation).await?;
    session::revoke_all(tx, user_id, None, "left_organisation").await?;
    api_key::revoke_all(tx, user_id).await
}

/// Refuses to take the last member from an issuer: nobody could invite another one.
pub async fn another_member(tx: &mut Tx, issuer_id: &IssuerId, user_id: &UserId) -> Result<()> {
    if member::others(tx, issuer_id, user_id).await? == 0 {
        let detail = "This is the last member of the issuer. Invite another member first.";
        return Err(Error::refused(Code::InvalidState, detail));
    }
    Ok(())
}
