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
mod silenced;
mod simulation;
mod state;
mod table;
mod watch;
mod webhooks;
mod wording;

use axum::Router;
use axum::handler::Handler;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{self, MethodRouter};

use self::state::Console;
use crate::app::App;
use crate::code::Code;
use crate::http::endpoint::{Answering, Endpoint};
use crate::http::error::Problem;
use crate::http::places::Places;
use crate::pulse::Pulse;

/// Every page. `api` answers what they ask for.
pub fn router(app: App, api: Router, pulse: Pulse) -> Router<App> {
    let console = Console { app, api, pulse, streams: Places::default() };
    let inside = Router::new()
        .route("/console", get(overview::page))
        .route("/console/live", get(live::stream))
        .route(operations::PATH, get(operations::page))
        .route("/console/operations/retry", get_and_post(operations::bulk_retry::page, operations::bulk_retry::act))
        .route("/console/operations/{id}", get(operation::page))
        .route("/console/operations/{id}/act/{act}", get_and_post(operation::act::page, operation::act::act))
        .route(
            "/console/operations/{id}/reconcile",
            get_and_post(operation::reconcile::page, operation::reconcile::confirm),
        )
        .route(approvals::PATH, get(approvals::list))
        .route("/console/approvals/{id}", get_and_post(approvals::page, approvals::decide))
        .route("/console/sign-out", post(sign_in::out))
        .route(account::PATH, get(account::page))
        .route("/console/account/act/{word}", get_and_post(account::sheet, account::act))
        .route("/console/{*rest}", get_and_post(missing, missing))
        .merge(business())
        .merge(platform())
        .layer(from_fn_with_state(console.clone(), door::guard));
    Router::new()
        .route("/console/assets/{name}", get(asset::serve))
        .route("/console/sign-in", get_and_post(sign_in::page, sign_in::password))
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
        .route("/console/signers/{id}/import", get_and_post(signers::import::page, signers::import::act))
        .route("/console/signers/{id}/act/{word}", get_and_post(signers::sheet, signers::act))
        .route(offerings::PATH, get(offerings::page))
        .route("/console/offerings/{id}", get(offerings::one))
        .route("/console/offerings/{id}/mint", get_and_post(offerings::mint_preview, offerings::mint))
        .route("/console/offerings/{id}/act/{word}", get_and_post(offerings::sheet, offerings::act))
        .route(distributions::PATH, get(distributions::page))
        .route("/console/distributions/act/{word}", get_and_post(distributions::new, distributions::create))
        .route("/console/distributions/{id}", get(distributions::one))
        .route("/console/distributions/{id}/report", get(distributions::report))
        .route("/console/distributions/{id}/act/{word}", get_and_post(distributions::sheet, distributions::act))
        .route(investors::PATH, get(investors::page))
        .route("/console/investors/{id}", get(investors::one))
        .route("/console/investors/{id}/review", get_and_post(investors::one, investors::review))
        .route("/console/investors/{id}/act/{word}", get_and_post(investors::sheet, investors::act))
}

/// What keeps the platform running.
fn platform() -> Router<Console> {
    Router::new()
        .route(webhooks::PATH, get(webhooks::page))
        .route("/console/webhooks/act/{word}", get_and_post(webhooks::new, webhooks::create))
        .route("/console/webhooks/deliveries/{id}", get(webhooks::delivery))
        .route(
            "/console/webhooks/deliveries/{id}/act/{word}",
            get_and_post(webhooks::delivery_sheet, webhooks::deliver),
        )
        .route("/console/webhooks/{id}", get(webhooks::endpoint))
        .route("/console/webhooks/{id}/act/{word}", get_and_post(webhooks::sheet, webhooks::act))
        .route(reconciliation::PATH, get(reconciliation::page))
        .route("/console/reconciliation/act/{word}", get_and_post(reconciliation::new, reconciliation::start))
        .route("/console/reconciliation/{id}", get(reconciliation::one))
        .route(queue::PATH, get(queue::page))
        .route(audit::PATH, get(audit::page))
        .route("/console/audit/verify", get(audit::verify))
        .route(people::PATH, get(people::page))
        .route("/console/users/act/{word}", get_and_post(people::new, people::invite))
        .route("/console/users/{id}", get(people::one))
        .route("/console/users/{id}/act/{word}", get_and_post(people::sheet, people::act))
        .route(keys::PATH, get(keys::page))
        .route("/console/keys/act/{word}", get_and_post(keys::new, keys::create))
        .route("/console/keys/{id}", get(keys::place))
        .route("/console/keys/{id}/act/{word}", get_and_post(keys::sheet, keys::act))
        .route(settings::PATH, get(settings::page))
        .route("/console/settings/act/{word}", get_and_post(settings::sheet, settings::change))
}

async fn missing() -> Problem {
    Problem::new(Code::NotFound, "The console has no page at this address.")
}

fn get<T: 'static>(page: impl Handler<T, Console, Future = Answering>) -> MethodRouter<Console> {
    routing::get(Endpoint::new(page))
}

fn post<T: 'static>(act: impl Handler<T, Console, Future = Answering>) -> MethodRouter<Console> {
    routing::post(Endpoint::new(act))
}

fn get_and_post<T: 'static, U: 'static>(
    page: impl Handler<T, Console, Future = Answering>,
    act: impl Handler<U, Console, Future = Answering>,
) -> MethodRouter<Console> {
    get(page).post(Endpoint::new(act))
}
