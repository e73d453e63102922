//! The routes, each behind its row of the permission table.

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::Method;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodRouter, delete, get, patch, post, put};

use crate::app::App;
use crate::code::Code;
use crate::error::Problem;
use crate::{
    answer, api_key, approval, audit, auth, bulk_retry, cancel, csrf, deploy, distribution, docs, force_transfer,
    freeze, health, holder, investor, issuer, lock, media, member, mint, offering, openapi, operation, origin,
    permission, policy, principal, reconcile, reconciliation, recover, report, restrict, retry, signer, speed_up,
    subscription, token_view, unfreeze, unlock, unrestrict, user, webhook,
};

/// One route.
pub struct Route {
    /// Its method.
    pub method: Method,
    /// Its path.
    pub path: &'static str,
    handler: MethodRouter<App>,
}

/// Every route there is.
pub fn routes() -> Vec<Route> {
    let on_get = |path, handler| Route { method: Method::GET, path, handler };
    let on_post = |path, handler| Route { method: Method::POST, path, handler };
    let mut routes = distributions();
    routes.extend(offerings());
    routes.extend(telling());
    routes.extend(people());
    routes.extend(subscriptions());
    routes.extend(investors());
    routes.extend(tokens());
    routes.extend(vec![
        on_get("/healthz", get(health::alive)),
        on_get("/readyz", get(health::ready)),
        on_get("/version", get(health::version)),
        on_get("/v1/reports/cap-table", get(report::cap_table::read)),
        on_get("/v1/reports/distributions", get(report::distribution::read)),
        on_get("/v1/reports/transactions", get(report::transaction::read)),
        on_get("/v1/reports/tax", get(report::tax::read)),
        on_get("/v1/policies", get(policy::read)),
        Route { method: Method::PUT, path: "/v1/policies", handler: put(policy::change) },
        on_get("/v1/audit-log", get(audit::list)),
        on_get("/v1/audit-log/verify", get(audit::verify)),
        on_get("/v1/audit-log/{line}/proof", get(audit::proof::handle)),
        on_get("/openapi.json", get(openapi::serve)),
        on_get("/docs", get(docs::page)),
        on_get("/docs/page.css", get(docs::style)),
        on_get("/docs/page.js", get(docs::script)),
        on_get("/v1/offerings/{id}/subscriptions", get(subscription::of_offering)),
        on_get("/v1/offerings/{id}/holders", get(holder::list)),
        on_get("/v1/approvals", get(approval::list)),
        on_get("/v1/approvals/{id}", get(approval::detail)),
        on_post("/v1/approvals/{id}/approve", post(approval::decide::approve)),
        on_post("/v1/approvals/{id}/reject", post(approval::decide::reject)),
        on_post("/v1/approvals/{id}/cancel", post(approval::decide::cancel)),
        on_post("/v1/approvals/{id}/api-key", post(api_key::take)),
        on_post("/blockchain/deploy-token", post(deploy::deploy_token)),
        on_post("/blockchain/trigger-mint", post(mint::trigger_mint)),
        on_post("/blockchain/freeze", post(freeze::freeze)),
        on_post("/blockchain/unfreeze", post(unfreeze::unfreeze)),
        on_post("/blockchain/lock", post(lock::lock)),
        on_post("/blockchain/unlock", post(unlock::unlock)),
        on_post("/blockchain/restrict", post(restrict::restrict)),
        on_post("/blockchain/unrestrict", post(unrestrict::unrestrict)),
        on_post("/blockchain/force-transfer", post(force_transfer::force_transfer)),
        on_post("/blockchain/recover", post(recover::recover)),
    ]);
    routes.extend(desk());
    routes
}

/// Those of the operator's desk.
fn desk() -> Vec<Route> {
    let on_get = |path, handler| Route { method: Method::GET, path, handler };
    let on_post = |path, handler| Route { method: Method::POST, path, handler };
    vec![
        on_get("/blockchain/operations", get(operation::list)),
        on_get("/blockchain/operations/stats", get(operation::stats)),
        on_get("/blockchain/operations/{id}", get(operation::detail)),
        on_post("/blockchain/operations/bulk-retry", post(bulk_retry::handle)),
        on_post("/blockchain/operations/{id}/retry", post(retry::handle)),
        on_post("/blockchain/operations/{id}/reconcile", post(reconcile::handle)),
        on_post("/blockchain/operations/{id}/speed-up", post(speed_up::handle)),
        on_post("/blockchain/operations/{id}/cancel", post(cancel::handle)),
        on_get("/blockchain/signers", get(signer::list)),
        on_post("/blockchain/signers/{id}/pause", post(signer::pause)),
        on_post("/blockchain/signers/{id}/resume", post(signer::resume)),
        on_get("/blockchain/reconciliation-runs", get(reconciliation::list)),
        on_post("/blockchain/reconciliation-runs", post(reconciliation::start)),
        on_get("/blockchain/reconciliation-runs/{id}", get(reconciliation::detail)),
    ]
}

