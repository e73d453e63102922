//! HTTP on both sides of the proxy.

use std::sync::Arc;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::task::JoinSet;

use super::Shared;
use super::visit::{Outcome, visit};

/// Accepts until it is dropped, and every connection with it.
pub(super) async fn serve(listener: std::net::TcpListener, shared: Arc<Shared>) {
    let listener = tokio::net::TcpListener::from_std(listener).expect("the stage has a runtime");
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let shared = shared.clone();
        connections.spawn(async move {
            let answer = service_fn(move |request| answer(shared.clone(), request));
            // An error here is what a rule asked for: the connection breaks.
            let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await;
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn answer(shared: Arc<Shared>, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Hangup> {
    let body = request.into_body().collect().await.map_err(|_| Hangup)?.to_bytes();
    shared.state().trace.requests += 1;
    let call: Value = serde_json::from_slice(&body).map_err(|_| Hangup)?;
    let outcome = match call {
        Value::Array(calls) => batch(&shared, calls).await,
        call => visit(&shared, call).await,
    };
    match outcome {
        Outcome::Answer(answer) => Ok(respond(200, answer.to_string())),
        Outcome::Status(status) => Ok(respond(status, "{\"error\":\"too much for this node\"}".to_owned())),
        Outcome::Garbage => Ok(respond(200, "<html><body>Bad gateway".to_owned())),
        Outcome::Hangup => Err(Hangup),
    }
}

/// A fault of one call is the fault of the whole answer; the calls before it have happened.
async fn batch(shared: &Shared, calls: Vec<Value>) -> Outcome {
    let mut answers = Vec::with_capacity(calls.len());
    let mut spoiled = None;
    for call in calls {
        match visit(shared, call).await {
            Outcome::Answer(answer) => answers.push(answer),
            outcome => spoiled = spoiled.or(Some(outcome)),
        }
    }
    spoiled.unwrap_or(Outcome::Answer(Value::Array(answers)))
}

fn respond(status: u16, body: String) -> Response<Full<Bytes>> {
    let response = Response::builder().status(status).header("content-type", "application/json");
    response.body(Full::new(body.into())).expect("a status and a body make a response")
}

#[derive(Debug)]
struct Hangup;

impl std::fmt::Display for Hangup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the proxy hangs up")
    }
}

impl std::error::Error for Hangup {}
