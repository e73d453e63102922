//! Live pages: a stream that says when something has changed. The page then reads itself again, with all its checks.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures::stream::{self, Stream, StreamExt};

use crate::code::Code;
use crate::console::desk::Desk;
use crate::console::state::Console;
use crate::http::error::{Problem, Result};

const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How many streams a person can have open, one for each page.
const STREAMS_MAX: usize = 20;

/// The stream of one page. A browser does not repeat a request for a stream that is refused.
pub async fn stream(
    State(console): State<Console>,
    desk: Desk,
) -> Result<Sse<impl Stream<Item = std::result::Result<Event, Infallible>>>> {
    let Some(place) = console.streams.take(desk.person.0.user_id.to_string(), STREAMS_MAX) else {
        let detail =
            format!("You can have {STREAMS_MAX} live pages open at once. Close one, and load this page again.");
        return Err(Problem::new(Code::RateLimited, detail));
    };
    let seen = console.pulse.subscribe();
    let changes = stream::unfold((seen, place), async |(mut seen, place)| {
        seen.changed().await.ok()?;
        Some((Ok(Event::default().event("change").data("now")), (seen, place)))
    });
    let opened = stream::once(async { Ok(Event::default().event("open").data("now")) });
    let ended = console.pulse.stop().cancelled_owned();
    let all = opened.chain(changes).take_until(Box::pin(ended));
    Ok(Sse::new(all).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}
