//! The routes, each behind its row of the permission table.

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::Method;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodRouter, get, post};

use crate::app::App;
use crate::code::Code;
use crate::error::Problem;
use crate::{
    answer, approval, bulk_retry, cancel, deploy, force_transfer, freeze, health, holder, lock, media, mint, offering,
    operation, permission, principal, reconcile, recover, restrict, retry, signer, speed_up, subscription, unfreeze,
    unlock, unrestrict,
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
    vec![
        on_get("/healthz", get(health::alive)),
        on_get("/readyz", get(health::ready)),
        on_get("/version", get(health::version)),
        on_get("/v1/offerings/{id}", get(offering::detail)),
        on_get("/v1/offerings/{id}/subscriptions", get(subscription::list)),
        on_get("/v1/offerings/{id}/holders", get(holder::list)),
        on_get("/v1/approvals", get(approval::list)),
        on_get("/v1/approvals/{id}", get(approval::detail)),
        on_post("/v1/approvals/{id}/approve", post(approval::approve)),
        on_post("/v1/approvals/{id}/reject", post(approval::reject)),
        on_post("/v1/approvals/{id}/cancel", post(approval::cancel)),
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
            .route_layer(from_fn_with_state(app.clone(), media::check));
        router = router.route(route.path, handler);
    }
    router
        .fallback(async || Problem::bare(Code::NotFound))
        .method_not_allowed_fallback(async || Problem::bare(Code::MethodNotAllowed))
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn_with_state(app.clone(), answer::finish))
        .with_state(app)
}
