//! Live pages: a stream that says when something has changed. The page then reads itself again, with all its checks.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures::stream::{self, Stream, StreamExt};

use crate::console::state::Console;

const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The stream of one page.
pub async fn stream(State(console): State<Console>) -> Sse<impl Stream<Item = std::result::Result<Event, Infallible>>> {
    let seen = console.pulse.subscribe();
    let changes = stream::unfold(seen, async |mut seen| {
        seen.changed().await.ok()?;
        Some((Ok(Event::default().event("change").data("now")), seen))
    });
    let opened = stream::once(async { Ok(Event::default().event("open").data("now")) });
    let ended = console.pulse.stop().cancelled_owned();
    let all = opened.chain(changes).take_until(Box::pin(ended));
    Sse::new(all).keep_alive(KeepAlive::new().interval(KEEP_ALIVE))
}
