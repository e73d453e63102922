//! The `[auth]` section of the configuration.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// How people log in.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Auth {
    /// What access tokens name as their issuer.
    pub issuer: String,
    /// The file of the secrets; made at the first start. Processes that share a database share it.
    pub key_file: PathBuf,
    /// How long an access token lives, in seconds.
    pub access_seconds: i64,
    /// How long a rotated refresh token still gives the new pair, for tabs that ask at once, in seconds.
    pub refresh_grace_seconds: i64,
    /// How long a CSRF token lives, in seconds.
    pub csrf_seconds: i64,
    /// How long somebody who has just shown who they are counts as such, in seconds.
    pub step_up_seconds: i64,
    /// The memory of one password hash, in KiB.
    pub password_memory_kib: u32,
    /// How often argon2id passes over that memory.
    pub password_passes: u32,
    /// Whether operators, admins and auditors need a second factor for everything but adding one.
    pub staff_second_factor: bool,
    /// Whether an investor or issuer must have followed the mail that proves the address.
    pub email_verification: EmailVerification,
    /// Where people find the platform; wallets are shown it when they sign that they are somebody's.
    pub public_url: String,
}

/// Who must have followed the mail that proves an address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmailVerification {
    /// Everybody in production, nobody in development.
    #[default]
    Profile,
    /// Everybody.
    Required,
    /// Nobody.
    Optional,
}

impl Default for Auth {
    fn default() -> Self {
        Self {
            issuer: "muniment".to_owned(),
            key_file: "data/auth.json".into(),
            access_seconds: 900,
            refresh_grace_seconds: 10,
            csrf_seconds: 3600,
            step_up_seconds: 300,
            password_memory_kib: 47_104,
            password_passes: 1,
            staff_second_factor: true,
            email_verification: EmailVerification::Profile,
            public_url: "http://localhost:8080".to_owned(),
        }
    }
}
