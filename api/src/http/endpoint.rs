//! A handler without the type of its future.

use std::pin::Pin;
use std::sync::Arc;

use axum::extract::Request;
use axum::handler::Handler;
use axum::response::Response;

/// What a handler of axum returns.
pub type Answering = Pin<Box<dyn Future<Output = Response> + Send>>;

/// A handler of axum behind a pointer. The future of a handler holds the futures of all that it awaits, and for each type that axum wraps
/// around it the compiler proves again that the whole of it is `Send`. Around this one axum wraps the same types for all handlers.
#[derive(Clone)]
pub struct Endpoint<S>(Arc<dyn Fn(Request, S) -> Answering + Send + Sync>);

impl<S> Endpoint<S> {
    /// The endpoint that this handler answers.
    pub fn new<T: 'static>(handler: impl Handler<T, S, Future = Answering>) -> Self {
        Self(Arc::new(move |request, state| handler.clone().call(request, state)))
    }
}

impl<S: Clone + Send + 'static> Handler<(), S> for Endpoint<S> {
    type Future = Answering;

    fn call(self, request: Request, state: S) -> Answering {
        (self.0)(request, state)
    }
}
