//! The state behind logins: tokens, password hashes and their secrets.
//!
//! An access token only names its session. Session and user are read on every request, so a logout, a lost role or a disabled account takes
//! effect with the next one.

pub mod access_token;
pub mod password;
pub mod totp;

use std::sync::Arc;

use muniment_domain::db::Db;

use self::access_token::AccessTokens;
use self::password::Passwords;
use crate::config::{self, Config};
use crate::failure::Failure;
use crate::secrets::Secrets;

/// The state of logins besides the database.
pub struct Auth {
    /// Its limits.
    pub config: config::auth::Auth,
    /// The secrets of all tokens.
    pub secrets: Arc<Secrets>,
    /// The access tokens.
    pub tokens: AccessTokens,
    /// The hashes.
    pub passwords: Passwords,
}

impl Auth {
    /// Opens the secrets of the database.
    pub async fn new(config: &Config, db: &Db) -> Result<Self, Failure> {
        let secrets = Arc::new(Secrets::open(&config.auth.key_file, db).await?);
        let tokens = AccessTokens::new(secrets.clone(), &config.auth.issuer, config.auth.access_seconds);
        let passwords = Passwords::new(&config.auth, db.ids().bytes())?;
        Ok(Self { config: config.auth.clone(), secrets, tokens, passwords })
    }
}
