//! `GET /v1/investor/export`: all personal data of the caller. It is answered at once, not by a job: it is a few bounded reads of one
//! moment, and a stored file would be one more place with personal data to protect.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use muniment_domain::id::KycCaseId;
use muniment_domain::investor::{self, document};
use muniment_domain::kyc::{self, Case};
use muniment_domain::login_attempt::{self, LoginAttempt};
use muniment_domain::subscription::{self as subscriptions, Filter, Scope};
use muniment_domain::webhook::{self, Owner};
use muniment_domain::{event_scope, portfolio, session as sessions, user};
use serde::Serialize;
use utoipa::ToSchema;

use super::document::View as Paper;
use super::portfolio::{Paid, payment};
use super::record::{self, ForPerson};
use crate::access::principal::Principal;
use crate::account::me::Person;
use crate::account::session;
use crate::app::App;
use crate::http::error::Result;
use crate::http::instant::Instant;
use crate::subscription;
use crate::subscription::payment::{Line, line};
use crate::webhook::event::{self, EventView};
use crate::webhook::record::{View as Endpoint, items as shown_endpoints};

/// The maximum length of a list. The list endpoints have the older entries.
const LINES_MAX: i64 = 2_000;
/// Identity data is encrypted, and only its reviewers read it. The export has the names of its fields.
const SEALED: [&str; 7] = [
    "date_of_birth",
    "nationality",
    "document_type",
    "document_number",
    "address",
    "source_of_funds",
    "document_sha256s",
];

/// All personal data of an investor.
#[derive(Serialize, ToSchema)]
#[schema(as = InvestorExport)]
pub struct Export {
    as_of: Instant,
    /// The account of the user.
    account: Person,
    /// The mails that the user wants: event subjects with true or false. Portals that send mails read it.
    #[schema(example = json!({ "subscription": true }))]
    notification_prefs: BTreeMap<String, bool>,
    /// The profile.
    profile: ForPerson,
    /// The submitted identity checks.
    kyc_cases: Vec<Handed>,
    /// The names of the fields that are stored encrypted and that only the reviewers of the proof read.
    #[schema(example = json!(["date_of_birth", "document_number"]))]
    sealed_fields: Vec<&'static str>,
    documents: Vec<Paper>,
    /// The subscriptions.
    subscriptions: Vec<subscription::View>,
    payments: Vec<Line>,
    entitlements: Vec<Paid>,
    /// The active sessions.
    sessions: Vec<session::View>,
    /// The login attempts.
    login_attempts: Vec<Attempt>,
    /// The webhook endpoints of the investor.
    webhook_endpoints: Vec<Endpoint>,
    /// The events.
    events: Vec<EventView>,
    /// The lists that were cut after 2,000 entries. Read the rest with the list endpoints.
    #[schema(example = json!(["events"]))]
    cut: Vec<&'static str>,
}

/// A submitted identity check.
#[derive(Serialize, ToSchema)]
#[schema(as = KycCaseKept)]
struct Handed {
    id: KycCaseId,
    level: investor::Level,
    /// The reference at the identity provider.
    #[schema(example = json!(null))]
    provider_reference: Option<String>,
    created_at: Instant,
}

/// A login attempt on the account.
#[derive(Serialize, ToSchema)]
#[schema(as = LoginAttemptKept)]
struct Attempt {
    #[schema(example = "198.51.100.7")]
    ip: String,
    #[schema(example = "Mozilla/5.0")]
    user_agent: String,
    outcome: login_attempt::Outcome,
    created_at: Instant,
}

/// Export all your personal data as a file.
#[utoipa::path(
    get,
    path = "/v1/investor/export",
    responses((status = 200, body = Export, headers(("Content-Disposition" = String)))),
    extensions(("x-codes" = json!(["not_found"]))),
)]
pub async fn read(State(app): State<App>, principal: Principal) -> Result<Response> {
    let current = principal.session()?.id.clone();
    let mut tx = app.db.read_one_moment().await?;
    let i = investor::of_user(&mut tx, &principal.0.user_id).await?;
    let account = user::find(&mut tx, &principal.0.user_id).await?;
    let filter = Filter { investor_id: Some(i.id.clone()), ..Filter::default() };
    let subscribed = subscriptions::list(&mut tx, &Scope::All, &filter, LINES_MAX, 0).await?;
    let payments = subscriptions::payments_of_investor(&mut tx, &i.id, LINES_MAX).await?;
    let entitled = portfolio::recent(&mut tx, &i.id, LINES_MAX).await?;
    let attempts = login_attempt::of_user(&mut tx, &account.id, LINES_MAX).await?;
    let owner = Owner::Investor(i.id.clone());
    let (endpoints, _) = webhook::page(&mut tx, &owner, &webhook::Filter::default(), owner.endpoints_max(), 0).await?;
    let now = tx.now();
    let events = event_scope::of_time(&mut tx, &owner, "", now, LINES_MAX).await?;
    let lengths = [
        ("subscriptions", subscribed.len()),
        ("payments", payments.len()),
        ("entitlements", entitled.len()),
        ("login_attempts", attempts.len()),
        ("events", events.len()),
    ];
    let body = Export {
        as_of: Instant(now),
        account: Person::of(&account),
        notification_prefs: account.notification_prefs.0.clone(),
        profile: record::for_person(&mut tx, &i).await?,
        kyc_cases: kyc::cases(&mut tx, &i.id).await?.into_iter().map(handed).collect(),
        sealed_fields: SEALED.to_vec(),
        documents: document::list(&mut tx, &i.id).await?.into_iter().map(Paper::from).collect(),
        subscriptions: subscribed.iter().map(|row| subscription::record::item(row, now)).collect(),
        payments: payments.iter().map(line).collect(),
        entitlements: entitled.iter().map(payment).collect(),
        sessions: sessions::of_user(&mut tx, &account.id)
            .await?
            .iter()
            .map(|open| session::View::of(open, &current))
            .collect(),
        login_attempts: attempts.into_iter().map(attempt).collect(),
        webhook_endpoints: shown_endpoints(&app, &mut tx, endpoints).await?,
        events: event::shown(&mut tx, events).await?,
        cut: lengths.into_iter().filter(|(_, length)| *length as i64 >= LINES_MAX).map(|(name, _)| name).collect(),
    };
    let name = format!("attachment; filename=\"{}.json\"", i.id);
    let kept = [(header::CONTENT_DISPOSITION, name), (header::CACHE_CONTROL, "no-store".to_owned())];
    Ok((kept, Json(body)).into_response())
}

fn handed(case: Case) -> Handed {
    let Case { id, level, provider_reference, created_at } = case;
    Handed { id, level, provider_reference, created_at: Instant(created_at) }
}

fn attempt(a: LoginAttempt) -> Attempt {
    Attempt { ip: a.ip, user_agent: a.user_agent, outcome: a.outcome, created_at: Instant(a.created_at) }
}