/// Those about who somebody is, and what they are.
fn people() -> Vec<Route> {
    let on_get = |path, handler| Route { method: Method::GET, path, handler };
    let on_post = |path, handler| Route { method: Method::POST, path, handler };
    let on_patch = |path, handler| Route { method: Method::PATCH, path, handler };
    let on_delete = |path, handler| Route { method: Method::DELETE, path, handler };
    vec![
        on_get("/.well-known/jwks.json", get(auth::jwks)),
        on_get("/v1/csrf-token", get(csrf::token)),
        on_post("/v1/auth/register", post(auth::register::register)),
        on_post("/v1/auth/login", post(auth::login::login)),
        on_post("/v1/auth/mfa/verify", post(auth::login::verify_second_factor)),
        on_post("/v1/auth/refresh", post(auth::refresh::refresh)),
        on_post("/v1/auth/verify-email", post(auth::email::verify)),
        on_post("/v1/auth/verify-email/resend", post(auth::email::resend)),
        on_post("/v1/auth/logout", post(auth::session::logout)),
        on_get("/v1/auth/me", get(auth::me::read)),
        on_patch("/v1/auth/me", patch(auth::me::change)),
        on_get("/v1/auth/sessions", get(auth::session::list)),
        on_delete("/v1/auth/sessions", delete(auth::session::end_others)),
        on_delete("/v1/auth/sessions/{id}", delete(auth::session::end)),
        on_post("/v1/auth/password/change", post(auth::password::change)),
        on_post("/v1/auth/password/forgot", post(auth::password::forgot)),
        on_post("/v1/auth/password/reset", post(auth::password::reset)),
        on_post("/v1/auth/mfa/totp", post(auth::second_factor::enrol)),
        on_delete("/v1/auth/mfa/totp", delete(auth::second_factor::remove)),
        on_post("/v1/auth/mfa/totp/confirm", post(auth::second_factor::confirm)),
        on_post("/v1/auth/mfa/recovery-codes", post(auth::second_factor::recovery_codes)),
        on_post("/v1/auth/step-up", post(auth::step_up::step_up)),
        on_get("/v1/api-keys", get(api_key::list)),
        on_post("/v1/api-keys", post(api_key::create)),
        on_post("/v1/api-keys/{id}/rotate", post(api_key::rotate)),
        on_delete("/v1/api-keys/{id}", delete(api_key::revoke)),
        on_get("/v1/users", get(user::list)),
        on_post("/v1/users", post(user::invite)),
        on_patch("/v1/users/{id}/roles", patch(user::set_roles)),
        on_post("/v1/users/{id}/invitation", post(user::invite_again)),
        on_post("/v1/users/{id}/disable", post(user::disable)),
        on_post("/v1/users/{id}/enable", post(user::enable)),
        on_post("/v1/users/{id}/revoke-sessions", post(user::revoke_sessions)),
    ]
}

/// Those of subscriptions.
fn subscriptions() -> Vec<Route> {
    let on_get = |path, handler| Route { method: Method::GET, path, handler };
    let on_post = |path, handler| Route { method: Method::POST, path, handler };
    let on_patch = |path, handler| Route { method: Method::PATCH, path, handler };
    vec![
        on_post("/v1/offerings/{id}/subscribe", post(subscription::subscribe::subscribe)),
        on_get("/v1/subscriptions", get(subscription::list)),
        on_get("/v1/subscriptions/{id}", get(subscription::detail)),
        on_patch("/v1/subscriptions/{id}", patch(subscription::wallet::change_wallet)),
        on_post("/v1/subscriptions/{id}/cancel", post(subscription::act::cancel)),
        on_post("/v1/subscriptions/{id}/reconfirm", post(subscription::act::reconfirm)),
        on_post("/v1/subscriptions/{id}/payments", post(subscription::payment::payments)),
        on_post("/v1/subscriptions/{id}/accept", post(subscription::act::accept)),
        on_post("/v1/subscriptions/{id}/reject", post(subscription::act::reject)),
        on_post("/v1/subscriptions/{id}/refund", post(subscription::payment::refund)),
    ]
}

