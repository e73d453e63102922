//! `GET` and `PATCH /v1/auth/me`: who the caller is, in full.

use axum::Json;
use axum::extract::State;
use muniment_domain::db::Tx;
use muniment_domain::point::Point;
use muniment_domain::user::{self, User};
use muniment_domain::{principal, second_factor};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{register, session};
use crate::app::App;
use crate::body::Input;
use crate::error::{Problem, Result};
use crate::instant;
use crate::permission::scopes_of;
use crate::principal::Principal;

/// What a person may change of themselves.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    name: Option<String>,
    locale: Option<String>,
}

/// The short form, which a login shows too.
pub fn profile(user: &User) -> Value {
    json!({
        "id": user.id, "email": user.email, "email_verified": user.email_verified_at.is_some(), "name": user.name,
        "roles": user.roles.list(), "status": user.status, "locale": user.locale, "issuer_id": user.issuer_id,
        "created_at": instant::text(user.created_at),
    })
}

/// `GET /v1/auth/me`.
pub async fn read(State(app): State<App>, principal: Principal) -> Result<Json<Value>> {
    let mut tx = app.db.read().await?;
    let user = user::find(&mut tx, &principal.0.user_id).await?;
    whole(&mut tx, &user, &principal).await.map(Json)
}

/// `PATCH /v1/auth/me`.
pub async fn change(State(app): State<App>, principal: Principal, Input(body): Input<Change>) -> Result<Json<Value>> {
    if let Some(name) = &body.name {
        register::check_name("/name", name)?;
    }
    if let Some(locale) = &body.locale
        && !is_locale(locale)
    {
        return Err(Problem::field("/locale", "locale_format", "A language tag such as en or pt-BR is expected."));
    }
    let mut tx = app.db.begin().await?;
    let mut user = user::find(&mut tx, &principal.0.user_id).await?;
    user.name = body.name.unwrap_or(user.name);
    user.locale = body.locale.or(user.locale);
    let user = user::update(&mut tx, &user, "user.updated").await?;
    let answer = whole(&mut tx, &user, &principal).await?;
    tx.commit(Point::Account).await?;
    Ok(Json(answer))
}

async fn whole(tx: &mut Tx, user: &User, principal: &Principal) -> Result<Value> {
    let factor = second_factor::find(tx, &user.id).await?.filter(|factor| factor.confirmed_at.is_some());
    let mut answer = profile(user);
    answer["investor_id"] = json!(principal::investor_of(tx, &user.id).await?);
    answer["permissions"] = match principal.0.key() {
        Some(key) => key.scopes.split(' ').collect(),
        None => json!(scopes_of(&user.roles)),
    };
    let methods: &[&str] = if factor.is_some() { &["totp", "recovery_code"] } else { &[] };
    answer["mfa"] = json!({ "enabled": factor.is_some(), "methods": methods });
    answer["session"] = principal.0.session().map_or(Value::Null, |s| session::item(s, &s.id));
    Ok(answer)
}

// As in BCP 47, as far as portals use it: a language, and perhaps more.
fn is_locale(text: &str) -> bool {
    let mut parts = text.split('-');
    let language =
        parts.next().is_some_and(|part| (2..=3).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_lowercase()));
    language
        && text.len() <= 20
        && parts.all(|part| (2..=8).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_alphanumeric()))
}
