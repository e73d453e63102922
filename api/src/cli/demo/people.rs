//! The users of the demo, who log in with the printed password. There are two operators, so that approvals can be tried.

use muniment_domain::Result;
use muniment_domain::db::Tx;
use muniment_domain::user::{self, Role, User};

/// The operator whose key is printed.
pub const OPERATOR: &str = "operator@demo.example";

const PEOPLE: [(&str, &str, Role); 5] = [
    (OPERATOR, "Demo operator", Role::Operator),
    ("operator.b@demo.example", "Second operator", Role::Operator),
    ("admin@demo.example", "Demo admin", Role::Admin),
    ("auditor@demo.example", "Demo auditor", Role::Auditor),
    ("issuer@demo.example", "Demo issuer", Role::Issuer),
];

/// The address of an investor: the first name.
pub fn address_of(name: &str) -> String {
    format!("{}@demo.example", name.split(' ').next().unwrap_or(name).to_lowercase())
}

/// Makes sure that everybody is there, and gives each of them this password, and the issuer's people their organisation; says who they are.
pub async fn ensure(
    tx: &mut Tx,
    investors: &[&str],
    issuer_id: Option<&str>,
    password_hash: &str,
) -> Result<Vec<(String, Role)>> {
    let staff = PEOPLE.iter().map(|(email, name, role)| ((*email).to_owned(), *name, *role));
    let investors = investors.iter().map(|name| (address_of(name), *name, Role::Investor));
    let mut people = Vec::new();
    for (email, name, role) in staff.chain(investors) {
        if user::find_by_email(tx, &email).await?.is_none() {
            user::insert(tx, &email, name, role).await?;
        }
        if let Some(person) = user::by_email(tx, &email).await? {
            let issuer_id = issuer_id.filter(|_| role == Role::Issuer).map(str::to_owned).or(person.issuer_id);
            let (password_hash, proved) =
                (Some(password_hash.to_owned()), person.email_verified_at.unwrap_or(tx.now()));
            let person = User { password_hash, issuer_id, email_verified_at: Some(proved), ..person };
            user::update(tx, &person, "user.password_changed").await?;
        }
        people.push((email, role));
    }
    Ok(people)
}
