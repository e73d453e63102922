//! The people of an organisation: one invites a colleague, and takes one out; somebody is always left.

use muniment_domain::db::Tx;
use muniment_domain::email_link::{self, Purpose};
use muniment_domain::user::{self, Role, Roles, Status, User};
use muniment_domain::{Code, Error, Result, api_key, issuer, member, session};

/// How many people an organisation has at most.
const MEMBERS_MAX: i64 = 100;

/// Makes an account in the organisation, which opens nothing before the person has followed the mail and set a password.
pub async fn invite(tx: &mut Tx, issuer_id: &str, email: &str, name: &str) -> Result<User> {
    issuer::hold(tx, issuer_id).await?;
    if member::page(tx, issuer_id, 1, 0).await?.1 >= MEMBERS_MAX {
        let detail = format!("The organisation has {MEMBERS_MAX} people, which is the most.");
        return Err(Error::refused(Code::InvalidState, detail));
    }
    let (roles, status) = (Roles::only(Role::Issuer), Status::PendingVerification);
    let new = user::New { email, name, roles, status, password_hash: None, issuer_id: Some(issuer_id) };
    let id = user::create(tx, &new).await?;
    email_link::insert(tx, &id, Purpose::Invitation).await?;
    user::find(tx, &id).await
}

/// Takes somebody out: what they held of the organisation ends in this commit. Who is nothing else is shut out; an investor stays one. Of two
/// who take each other out at once one stays.
pub async fn remove(tx: &mut Tx, issuer_id: &str, user_id: &str) -> Result<()> {
    issuer::hold(tx, issuer_id).await?;
    let person = member::find(tx, issuer_id, user_id).await?;
    if member::others(tx, issuer_id, user_id).await? == 0 {
        let detail = "Nobody would be left who acts for the organisation. Invite somebody else first.";
        return Err(Error::refused(Code::InvalidState, detail));
    }
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