/// Those of investors.
fn investors() -> Vec<Route> {
    let on_get = |path, handler| Route { method: Method::GET, path, handler };
    let on_post = |path, handler| Route { method: Method::POST, path, handler };
    let on_patch = |path, handler| Route { method: Method::PATCH, path, handler };
    let on_delete = |path, handler| Route { method: Method::DELETE, path, handler };
    vec![
        on_get("/v1/investor/profile", get(investor::profile::read)),
        on_patch("/v1/investor/profile", patch(investor::profile::change)),
        on_post("/v1/investor/kyc", post(investor::kyc::submit)),
        on_get("/v1/investor/export", get(investor::export::read)),
        on_get("/v1/investor/wallets", get(investor::wallet::list)),
        on_post("/v1/investor/wallets", post(investor::wallet::add)),
        on_post("/v1/investor/wallets/{id}/verify", post(investor::wallet::verify)),
        on_post("/v1/investor/wallets/{id}/default", post(investor::wallet::prefer)),
        on_delete("/v1/investor/wallets/{id}", delete(investor::wallet::remove)),
        on_get("/v1/investors", get(investor::list)),
        on_get("/v1/investors/{id}", get(investor::detail)),
        on_get("/v1/investors/{id}/portfolio", get(investor::portfolio::read)),
        on_post("/v1/investors/{id}/kyc/decision", post(investor::decision::decide)),
        on_post("/v1/investors/{id}/accreditation", post(investor::accreditation::accredit)),
        on_post("/v1/investors/{id}/tax", post(investor::tax::withhold)),
        on_get("/v1/investors/{id}/documents", get(investor::document::list)),
        on_post("/v1/investors/{id}/documents", post(investor::document::add)),
        on_post("/v1/investors/{id}/suspend", post(investor::suspension::suspend)),
        on_post("/v1/investors/{id}/reinstate", post(investor::suspension::reinstate)),
        on_post("/v1/investors/{id}/erase", post(investor::erasure::erase)),
    ]
}

/// Those that ask a chain.
fn tokens() -> Vec<Route> {
    let on_get = |path, handler| Route { method: Method::GET, path, handler };
    vec![
        on_get("/v1/offerings/{id}/token", get(token_view::fact::facts)),
        on_get("/v1/offerings/{id}/token/can-transfer", get(token_view::holder::can_transfer)),
        on_get("/v1/offerings/{id}/token/balances/{address}", get(token_view::holder::balances)),
        on_get("/v1/offerings/{id}/token/partitions/{partition}/restriction", get(token_view::fact::restriction)),
        on_get("/v1/offerings/{id}/token/frozen/{address}", get(token_view::holder::frozen)),
    ]
}

/// Those of offerings and of whose they are.
fn offerings() -> Vec<Route> {
    let on_get = |path, handler| Route { method: Method::GET, path, handler };
    let on_post = |path, handler| Route { method: Method::POST, path, handler };
    vec![
        on_get("/v1/offerings", get(offering::list::list)),
        on_post("/v1/offerings", post(offering::write::create)),
        on_get("/v1/offerings/{id}", get(offering::detail::detail)),
        Route { method: Method::PATCH, path: "/v1/offerings/{id}", handler: patch(offering::write::change) },
        on_post("/v1/offerings/{id}/submit", post(offering::act::submit)),
        on_post("/v1/offerings/{id}/approve", post(offering::act::approve)),
        on_post("/v1/offerings/{id}/request-changes", post(offering::act::request_changes)),
        on_post("/v1/offerings/{id}/publish", post(offering::act::publish)),
        on_post("/v1/offerings/{id}/pause", post(offering::act::pause)),
        on_post("/v1/offerings/{id}/resume", post(offering::act::resume)),
        on_post("/v1/offerings/{id}/close", post(offering::act::close)),
        on_post("/v1/offerings/{id}/cancel", post(offering::act::cancel)),
        on_post("/v1/offerings/{id}/archive", post(offering::act::archive)),
        on_post("/v1/offerings/{id}/material-change", post(offering::act::material_change)),
        on_get("/v1/offerings/{id}/documents", get(offering::document::list)),
        on_post("/v1/offerings/{id}/documents", post(offering::document::add)),
        on_get("/v1/offerings/{id}/timeline", get(offering::timeline::timeline)),
        on_get("/v1/issuers", get(issuer::list)),
        on_get("/v1/issuers/{id}", get(issuer::detail)),
        on_post("/v1/issuers/{id}/approve", post(issuer::approve)),
        on_post("/v1/issuers/{id}/suspend", post(issuer::suspend)),
        on_post("/v1/issuers/{id}/reinstate", post(issuer::reinstate)),
        on_get("/v1/issuers/{id}/members", get(member::list)),
        on_post("/v1/issuers/{id}/members", post(member::invite)),
        Route { method: Method::DELETE, path: "/v1/issuers/{id}/members/{user_id}", handler: delete(member::remove) },
    ]
}

