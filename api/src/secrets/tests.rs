use std::os::unix::fs::PermissionsExt;

use chrono::Duration as Span;
use muniment_domain::id::Ids;
use muniment_domain::session::Session;
use muniment_domain::user::{Role, Roles};
use serde_json::json;

use super::write::Rotation;
use super::*;
use crate::access::csrf;
use crate::auth::access_token::AccessTokens;
use crate::code::Code;

const SECONDS: i64 = 900;

fn random() -> [u8; 16] {
    Ids::Random.bytes()
}

/// Secrets in a folder that goes at once: they live in memory.
pub fn fresh() -> Secrets {
    let place = Place::new("fresh");
    place.open()
}

/// A folder with a file of secrets, and a time that a test moves.
pub(super) struct Place {
    folder: PathBuf,
    pub(super) path: PathBuf,
    clock: Clock,
}

impl Place {
    pub(super) fn new(name: &str) -> Self {
        let own = format!("muniment-secrets.{}.{name}.{:?}", std::process::id(), std::thread::current().id());
        let folder = std::env::temp_dir().join(own);
        let clock = Clock::manual(DateTime::UNIX_EPOCH + Span::days(20_000));
        Self { path: folder.join("auth.json"), folder, clock }
    }

    pub(super) fn open(&self) -> Secrets {
        if !self.path.exists() {
            write::create(&self.path, self.clock.now(), random).unwrap();
        }
        Secrets::read(&self.path, &self.clock).unwrap()
    }

    fn rotate(&self) -> Rotation {
        rotate(&self.path, self.clock.now(), SECONDS, random).unwrap()
    }

    fn text(&self) -> String {
        std::fs::read_to_string(&self.path).unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.folder).unwrap();
    }
}

/// A token of the machine's own time, which the library reads it by.
fn signed(tokens: &AccessTokens) -> (String, String) {
    let now = Clock::System.now();
    let session = Session {
        id: "ses_1".into(),
        user_id: "usr_1".into(),
        generation: 1,
        rotated_at: now,
        created_at: now,
        last_used_at: now,
        idle_expires_at: now,
        absolute_expires_at: now,
        auth_time: now,
        amr: "pwd".to_owned(),
        step_up_until: None,
        ip: String::new(),
        user_agent: String::new(),
        device_name: None,
        revoked_at: None,
        revoke_reason: None,
    };
    let token = tokens.sign(&session, &Roles::only(Role::Investor), "jti".to_owned(), now.timestamp()).unwrap();
    let kid = jsonwebtoken::decode_header(&token).unwrap().kid.unwrap();
    (token, kid)
}

