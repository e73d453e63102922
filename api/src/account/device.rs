//! Known devices. A login leaves a signed cookie; a request that brings it back is counted by itself, so that nobody who guesses from elsewhere
//! keeps the owner out.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};
use muniment_domain::id::of;
use muniment_domain::user::normal_email;

use crate::app::App;
use crate::http::error::{Problem, Result};

const COOKIE: &str = "muniment_device";
const PURPOSE: &str = "device";
/// How long a device is known after its last new cookie.
const KNOWN_DAYS: i64 = 365;

/// The device cookies of a request, not checked yet.
#[derive(Clone, Debug, Default)]
pub struct Device(Vec<String>);

impl Device {
    /// The id of the device, if it is known for this address.
    pub fn known_for(&self, app: &App, email: &str) -> Option<String> {
        self.0.iter().find_map(|value| {
            let [id, since, code] = <[&str; 3]>::try_from(value.split('.').collect::<Vec<_>>()).ok()?;
            let age = app.db.clock().now().timestamp().checked_sub(since.parse().ok()?)?;
            let fresh = (0..KNOWN_DAYS * 86_400).contains(&age);
            let parts = parts(id, since, email);
            let signed = app.auth.secrets.is_text_mac(code, PURPOSE, &[&parts.0, &parts.1, &parts.2]);
            (fresh && signed).then(|| id.to_owned())
        })
    }

    /// The header that makes the device known after a login; none if it is.
    pub fn header(&self, app: &App, email: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if self.known_for(app, email).is_some() {
            return headers;
        }
        let now = app.db.clock().now();
        let (id, since) = (app.db.ids().new_id::<of::Device>(now), now.timestamp().to_string());
        let parts = parts(&id, &since, email);
        let code = app.auth.secrets.text_mac(PURPOSE, &[&parts.0, &parts.1, &parts.2]);
        let secure = if app.auth.config.public_url.starts_with("https:") { "; Secure" } else { "" };
        let seconds = KNOWN_DAYS * 86_400;
        let cookie = format!(
            "{COOKIE}={id}.{since}.{code}; Path=/v1/auth; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"
        );
        if let Ok(value) = HeaderValue::from_str(&cookie) {
            headers.insert(header::SET_COOKIE, value);
        }
        headers
    }
}

fn parts(id: &str, since: &str, email: &str) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    (id.into(), since.into(), normal_email(email).into())
}

impl<S: Sync> FromRequestParts<S> for Device {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        let lines = parts.headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
        let cookies = lines.flat_map(|line| line.split(';')).filter_map(|cookie| cookie.trim().split_once('='));
        Ok(Self(cookies.filter(|(name, _)| *name == COOKIE).map(|(_, value)| value.to_owned()).collect()))
    }
}
