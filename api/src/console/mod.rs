//! The operator console at `/console`: pages rendered by the server, beside the API and never past it. README.md says how to add a page.

mod account;
mod act;
mod answers;
mod approvals;
mod asset;
mod audit;
mod call;
mod chart;
mod cookie;
mod desk;
mod distributions;
mod door;
mod field;
mod form;
mod frame;
mod hour;
mod html;
mod investors;
mod keys;
mod list;
mod live;
mod names;
mod nav;
mod offerings;
mod operation;
mod operations;
mod overview;
mod pair;
mod people;
mod problem;
mod queue;
mod reconciliation;
mod record;
mod settings;
mod sign_in;
mod signers;
mod simulation;
mod state;
mod table;
mod watch;
mod webhooks;
mod wording;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{get, post};

use self::state::Console;
use crate::app::App;
use crate::code::Code;
use crate::http::error::Problem;
use crate::pulse::Pulse;

/// Every page. `api` answers what they ask for.
pub fn router(app: App, api: Router, pulse: Pulse) -> Router<App> {
    let console = Console { app, api, pulse };
    let inside = Router::new()
        .route("/console", get(overview::page))
        .route("/console/live", get(live::stream))
        .route(operations::PATH, get(operations::page))
        .route("/console/operations/retry", get(operations::bulk_retry::page).post(operations::bulk_retry::act))
        .route("/console/operations/{id}", get(operation::page))
        .route("/console/operations/{id}/act/{act}", get(operation::act::page).post(operation::act::act))
        .route(
            "/console/operations/{id}/reconcile",
            get(operation::reconcile::page).post(operation::reconcile::confirm),
        )
        .route(approvals::PATH, get(approvals::list))
        .route("/console/approvals/{id}", get(approvals::page).post(approvals::decide))
        .route("/console/sign-out", post(sign_in::out))
        .route(account::PATH, get(account::page))
        .route("/console/account/act/{word}", get(account::sheet).post(account::act))
        .route("/console/{*rest}", get(missing).post(missing))
        .merge(business())
        .merge(platform())
        .layer(from_fn_with_state(console.clone(), door::guard));
    Router::new()
        .route("/console/assets/{name}", get(asset::serve))
        .route("/console/sign-in", get(sign_in::page).post(sign_in::password))
        .route("/console/sign-in/code", post(sign_in::code))
        .merge(inside)
        .layer(from_fn(html::compressed))
        .with_state(console)
}

/// Signers, and what the platform is for.
fn business() -> Router<Console> {
    Router::new()
        .route(signers::PATH, get(signers::page))
        .route("/console/signers/{id}", get(signers::place))
        .route("/console/signers/{id}/import", get(signers::import::page).post(signers::import::act))
        .route("/console/signers/{id}/act/{word}", get(signers::sheet).post(signers::act))
        .route(offerings::PATH, get(offerings::page))
        .route("/console/offerings/{id}", get(offerings::one))
        .route("/console/offerings/{id}/mint", get(offerings::mint_preview).post(offerings::mint))
        .route("/console/offerings/{id}/act/{word}", get(offerings::sheet).post(offerings::act))
        .route(distributions::PATH, get(distributions::page))
        .route("/console/distributions/act/{word}", get(distributions::new).post(distributions::create))
        .route("/console/distributions/{id}", get(distributions::one))
        .route("/console/distributions/{id}/report", get(distributions::report))
        .route("/console/distributions/{id}/act/{word}", get(distributions::sheet).post(distributions::act))
        .route(investors::PATH, get(investors::page))
        .route("/console/investors/{id}", get(investors::one))
        .route("/console/investors/{id}/review", get(investors::one).post(investors::review))
        .route("/console/investors/{id}/act/{word}", get(investors::sheet).post(investors::act))
}

/// What keeps the platform running.
fn platform() -> Router<Console> {
    Router::new()
        .route(webhooks::PATH, get(webhooks::page))
        .route("/console/webhooks/act/{word}", get(webhooks::new).post(webhooks::create))
        .route("/console/webhooks/deliveries/{id}", get(webhooks::delivery))
        .route("/console/webhooks/deliveries/{id}/act/{word}", get(webhooks::delivery_sheet).post(webhooks::deliver))
        .route("/console/webhooks/{id}", get(webhooks::endpoint))
        .route("/console/webhooks/{id}/act/{word}", get(webhooks::sheet).post(webhooks::act))
        .route(reconciliation::PATH, get(reconciliation::page))
        .route("/console/reconciliation/act/{word}", get(reconciliation::new).post(reconciliation::start))
        .route("/console/reconciliation/{id}", get(reconciliation::one))
        .route(queue::PATH, get(queue::page))
        .route(audit::PATH, get(audit::page))
        .route("/console/audit/verify", get(audit::verify))
        .route(people::PATH, get(people::page))
        .route("/console/users/act/{word}", get(people::new).post(people::invite))
        .route("/console/users/{id}", get(people::one))
        .route("/console/users/{id}/act/{word}", get(people::sheet).post(people::act))
        .route(keys::PATH, get(keys::page))
        .route("/console/keys/act/{word}", get(keys::new).post(keys::create))
        .route("/console/keys/{id}", get(keys::place))
        .route("/console/keys/{id}/act/{word}", get(keys::sheet).post(keys::act))
        .route(settings::PATH, get(settings::page))
        .route("/console/settings/act/{word}", get(settings::sheet).post(settings::change))
}

async fn missing() -> Problem {
    Problem::new(Code::NotFound, "The console has no page at this address.")
}
