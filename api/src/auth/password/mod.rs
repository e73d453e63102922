//! Password hashes with argon2id. A gate limits how many are computed at once, because each needs much memory.

use std::sync::Arc;
use std::thread::available_parallelism;

use argon2::password_hash::{PasswordHash, PasswordHasher, PasswordVerifier, SaltString};
use argon2::{Algorithm, Argon2, Params, Version};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use zxcvbn::{Score, zxcvbn};

use crate::code::Code;
use crate::config::auth::Auth;
use crate::failure::Failure;
use crate::http::error::{Problem, Result};

/// The fewest characters.
const CHARACTERS_MIN: usize = 12;
/// The most characters: more would only cost us time.
const CHARACTERS_MAX: usize = 128;
/// How many hashes may wait for a core; further ones are refused at once.
const QUEUE_MAX: usize = 64;
const HASH_BYTES: usize = 32;
/// The weakest password accepted: more than 10^8 guesses by somebody who knows common words, names, dates and keyboard patterns.
const SCORE_MIN: Score = Score::Three;

/// Hashes and compares passwords on half of the cores, so that other requests have free cores. With a lower priority as well, a login on a busy
/// machine would take longer than a request may.
#[derive(Clone)]
pub struct Passwords {
    params: Params,
    cores: Arc<Semaphore>,
    queue: Arc<Semaphore>,
    // Compared with where there is no account, so that the time says nothing.
    nobody: Arc<str>,
}

/// The findings of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether the password is the right one.
    pub right: bool,
    /// Whether it was hashed with other settings than today's.
    pub outdated: bool,
}

impl Passwords {
    /// With the settings of the configuration.
    pub fn new(auth: &Auth, salt: [u8; 16]) -> Result<Self, Failure> {
        let params = Params::new(auth.password_memory_kib, auth.password_passes, 1, Some(HASH_BYTES));
        let params =
            params.map_err(|error| Failure::new(format!("auth.password_memory_kib and password_passes: {error}.")))?;
        let cores = available_parallelism().map_or(1, |cores| cores.get().div_ceil(2));
        let nobody = hash(&params, "a password that nobody has", salt).map_err(|_| Failure::new("argon2 failed"))?;
        let (cores, queue) = (Arc::new(Semaphore::new(cores)), Arc::new(Semaphore::new(cores + QUEUE_MAX)));
        Ok(Self { params, cores, queue, nobody: nobody.into() })
    }

    /// The hash of a new password.
    pub async fn hash(&self, password: String, salt: [u8; 16]) -> Result<String> {
        let params = self.params.clone();
        self.gated(move || hash(&params, &password, salt)).await?
    }

    /// Compares with a stored hash; without one it takes as long and is never right.
    pub async fn compare(&self, password: String, stored: Option<&str>) -> Result<Verdict> {
        let (exists, stored) = (stored.is_some(), stored.unwrap_or(&self.nobody).to_owned());
        let params = self.params.clone();
        self.gated(move || {
            let parsed = PasswordHash::new(&stored).map_err(Problem::internal)?;
            let right = Argon2::default().verify_password(password.as_bytes(), &parsed).is_ok();
            let used = Params::try_from(&parsed).map_err(Problem::internal)?;
            let same =
                (used.m_cost(), used.t_cost(), used.p_cost()) == (params.m_cost(), params.t_cost(), params.p_cost());
            Ok(Verdict { right: exists && right, outdated: !same })
        })
        .await?
    }

    async fn gated<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        let Ok(place) = self.queue.clone().try_acquire_owned() else {
            return Err(Problem::new(Code::ServiceUnavailable, "Too many logins at the same time."));
        };
        let core = self.cores.clone().acquire_owned().await.map_err(Problem::internal)?;
        // The places go with the work and not with the caller: one that hangs up frees no core that is still busy.
        let holding = move || {
            let _held = (place, core);
            work()
        };
        spawn_blocking(holding).await.map_err(Problem::internal)
    }
}

fn hash(params: &Params, password: &str, salt: [u8; 16]) -> Result<String> {
    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params.clone());
    let salt = SaltString::encode_b64(&salt).map_err(Problem::internal)?;
    Ok(argon2.hash_password(password.as_bytes(), &salt).map_err(Problem::internal)?.to_string())
}

/// Refuses a password that is too short, too long or easy to guess.
pub fn check(pointer: &'static str, password: &str, email: &str) -> Result<()> {
    let characters = password.chars().count();
    if characters < CHARACTERS_MIN {
        return Err(Problem::field(
            pointer,
            "password_too_short",
            format!("The password must have at least {CHARACTERS_MIN} characters."),
        ));
    }
    if characters > CHARACTERS_MAX {
        return Err(Problem::field(
            pointer,
            "password_too_long",
            format!("The password can have at most {CHARACTERS_MAX} characters."),
        ));
    }
    // An attacker tries the parts of the address and the platform's name first.
    let mut personal: Vec<&str> = email.split(|letter: char| !letter.is_alphanumeric()).collect();
    personal.extend([email, email.split('@').next().unwrap_or_default(), "muniment"]);
    if zxcvbn(password, &personal).score() < SCORE_MIN {
        return Err(Problem::field(
            pointer,
            "password_breached",
            "This password is easy to guess. Choose several unrelated words, or random characters.",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
