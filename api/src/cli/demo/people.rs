//! The users of the demo, who log in with the printed password. There are two operators, so that approvals can be tried.

use muniment_domain::Result;
use muniment_domain::db::Tx;
use muniment_domain::id::{IssuerId, UserId};
use muniment_domain::user::{self, Role, User};

/// The domain of all e-mail addresses.
pub const DOMAIN: &str = "@demo.example";

/// Staff and the issuer: the part of the address before [`DOMAIN`], name and role. The first one owns the printed key.
pub const STAFF: [(&str, &str, Role); 5] = [
    ("operator", "Demo operator", Role::Operator),
    ("operator.b", "Second operator", Role::Operator),
    ("admin", "Demo admin", Role::Admin),
    ("auditor", "Demo auditor", Role::Auditor),
    ("issuer", "Demo issuer", Role::Issuer),
];

/// Investors who passed the identity check: name and country. Each has the wallet at the same place of the accounts.
pub const INVESTORS: [(&str, &str); 6] = [
    ("Ada Brandt", "DE"),
    ("Bruno Costa", "PT"),
    ("Chiara Ferri", "IT"),
    ("Dragan Horvat", "HR"),
    ("Elin Lindqvist", "SE"),
    ("Faolan Byrne", "IE"),
];

/// Investors who registered only.
pub const NEWCOMERS: [(&str, &str); 4] =
    [("Greta Holm", "DK"), ("Hugo Janssen", "NL"), ("Ida Novak", "SI"), ("Jens Olsen", "NO")];

/// The part of an investor's address before [`DOMAIN`]: the first name.
pub fn login_of(name: &str) -> String {
    name.split(' ').next().unwrap_or(name).to_lowercase()
}

/// Inserts a user if there is none, and returns the id. A user without a password gets this one.
pub async fn ensure(
    tx: &mut Tx,
    login: &str,
    name: &str,
    role: Role,
    issuer_id: Option<&IssuerId>,
    password_hash: &str,
) -> Result<UserId> {
    let email = format!("{login}{DOMAIN}");
    let Some(known) = user::by_email(tx, &email).await? else {
        user::insert(tx, &email, name, role).await?;
        return Box::pin(ensure(tx, login, name, role, issuer_id, password_hash)).await;
    };
    let (id, issuer_id) = (known.id.clone(), issuer_id.cloned().or(known.issuer_id.clone()));
    if known.password_hash.is_none() || known.issuer_id != issuer_id {
        let password_hash = known.password_hash.clone().or_else(|| Some(password_hash.to_owned()));
        let email_verified_at = known.email_verified_at.or(Some(tx.now()));
        let person = User { password_hash, issuer_id, email_verified_at, ..known };
        user::update(tx, &person, "user.password_changed").await?;
    }
    Ok(id)
}
