//! `GET` and `PATCH /v1/auth/me`: the current user.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use muniment_domain::db::Tx;
use muniment_domain::event_type::CATALOG;
use muniment_domain::id::{InvestorId, IssuerId, UserId};
use muniment_domain::point::Point;
use muniment_domain::user::{self, Role, Status, User};
use muniment_domain::{principal, second_factor};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::session;
use crate::access::permission::scopes_of;
use crate::access::principal::Principal;
use crate::app::App;
use crate::field::name::{check_name, masked_email, masked_name};
use crate::http::body::Input;
use crate::http::error::{Problem, Result};
use crate::http::instant::Instant;
use crate::http::pointer::step;

/// The fields to change.
#[derive(Deserialize, ToSchema)]
#[schema(as = ChangeOfMe)]
#[serde(deny_unknown_fields)]
pub struct Change {
    #[schema(max_length = 120)]
    name: Option<String>,
    #[schema(example = "pt-BR", max_length = 20)]
    locale: Option<String>,
    /// The mails that the user wants: event subjects with true or false. The whole list is replaced.
    #[schema(example = json!({ "subscription": true, "distribution": false }))]
    notification_prefs: Option<BTreeMap<String, bool>>,
}

/// A user.
#[derive(Serialize, ToSchema)]
pub struct Person {
    id: UserId,
    /// The e-mail address. An auditor sees other users' addresses masked.
    email: String,
    email_verified: bool,
    /// The name. An auditor sees other users' names masked.
    name: String,
    roles: Vec<Role>,
    /// Whether this auditor sees personal data unmasked.
    pii_read: bool,
    status: Status,
    #[schema(example = "en")]
    locale: Option<String>,
    issuer_id: Option<IssuerId>,
    created_at: Instant,
}

impl Person {
    /// As they are shown.
    pub fn of(user: &User) -> Self {
        Self {
            id: user.id.clone(),
            email: user.email.clone(),
            email_verified: user.email_verified_at.is_some(),
            name: user.name.clone(),
            roles: user.roles.list().to_vec(),
            pii_read: user.pii_read,
            status: user.status,
            locale: user.locale.clone(),
            issuer_id: user.issuer_id.clone(),
            created_at: Instant(user.created_at),
        }
    }

    /// The same for an auditor, with masked names.
    pub fn masked(user: &User) -> Self {
        Self { email: masked_email(&user.email), name: masked_name(&user.name), ..Self::of(user) }
    }
}

/// The current user.
#[derive(Serialize, ToSchema)]
pub struct Me {
    #[serde(flatten)]
    person: Person,
    investor_id: Option<InvestorId>,
    /// The mails that the user wants: event subjects with true or false. The portal decides about subjects that are missing.
    #[schema(example = json!({ "subscription": true, "distribution": false }))]
    notification_prefs: BTreeMap<String, bool>,
    /// The scopes of the API key, or the scopes that the user may give to a key.
    permissions: Vec<String>,
    /// The second factor of the user.
    mfa: Mfa,
    /// The session. Null for an API key.
    session: Option<session::View>,
}

/// The second factor.
#[derive(Serialize, ToSchema)]
pub struct Mfa {
    enabled: bool,
    #[schema(example = json!(["totp", "recovery_code"]))]
    methods: &'static [&'static str],
}

/// Read the current user.
#[utoipa::path(
    get,
    path = "/v1/auth/me",
    responses((status = 200, body = Me)),
)]
pub async fn read(State(app): State<App>, principal: Principal) -> Result<Json<Me>> {
    let mut tx = app.db.read().await?;
    let user = user::find(&mut tx, &principal.0.user_id).await?;
    whole(&mut tx, &user, &principal).await.map(Json)
}

/// Change your name, language or notification preferences.
#[utoipa::path(
    patch,
    path = "/v1/auth/me",
    request_body = Change,
    responses((status = 200, body = Me)),
)]
pub async fn change(State(app): State<App>, principal: Principal, Input(body): Input<Change>) -> Result<Json<Me>> {
    if let Some(name) = &body.name {
        check_name("/name", name)?;
    }
    if let Some(locale) = &body.locale
        && !is_locale(locale)
    {
        return Err(Problem::field("/locale", "locale_format", "The language must be a tag such as en or pt-BR."));
    }
    if let Some(prefs) = &body.notification_prefs {
        check_prefs(prefs)?;
    }
    let mut tx = app.db.begin().await?;
    let mut user = user::find(&mut tx, &principal.0.user_id).await?;
    user.name = body.name.unwrap_or(user.name);
    user.locale = body.locale.or(user.locale);
    user.notification_prefs.0 = body.notification_prefs.unwrap_or(user.notification_prefs.0);
    let user = user::update(&mut tx, &user, "user.updated").await?;
    let answer = whole(&mut tx, &user, &principal).await?;
    tx.commit(Point::Account).await?;
    Ok(Json(answer))
}

async fn whole(tx: &mut Tx, user: &User, principal: &Principal) -> Result<Me> {
    let factor = second_factor::find(tx, &user.id).await?.filter(|factor| factor.confirmed_at.is_some());
    let permissions = match principal.0.key() {
        Some(key) => key.scopes.split(' ').collect(),
        None => scopes_of(&user.roles),
    };
    Ok(Me {
        person: Person::of(user),
        investor_id: principal::investor_of(tx, &user.id).await?,
        notification_prefs: user.notification_prefs.0.clone(),
        permissions: permissions.into_iter().map(str::to_owned).collect(),
        mfa: Mfa {
            enabled: factor.is_some(),
            methods: if factor.is_some() { &["totp", "recovery_code"] } else { &[] },
        },
        session: principal.0.session().map(|s| session::View::of(s, &s.id)),
    })
}

/// Refuses unknown event subjects.
fn check_prefs(prefs: &BTreeMap<String, bool>) -> Result<()> {
    let is_subject = |name: &str| CATALOG.iter().any(|kind| kind.name.split('.').next() == Some(name));
    let Some(unknown) = prefs.keys().find(|name| !is_subject(name)) else { return Ok(()) };
    let pointer = format!("/notification_prefs{}", step(unknown));
    let detail = "Use the first word of an event type, such as subscription. GET /v1/webhooks/event-types lists them.";
    Err(Problem::field(pointer, "event_type_unknown", detail))
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
