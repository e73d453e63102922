//! Events as server-sent events. A stream that broke is continued after its last event (`Last-Event-ID`): no event is lost or doubled.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use futures::stream;
use muniment_domain::event_scope::Filter;
use muniment_domain::id::EventId;

use super::event_name::EventName;
use super::waiter::Waiter;
use crate::access::principal::Principal;
use crate::code::Code;
use crate::http::accept;
use crate::http::error::{Problem, Result};
use crate::http::pages::Parameters;
use crate::pulse::Watch;

/// The pause between two comments on a silent stream. The caller is looked up as often.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// How soon a client should connect again.
const RECONNECT: Duration = Duration::from_secs(2);
/// Events that are read at once.
const PAGE: i64 = 100;
const LAST_EVENT_ID: &str = "last-event-id";
/// Before every event.
const BEGINNING: &str = "evt_00000000000000000000000000";

/// An open stream.
struct Open {
    waiter: Waiter,
    watch: Watch,
    kind: Option<EventName>,
    after: i64,
    /// Whether the last page was not full.
    caught_up: bool,
    ready: VecDeque<Event>,
}

/// Whether a stream is asked for. Who takes JSON as well gets JSON.
pub fn is_wanted(headers: &HeaderMap) -> bool {
    !accept::takes(headers, &["application/json"]) && accept::takes(headers, &["text/event-stream"])
}

/// Opens a stream. Its first message has an id and no data, so that a client has a place to continue from before the first event.
pub async fn open(waiter: Waiter, mut watch: Watch, principal: Principal, request: &Parts) -> Result<Response> {
    let parameters = Parameters::read(&request.uri, &["type", "after"])?;
    let (kind, given) = (parameters.word("type")?, parameters.id("after")?);
    let begin = match last_event_id(&request.headers)?.or(given) {
        Some(id) => id,
        None => waiter.last(&principal).await?.unwrap_or_else(|| BEGINNING.into()),
    };
    let after = waiter.position(&principal, Some(&begin)).await?;
    watch.position();
    let opening = Event::default().id(begin).retry(RECONNECT).comment("open");
    let open = Open { waiter, watch, kind, after, caught_up: false, ready: VecDeque::from([opening]) };
    let messages = stream::unfold(open, async |mut open| {
        let next = open.next().await?;
        Some((Ok::<_, Infallible>(next), open))
    });
    let mut response = Sse::new(messages).into_response();
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // A proxy that buffers would keep events back.
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}

/// The header with which a client continues a stream.
pub fn last_event_id(headers: &HeaderMap) -> Result<Option<EventId>> {
    let Some(value) = headers.get(LAST_EVENT_ID) else { return Ok(None) };
    let id = EventId::from(value.to_str().unwrap_or_default());
    match id.is_sound() {
        true => Ok(Some(id)),
        false => Err(Problem::new(Code::InvalidHeader, "Last-Event-ID must be the id of an event, such as evt_01k….")),
    }
}

impl Open {
    /// The next message. None ends the stream: the process stops, the caller is no longer admitted, or the database is away.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                return Some(message);
            }
            let changed = if self.caught_up { self.watch.changed(HEARTBEAT).await? } else { true };
            if let Err(problem) = self.read().await {
                tracing::info!(error.code = problem.code.as_str(), "an event stream ends");
                return None;
            }
            if !changed && self.ready.is_empty() {
                return Some(Event::default().comment("waiting"));
            }
        }
    }

    async fn read(&mut self) -> Result<()> {
        let principal = self.waiter.admitted().await?;
        let seen = self.watch.position();
        let filter = Filter { kind: self.kind.map(|name| name.0), after: self.after, ..Filter::default() };
        let (events, last) = self.waiter.page(&principal, &filter, PAGE).await?;
        self.caught_up = (events.len() as i64) < PAGE;
        // A page that is not full ends with everything that was there.
        self.after = self.after.max(last.unwrap_or_default()).max(if self.caught_up { seen } else { 0 });
        for event in &events {
            let message = Event::default().id(&event.id).json_data(event).map_err(Problem::internal)?;
            self.ready.push_back(message);
        }
        Ok(())
    }
}
