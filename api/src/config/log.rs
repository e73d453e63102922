//! The log: one line for each event, to the standard error, as text or as JSON.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::config::{Config, LogFormat};
use crate::failure::Failure;

/// Starts the log as configured. Commands that print an answer log only errors.
pub fn install(config: &Config, ends_by_itself: bool) -> Result<(), Failure> {
    let filter = EnvFilter::try_new(if ends_by_itself { "warn" } else { &config.log })
        .map_err(|error| Failure::new(format!("The key log is {:?}, which is not a filter: {error}", config.log)))?;
    // Standard output belongs to what a command prints, such as a new key.
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let installed = match config.log_format {
        LogFormat::Text => lines.with_ansi(std::io::stderr().is_terminal()).try_init(),
        LogFormat::Json => lines.json().flatten_event(true).with_current_span(true).with_span_list(false).try_init(),
    };
    installed.map_err(Failure::new)
}
