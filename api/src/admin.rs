//! `muniment admin`: what has to be done on the host before anybody can log in.

use muniment_domain::api_key;
use muniment_domain::point::Point;
use muniment_domain::user;

use crate::arguments::NewKey;
use crate::config::Config;
use crate::database;
use crate::failure::Failure;
use crate::permission::SCOPES;

/// Creates a key for a person, who is created if new, and prints it: it cannot be read again.
pub async fn create_key(config: &Config, new: &NewKey) -> Result<(), Failure> {
    let scopes = new.scopes.clone().unwrap_or_else(|| SCOPES.join(" "));
    if let Some(unknown) = scopes.split_whitespace().find(|scope| !SCOPES.contains(scope)) {
        return Err(Failure::new(format!("{unknown} is no scope; there are: {}", SCOPES.join(", "))));
    }
    let db = database::open_current(config).await?;
    let secret = [db.ids().bytes(), db.ids().bytes()].concat();
    let secret: [u8; 32] = secret.try_into().map_err(|_| Failure::new("a secret has 32 bytes"))?;
    let mut tx = db.begin().await?;
    let user_id = match user::find_by_email(&mut tx, &new.email).await? {
        Some(known) => known,
        None => user::insert(&mut tx, &new.email, &new.email, new.role).await?,
    };
    let scopes = scopes.split_whitespace().collect::<Vec<_>>().join(" ");
    let owner = user::find(&mut tx, &user_id).await?;
    if !owner.roles.has(new.role) {
        let (email, roles) = (owner.email, owner.roles);
        return Err(Failure::new(format!("{email} has the role {roles}, not {}; no key was made.", new.role)));
    }
    let key = api_key::issue(&mut tx, &user_id, &new.name, &scopes, new.days, secret).await?;
    tx.commit(Point::Housekeeping).await?;
    eprintln!(
        "A key of {} ({}), for {} days, with the scopes {scopes}. It is shown this once:",
        new.email, new.role, new.days
    );
    println!("{key}");
    Ok(())
}
