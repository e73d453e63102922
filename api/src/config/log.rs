//! The log: one line for each event, to the standard error, as text or as JSON.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::config::{Config, LogFormat};
use crate::failure::Failure;

/// How much is logged first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// As the key `log` says.
    Configured,
    /// Warnings and errors only.
    Warnings,
}

/// The log of a process that may have started with warnings only.
pub struct Log(Box<dyn Fn() -> Result<(), Failure> + Send + Sync>);

impl Log {
    /// Logs as configured from now on.
    pub fn as_configured(&self) -> Result<(), Failure> {
        (self.0)()
    }
}

/// Starts the log. Commands that print an answer log only warnings and errors.
pub fn install(config: &Config, start: Start) -> Result<Log, Failure> {
    let text = config.log.clone();
    let configured = move || {
        EnvFilter::try_new(&text)
            .map_err(|error| Failure::new(format!("The key log is {text:?}, which is not a filter: {error}")))
    };
    let first = if start == Start::Warnings { EnvFilter::new("warn") } else { configured()? };
    // Standard output belongs to what a command prints, such as a new key.
    let lines = tracing_subscriber::fmt().with_env_filter(first).with_writer(std::io::stderr);
    match config.log_format {
        LogFormat::Text => {
            let lines = lines.with_ansi(std::io::stderr().is_terminal()).with_filter_reloading();
            let handle = lines.reload_handle();
            lines.try_init().map_err(Failure::new)?;
            Ok(Log(Box::new(move || handle.reload(configured()?).map_err(Failure::new))))
        }
        LogFormat::Json => {
            let lines = lines.json().flatten_event(true).with_current_span(true).with_span_list(false);
            let lines = lines.with_filter_reloading();
            let handle = lines.reload_handle();
            lines.try_init().map_err(Failure::new)?;
            Ok(Log(Box::new(move || handle.reload(configured()?).map_err(Failure::new))))
        }
    }
}
