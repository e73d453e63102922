//! Wakes those who wait for changes: the live pages of the console, long polls and event streams. A process looks once for all of them.

use std::sync::Arc;
use std::time::Duration;

use muniment_domain::{Result, chain, event};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::code::Code;
use crate::http::error::{self, Problem};
use crate::http::places::{Place, Places};

/// The longest delay until a change by another process is found. This process announces its own.
const LOOK: Duration = Duration::from_millis(300);
/// The pause between two looks, so that changes which come together wake once.
const GATHER: Duration = Duration::from_millis(20);
const RETRY_SECONDS: u64 = 5;

/// What is newest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// The position of the last event.
    pub position: i64,
    /// The sum of the versions of all chains.
    chains: i64,
}

/// The newest changes that this process saw. Clones share them.
#[derive(Clone)]
pub struct Pulse {
    newest: Arc<watch::Sender<Mark>>,
    stop: CancellationToken,
    callers: Places,
    room: Arc<Semaphore>,
    per_caller_max: usize,
}

/// A caller who waits for events. The place is free again when this is dropped.
pub struct Watch {
    seen: watch::Receiver<Mark>,
    stop: CancellationToken,
    _place: Place,
    _room: OwnedSemaphorePermit,
}

impl Pulse {
    /// Looks for changes until the process stops, and only while somebody waits.
    pub fn start(app: &App, stop: CancellationToken) -> Self {
        let newest = Arc::new(watch::Sender::new(Mark::default()));
        let (app, told) = (app.clone(), newest.clone());
        let limits = app.limits.clone();
        let mut written = app.db.event_signal();
        tokio::spawn(stop.clone().run_until_cancelled_owned(async move {
            loop {
                sleep(GATHER).await;
                _ = timeout(LOOK, written.changed()).await;
                if told.receiver_count() == 0 {
                    continue;
                }
                // While the database is away, those who wait keep what they have.
                if let Ok(mark) = look(&app).await {
                    told.send_if_modified(|known| std::mem::replace(known, mark) != mark);
                }
            }
        }));
        Self {
            newest,
            stop,
            callers: Places::default(),
            room: Arc::new(Semaphore::new(limits.event_waits_max)),
            per_caller_max: limits.event_waits_per_caller_max,
        }
    }

    /// A receiver that changes with every change.
    pub fn subscribe(&self) -> watch::Receiver<Mark> {
        self.newest.subscribe()
    }

    /// Ends when the process stops.
    pub fn stop(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// A place for a caller who waits for events.
    pub fn watch(&self, caller: &str) -> error::Result<Watch> {
        let Some(place) = self.callers.take(caller.to_owned(), self.per_caller_max) else {
            let detail =
                format!("You can wait for events in {} requests at once. Close one first.", self.per_caller_max);
            return Err(Problem::new(Code::RateLimited, detail).with_retry_after(RETRY_SECONDS));
        };
        let Ok(room) = self.room.clone().try_acquire_owned() else {
            return Err(Problem::unavailable("too many requests wait for events"));
        };
        Ok(Watch { seen: self.newest.subscribe(), stop: self.stop.clone(), _place: place, _room: room })
    }
}

impl Watch {
    /// The position of the last event that this process knows to be there. From now on `changed` tells of later ones.
    pub fn position(&mut self) -> i64 {
        self.seen.borrow_and_update().position
    }

    /// Waits for a change, at most so long. Returns whether there is one. None when the process stops.
    pub async fn changed(&mut self, limit: Duration) -> Option<bool> {
        match self.stop.run_until_cancelled(timeout(limit, self.seen.changed())).await {
            None | Some(Ok(Err(_))) => None,
            Some(Ok(Ok(()))) => Some(true),
            Some(Err(_)) => Some(false),
        }
    }
}

async fn look(app: &App) -> Result<Mark> {
    let mut tx = app.db.read().await?;
    let chains = chain::all(&mut tx).await?;
    Ok(Mark { position: event::last_position(&mut tx).await?, chains: chains.iter().map(|chain| chain.version).sum() })
}