fn published(tokens: &AccessTokens) -> Vec<String> {
    let keys = json!(tokens.jwks())["keys"].as_array().unwrap().clone();
    keys.iter().map(|key| key["kid"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn code_is_bound_to_its_purpose_and_parts() {
    let secrets = fresh();
    let code = secrets.mac("refresh", &[b"ab", b"c"]);
    assert!(secrets.is_mac(&code, "refresh", &[b"ab", b"c"]));
    assert!(!secrets.is_mac(&code, "csrf", &[b"ab", b"c"]));
    assert!(!secrets.is_mac(&code, "refresh", &[b"a", b"bc"]));
    assert!(!secrets.is_mac(&code[..31], "refresh", &[b"ab", b"c"]));
    assert!(!fresh().is_mac(&code, "refresh", &[b"ab", b"c"]));
}

#[test]
fn encrypted_text_opens_only_for_its_owner() {
    let secrets = fresh();
    let sealed = secrets.seal("usr_1", b"seed", [7; 16]).unwrap();
    assert_eq!(secrets.unseal("usr_1", &sealed).unwrap(), b"seed");
    assert!(secrets.unseal("usr_2", &sealed).is_none());
    assert!(secrets.unseal("usr_1", "AAAA").is_none());
}

#[test]
fn secrets_file_is_private_and_reused() {
    let place = Place::new("twice");
    let code = place.open().mac("refresh", &[b"a"]);
    assert_eq!(code, place.open().mac("refresh", &[b"a"]));
    assert_eq!(std::fs::metadata(&place.path).unwrap().permissions().mode() & 0o777, 0o600);
    std::fs::set_permissions(&place.path, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(Secrets::read(&place.path, &place.clock).is_err());
}

#[test]
fn signing_key_is_published_early_and_removed_after_its_last_token() {
    let place = Place::new("day");
    let secrets = Arc::new(place.open());
    let tokens = AccessTokens::new(secrets.clone(), "muniment", SECONDS);
    let (old_token, old) = signed(&tokens);
    let statement = json!({ "day": "2026-11-20" });
    let anchored = tokens.sign_statement("audit-anchor+jwt", &statement).unwrap();
    assert!(!secrets.look_again().unwrap());
    let new = place.rotate();
    assert_eq!((new.made, new.from), (true, place.clock.now() + Span::hours(24)));
    assert!(secrets.look_again().unwrap());
    assert_eq!((published(&tokens), signed(&tokens).1), (vec![old.clone(), new.kid.clone()], old.clone()));

    place.clock.advance(Span::hours(24));
    let (new_token, kid) = signed(&tokens);
    assert_eq!((kid, published(&tokens)), (new.kid.clone(), vec![new.kid.clone(), old]));
    assert!(tokens.read(&old_token).is_ok() && tokens.read(&new_token).is_ok());

    place.clock.advance(Span::seconds(SECONDS) + Span::minutes(59));
    assert!(tokens.read(&old_token).is_ok());
    place.clock.advance(Span::minutes(1));
    assert_eq!(tokens.read(&old_token).map(|claims| claims.sub), Err(Code::TokenInvalid));
    assert!(tokens.read(&new_token).is_ok());
    assert_eq!(published(&tokens), std::slice::from_ref(&new.kid));
    // Anchors never expire, so they verify even after a rotation removed the private key from the file.
    let private = place.text().matches("\"signing\"").count();
    place.rotate();
    assert!(secrets.look_again().unwrap());
    assert_eq!((private, place.text().matches("\"signing\"").count()), (2, 2), "one came and one went");
    assert_eq!(tokens.read_statement("audit-anchor+jwt", &anchored), Some(statement));
}

#[test]
fn old_codes_stay_valid_after_a_rotation() {
    let place = Place::new("seals");
    let (secrets, yesterday) = (place.open(), place.open());
    let now = place.clock.now();
    let sealed = secrets.seal("usr_1", b"seed", [7; 16]).unwrap();
    let token = csrf::issue(&secrets, &"ses_1".into(), now + Span::hours(25), [3; 16]);
    let refresh = secrets.mac("refresh", &[b"ses_1"]);
    place.rotate();
    secrets.look_again().unwrap();
    assert_eq!(secrets.mac("refresh", &[b"ses_1"]), refresh, "not before its time");

    place.clock.advance(Span::hours(24));
    assert_eq!(csrf::verify(&secrets, token.as_bytes(), &"ses_1".into(), place.clock.now()), Ok(()));
    assert_eq!(secrets.unseal("usr_1", &sealed).unwrap(), b"seed");
    let codes = secrets.macs("refresh", &[b"ses_1"]);
    assert_eq!((codes.len(), &codes[0], &codes[1]), (2, &secrets.mac("refresh", &[b"ses_1"]), &refresh));
    assert_ne!(codes[0], codes[1]);
    let anew = secrets.seal("usr_1", b"seed", [8; 16]).unwrap();
    assert_eq!(secrets.unseal("usr_1", &anew).unwrap(), b"seed");
    // A process with the file of yesterday knows nothing of today's, and everything of its own.
    assert!(yesterday.unseal("usr_1", &anew).is_none() && yesterday.unseal("usr_1", &sealed).is_some());
    assert!(!yesterday.is_mac(&codes[0], "refresh", &[b"ses_1"]));
    assert!(secrets.is_mac(&yesterday.mac("refresh", &[b"ses_2"]), "refresh", &[b"ses_2"]));

    place.clock.advance(Span::days(31));
    assert!(!secrets.is_mac(&refresh, "refresh", &[b"ses_1"]), "no session is older");
    assert_eq!(secrets.unseal("usr_1", &sealed).unwrap(), b"seed", "rows are");
}

#[test]
fn concurrent_rotations_rotate_once() {
    let place = Place::new("once");
    let first = place.open().mac("refresh", &[b"a"]);
    let rotated: Vec<_> = std::thread::scope(|scope| {
        let all: Vec<_> =
            (0..8).map(|_| std::thread::Builder::new().spawn_scoped(scope, || place.rotate()).unwrap()).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(rotated.iter().filter(|one| one.made).count(), 1);
    assert!(rotated.iter().all(|one| one.kid == rotated[0].kid));
    let secrets = place.open();
    assert_eq!((secrets.ring().all().count(), secrets.mac("refresh", &[b"a"])), (2, first));
}

#[test]
fn interrupted_rotation_keeps_the_old_file() {
    let place = Place::new("died");
    let (secrets, before) = (place.open(), place.text());
    // It died while it wrote, with the lock in its hand.
    std::fs::write(place.folder.join("auth.json.draft"), &before[..20]).unwrap();
    std::fs::write(place.folder.join("auth.json.lock"), "").unwrap();
    assert_eq!((secrets.look_again().unwrap(), place.open().ring().all().count()), (false, 1));
    assert!(place.rotate().made);
    assert_eq!(std::fs::metadata(&place.path).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!place.folder.join("auth.json.draft").exists());
    assert_eq!((secrets.look_again().unwrap(), secrets.ring().all().count()), (true, 2));
    // A damaged file is not used, and it is logged once.
    std::fs::write(&place.path, &before[..20]).unwrap();
    assert!(secrets.look_again().is_err());
    assert_eq!((secrets.look_again().unwrap(), secrets.ring().all().count()), (false, 2));
}

#[test]
fn old_secrets_file_without_generations_is_read_and_rotated() {
    let place = Place::new("unrotated");
    let code = place.open().mac("refresh", &[b"a"]);
    let known: serde_json::Value = serde_json::from_str(&place.text()).unwrap();
    let entry = &known["generations"][0];
    std::fs::write(&place.path, json!({ "signing": [entry["signing"]], "secret": entry["secret"] }).to_string())
        .unwrap();
    let secrets = Arc::new(place.open());
    assert_eq!(secrets.mac("refresh", &[b"a"]), code);
    let tokens = AccessTokens::new(secrets.clone(), "muniment", SECONDS);
    let (token, kid) = signed(&tokens);
    let next = place.rotate();
    secrets.look_again().unwrap();
    assert!(tokens.read(&token).is_ok());
    assert_eq!(published(&tokens), [kid, next.kid]);
}
