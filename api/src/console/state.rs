//! What every page of the console can reach.

use axum::Router;

use crate::app::App;
use crate::http::places::Places;
use crate::pulse::Pulse;

/// The state of the console. Clones share it.
#[derive(Clone)]
pub struct Console {
    /// The state of the interface, for keys, limits and the clock. Pages read data through `api` alone.
    pub app: App,
    /// The endpoints with their checks.
    pub api: Router,
    /// The newest changes, for the streams of live pages.
    pub pulse: Pulse,
    /// The open streams of live pages, by person.
    pub streams: Places,
}