/// Those of what is told.
fn telling() -> Vec<Route> {
    let on_get = |path, handler| Route { method: Method::GET, path, handler };
    let on_post = |path, handler| Route { method: Method::POST, path, handler };
    let (one, rotate) = ("/v1/webhooks/endpoints/{id}", "/v1/webhooks/endpoints/{id}/rotate-secret");
    vec![
        on_get("/v1/webhooks/event-types", get(webhook::event::types)),
        on_get("/v1/webhooks/endpoints", get(webhook::endpoint::list)),
        on_post("/v1/webhooks/endpoints", post(webhook::endpoint::create)),
        on_get(one, get(webhook::endpoint::detail)),
        Route { method: Method::PATCH, path: one, handler: patch(webhook::endpoint::change) },
        Route { method: Method::DELETE, path: one, handler: delete(webhook::endpoint::remove) },
        on_post(rotate, post(webhook::endpoint::rotate)),
        on_get("/v1/events", get(webhook::event::list)),
        on_get("/v1/events/{id}", get(webhook::event::detail)),
    ]
}

/// Those of distributions.
fn distributions() -> Vec<Route> {
    let on_get = |path, handler| Route { method: Method::GET, path, handler };
    let on_post = |path, handler| Route { method: Method::POST, path, handler };
    vec![
        on_get("/v1/distributions", get(distribution::list)),
        on_get("/v1/distributions/{id}", get(distribution::detail)),
        on_get("/v1/distributions/{id}/entitlements", get(distribution::entitlement::list)),
        on_get("/v1/distributions/{id}/report", get(distribution::report::report)),
        on_post("/v1/distributions", post(distribution::create::create)),
        on_post("/v1/distributions/{id}/snapshot", post(distribution::act::snapshot)),
        on_post("/v1/distributions/{id}/calculate", post(distribution::act::calculate)),
        on_post("/v1/distributions/{id}/submit", post(distribution::act::submit)),
        on_post("/v1/distributions/{id}/execute", post(distribution::execute::execute)),
        on_post("/v1/distributions/{id}/cancel", post(distribution::act::cancel)),
        on_post("/v1/distributions/{id}/reclaim", post(distribution::act::reclaim)),
        on_post("/v1/distributions/{id}/reissue", post(distribution::reissue::reissue)),
        on_post("/v1/distributions/{id}/declare-audit", post(distribution::act::declare_audit)),
        on_post("/v1/distributions/{id}/entitlements/{entitlement_id}/hold", post(distribution::entitlement::hold)),
        on_post(
            "/v1/distributions/{id}/entitlements/{entitlement_id}/release",
            post(distribution::entitlement::release),
        ),
        on_post(
            "/v1/distributions/{id}/entitlements/{entitlement_id}/exclude",
            post(distribution::entitlement::exclude),
        ),
        on_post(
            "/v1/distributions/{id}/entitlements/{entitlement_id}/reissue",
            post(distribution::entitlement::reissue),
        ),
    ]
}

/// The whole interface.
pub fn router(app: App) -> Router {
    let mut router = Router::new();
    for route in routes() {
        let permission = permission::of(&route.method, route.path);
        // The last layer is the outermost: size and type are looked at before the key is.
        let handler = route
            .handler
            .route_layer(from_fn_with_state((app.clone(), permission), principal::admit))
            .route_layer(from_fn_with_state((app.clone(), permission), media::check));
        router = router.route(route.path, handler);
    }
    router
        .fallback(async || Problem::bare(Code::NotFound))
        .method_not_allowed_fallback(async || Problem::bare(Code::MethodNotAllowed))
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn_with_state(app.clone(), answer::bound))
        .layer(from_fn_with_state(app.clone(), origin::cross))
        .layer(from_fn_with_state(app.clone(), answer::finish))
        .with_state(app)
}
