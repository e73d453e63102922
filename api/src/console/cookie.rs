//! The cookies of the console: the session, and one sentence for the next page.

use axum::http::{HeaderMap, HeaderValue, header};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use muniment_domain::id::SessionId;
use muniment_domain::principal;

use crate::access::principal::Principal;
use crate::app::App;
use crate::http::error::Result;

const SESSION: &str = "muniment_console";
const SAID: &str = "muniment_said";
/// The beginning of a stored warning. No sentence begins with it.
const WARNING: char = '!';

/// What the next page says.
#[derive(Clone)]
pub struct Said {
    /// The sentence.
    pub text: String,
    /// Whether it tells of something that a person did not want.
    pub is_warning: bool,
}

/// The person whose session the cookie names; none if there is no live one. The cookie is signed, so that an id alone opens nothing.
pub async fn person(app: &App, headers: &HeaderMap) -> Result<Option<Principal>> {
    let Some(value) = value(headers, SESSION) else { return Ok(None) };
    let Some((session_id, code)) = value.split_once('.') else { return Ok(None) };
    if !app.auth.secrets.is_text_mac(code, SESSION, &[session_id.as_bytes()]) {
        return Ok(None);
    }
    match principal::by_session(&mut app.db.read().await?, &session_id.into()).await {
        Ok(known) => Ok(Some(Principal(known))),
        Err(error) if error.refusal().is_some() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The header that begins a session in this browser.
pub fn begin(app: &App, session_id: &SessionId) -> HeaderValue {
    let code = app.auth.secrets.text_mac(SESSION, &[session_id.as_bytes()]);
    set(app, SESSION, &format!("{session_id}.{code}"), "")
}

/// The header that ends it.
pub fn end(app: &App) -> HeaderValue {
    set(app, SESSION, "", "; Max-Age=0")
}

/// What the next page says.
pub fn said(app: &App, headers: &HeaderMap) -> Option<Said> {
    let (text, code) = value(headers, SAID)?.split_once('.')?;
    if !app.auth.secrets.is_text_mac(code, SAID, &[text.as_bytes()]) {
        return None;
    }
    let text = String::from_utf8(BASE64.decode(text).ok()?).ok()?;
    let warning = text.strip_prefix(WARNING).map(str::to_owned);
    Some(Said { is_warning: warning.is_some(), text: warning.unwrap_or(text) })
}

/// The header that lets the next page say something.
pub fn say(app: &App, text: &str) -> HeaderValue {
    let text = BASE64.encode(text);
    let code = app.auth.secrets.text_mac(SAID, &[text.as_bytes()]);
    set(app, SAID, &format!("{text}.{code}"), "; Max-Age=60")
}

/// The header that lets the next page warn.
pub fn warn(app: &App, text: &str) -> HeaderValue {
    say(app, &format!("{WARNING}{text}"))
}

/// The header that forgets it.
pub fn forget_said(app: &App) -> HeaderValue {
    set(app, SAID, "", "; Max-Age=0")
}

fn set(app: &App, name: &str, value: &str, more: &str) -> HeaderValue {
    // Over http only development signs in, and a browser would not send the cookie back.
    let secure = if app.auth.config.public_url.starts_with("https:") { "; Secure" } else { "" };
    let cookie = format!("{name}={value}; Path=/console; HttpOnly; SameSite=Strict{secure}{more}");
    HeaderValue::from_str(&cookie).unwrap_or_else(|_| HeaderValue::from_static(""))
}

fn value<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut cookies = lines.flat_map(|line| line.split(';')).filter_map(|cookie| cookie.trim().split_once('='));
    cookies.find(|(known, _)| *known == name).map(|(_, value)| value)
}
