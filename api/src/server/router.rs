//! The router: every endpoint behind its layers.

use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::{Extension, Router};
use tokio_util::sync::CancellationToken;
use tower_http::catch_panic::CatchPanicLayer;

use crate::access::admit::admit;
use crate::app::App;
use crate::code::Code;
use crate::console;
use crate::http::error::Problem;
use crate::http::origin;
use crate::pulse::Pulse;
use crate::server::routes::ROUTES;
use crate::server::{answer, media};

/// The whole interface.
pub fn router(app: App, stop: CancellationToken) -> Router {
    let mut api = Router::new();
    for route in ROUTES.iter() {
        // The last layer is the outermost: size and media type are checked before the token is.
        let handler = route
            .handler()
            .route_layer(from_fn_with_state((app.clone(), route), admit))
            .route_layer(from_fn_with_state((app.clone(), route), media::check));
        api = api.route(&route.path, handler);
    }
    let pulse = Pulse::start(&app, stop);
    let api = api.layer(Extension(pulse.clone()));
    // The console asks by the same routes, so what the API refuses the console refuses.
    let console = console::router(app.clone(), api.clone().with_state(app.clone()), pulse);
    api.merge(console)
        .fallback(async || Problem::bare(Code::NotFound))
        .method_not_allowed_fallback(async || Problem::bare(Code::MethodNotAllowed))
        .layer(DefaultBodyLimit::disable())
        .layer(CatchPanicLayer::custom(answer::panicked))
        .layer(from_fn_with_state(app.clone(), answer::bound))
        .layer(from_fn_with_state(app.limits.clone(), origin::cross))
        .layer(from_fn_with_state(app.clone(), answer::finish))
        .with_state(app)
}
