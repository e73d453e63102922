//! The `[auth]` section of the configuration.

use std::net::IpAddr;
use std::path::PathBuf;

use muniment_activities::config::Profile;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// The memory of a password hash times its passes that production takes at least, in KiB: the smallest setting that OWASP names.
const PASSWORD_WORK_MIN: u64 = 38_912;
/// And the memory alone.
const PASSWORD_MEMORY_MIN: u32 = 19_456;
/// How long what a browser holds may be good in production, in seconds: key, from, to.
const SECONDS_MAX: [(&str, i64); 4] =
    [("access_seconds", 3_600), ("csrf_seconds", 86_400), ("step_up_seconds", 3_600), ("refresh_grace_seconds", 60)];

/// How people log in.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Auth {
    /// The issuer in access tokens.
    pub issuer: String,
    /// The file of the secrets; made at the first start. Processes that share a database share it.
    pub key_file: PathBuf,
    /// How long an access token lives, in seconds.
    pub access_seconds: i64,
    /// How long a rotated refresh token still gives the new pair, for tabs that ask at once, in seconds.
    pub refresh_grace_seconds: i64,
    /// How long a CSRF token lives, in seconds.
    pub csrf_seconds: i64,
    /// For how many seconds a step-up counts.
    pub step_up_seconds: i64,
    /// The memory of one password hash, in KiB.
    pub password_memory_kib: u32,
    /// How often argon2id passes over that memory.
    pub password_passes: u32,
    /// Whether operators, admins and auditors need a second factor for everything but adding one.
    pub staff_second_factor: bool,
    /// Whether a registration shows that an address has an account.
    pub registration_privacy: RegistrationPrivacy,
    /// The address of the portal. Wallets show it when they sign a challenge.
    pub public_url: String,
}

/// The answer to a registration with a taken address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RegistrationPrivacy {
    /// That it is taken.
    #[default]
    Open,
    /// The same answer as for a free address; the owner gets a mail.
    Strict,
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
            registration_privacy: RegistrationPrivacy::Open,
            public_url: "http://localhost:8080".to_owned(),
        }
    }
}

impl Auth {
    /// Refuses weak login settings in production, so that test settings are not carried over by mistake.
    pub fn check(&self, profile: Profile) -> Result<(), Failure> {
        if profile == Profile::Development {
            return Ok(());
        }
        if !self.staff_second_factor {
            return Err(refused(
                "staff_second_factor",
                "must be true: one stolen password must not be enough to move money",
            ));
        }
        let work = u64::from(self.password_memory_kib) * u64::from(self.password_passes);
        if self.password_memory_kib < PASSWORD_MEMORY_MIN || work < PASSWORD_WORK_MIN {
            let detail = format!(
                "is too little: write at least {PASSWORD_MEMORY_MIN} with password_passes = 2, or leave both out for 47104 and 1"
            );
            return Err(refused("password_memory_kib", &detail));
        }
        let given = [self.access_seconds, self.csrf_seconds, self.step_up_seconds, self.refresh_grace_seconds];
        for ((key, most), seconds) in SECONDS_MAX.into_iter().zip(given) {
            // No grace at all is a choice, a token that is never good is a mistake.
            let least = i64::from(key != "refresh_grace_seconds");
            if !(least..=most).contains(&seconds) {
                return Err(refused(key, &format!("is {seconds}: write a number from {least} to {most}")));
            }
        }
        if !is_of_the_internet(&self.public_url) {
            let detail = "must be the portal's address, such as https://portal.example: wallets show it when they sign";
            return Err(refused("public_url", detail));
        }
        Ok(())
    }
}

fn refused(key: &str, detail: &str) -> Failure {
    Failure::new(format!("auth.{key} {detail}. Only the development profile works without it."))
}

/// Whether the URL is public and uses HTTPS.
fn is_of_the_internet(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("https://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(literal) => literal.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    let own = host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback() || ip.is_unspecified());
    !host.is_empty() && !own && host != "localhost" && !host.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(profile: Profile, line: &str) -> Result<(), String> {
        let text = format!("public_url = \"https://portal.example\"\n{line}");
        toml::from_str::<Auth>(&text).unwrap().check(profile).map_err(|failure| failure.to_string())
    }

    #[test]
    fn weak_login_settings_are_only_for_development() {
        let weak = [
            "staff_second_factor = false",
            "password_memory_kib = 64",
            "password_memory_kib = 19456",
            "access_seconds = 31536000",
            "access_seconds = 0",
            "csrf_seconds = 31536000",
            "step_up_seconds = 86400",
            "refresh_grace_seconds = 3600",
        ];
        for line in weak {
            let refused = check(Profile::Production, line).unwrap_err();
            let key = line.split(' ').next().unwrap();
            assert!(refused.starts_with(&format!("auth.{key} ")), "{line}: {refused}");
            check(Profile::Development, line).unwrap();
        }
        check(Profile::Production, "password_memory_kib = 19456\npassword_passes = 2").unwrap();
        check(Profile::Production, "refresh_grace_seconds = 0").unwrap();
    }

    #[test]
    fn public_url_must_be_public_https() {
        let own = [
            "http://localhost:8080",
            "https://localhost",
            "https://127.0.0.1/x",
            "http://portal.example",
            "https://[::1]",
            "https://",
        ];
        assert_eq!(own.map(is_of_the_internet), [false; 6]);
        let found = ["https://portal.example", "https://[2001:db8::1]:8443/portal", "https://portal.example:8443?x"];
        assert_eq!(found.map(is_of_the_internet), [true; 3]);
        let refused = Auth::default().check(Profile::Production).unwrap_err().to_string();
        assert!(refused.contains("auth.public_url"), "{refused}");
    }
}
