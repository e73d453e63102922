//! The router: every endpoint behind its layers.

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use tower_http::catch_panic::CatchPanicLayer;

use crate::access::admit::admit;
use crate::app::App;
use crate::code::Code;
use crate::http::error::Problem;
use crate::http::origin;
use crate::server::routes::ROUTES;
use crate::server::{answer, media};

/// The whole interface.
pub fn router(app: App) -> Router {
    let mut router = Router::new();
    for route in ROUTES.iter() {
        // The last layer is the outermost: size and media type are checked before the token is.
        let handler = route
            .handler()
            .route_layer(from_fn_with_state((app.clone(), route), admit))
            .route_layer(from_fn_with_state((app.clone(), route), media::check));
        router = router.route(&route.path, handler);
    }
    router
        .fallback(async || Problem::bare(Code::NotFound))
        .method_not_allowed_fallback(async || Problem::bare(Code::MethodNotAllowed))
        .layer(DefaultBodyLimit::disable())
        .layer(CatchPanicLayer::custom(answer::panicked))
        .layer(from_fn_with_state(app.clone(), answer::bound))
        .layer(from_fn_with_state(app.limits.clone(), origin::cross))
        .layer(from_fn_with_state(app.clone(), answer::finish))
        .with_state(app)
}
