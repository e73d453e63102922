//! `muniment admin`: users and keys that must be created on the host before anybody can log in.

use muniment_domain::api_key;
use muniment_domain::audit::{Act, acting};
use muniment_domain::clock::Clock;
use muniment_domain::email_link::{self, Purpose};
use muniment_domain::id::Ids;
use muniment_domain::point::Point;
use muniment_domain::user::{self, Roles, Status};

use crate::access::permission::SCOPES;
use crate::account::email;
use crate::cli::arguments::{NewKey, NewUser};
use crate::config::{Config, database};
use crate::failure::Failure;
use crate::secrets::{self, Secrets};

/// Creates a key for a person, who is created if new, and prints it: it cannot be read again.
pub async fn create_key(config: &Config, new: &NewKey) -> Result<(), Failure> {
    acting(Act::host_command("muniment admin key create"), make_key(config, new)).await
}

async fn make_key(config: &Config, new: &NewKey) -> Result<(), Failure> {
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

/// Creates a person of the staff and prints the token by which they set their password. This is how the first admin comes to be: who has
/// the host has everything already.
pub async fn create_user(config: &Config, new: &NewUser) -> Result<(), Failure> {
    acting(Act::host_command("muniment admin user create"), make_user(config, new)).await
}

async fn make_user(config: &Config, new: &NewUser) -> Result<(), Failure> {
    let db = database::open_current(config).await?;
    let secrets = Secrets::open(&config.auth.key_file, &db).await?;
    let mut tx = db.begin().await?;
    let (roles, status) = (Roles::only(new.role), Status::PendingVerification);
    let name = new.name.as_deref().unwrap_or(&new.email);
    let person = user::New { email: &new.email, name, roles, status, password_hash: None, issuer_id: None };
    let id = user::create(&mut tx, &person).await?;
    let link = email_link::insert(&mut tx, &id, Purpose::Invitation).await?;
    tx.commit(Point::Account).await?;
    eprintln!(
        "{} is {id}. Until {} this token sets the password, by POST /v1/auth/password/reset:",
        new.email, link.expires_at
    );
    println!("{}", email::token(&secrets, &link.id));
    Ok(())
}

/// Adds the next generation of the secrets. It does not open the database, which another process may hold.
pub fn rotate_keys(config: &Config) -> Result<(), Failure> {
    let random = || Ids::Random.bytes();
    let (path, seconds) = (&config.auth.key_file, config.auth.access_seconds);
    let next = secrets::rotate(path, Clock::System.now(), seconds, random)?;
    if !next.made {
        eprintln!("Nothing was changed, because a key waits already.");
    }
    println!("{} signs from {} on, and is published in /.well-known/jwks.json until then.", next.kid, next.from);
    eprintln!(
        "Processes that have this file read it by themselves. Give it to those on other machines before that time."
    );
    Ok(())
}

/// Lets the platform go on after its key file was lost.
pub async fn accept_key_loss(config: &Config) -> Result<(), Failure> {
    let (db, path) = (database::open_current(config).await?, &config.auth.key_file);
    let accepted = secrets::accept_loss(path, &db);
    let removed = acting(Act::host_command("muniment admin keys accept-loss"), accepted).await?;
    println!("{} is the key file of this database now. Second factors removed: {removed}.", path.display());
    eprintln!(
        "Back it up apart from the database. README.md says what is left to do, under \"If the key file is lost\"."
    );
    Ok(())
}
