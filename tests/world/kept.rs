//! Connections past the platform's code that are used again. Opening one costs more than most statements, and tests that wait ask often.

use std::sync::{Mutex, PoisonError};

use sqlx::Connection;

pub(crate) struct Kept<C>(Mutex<Vec<C>>);

impl<C: Connection> Kept<C> {
    pub(crate) const fn none() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// One that still answers.
    pub(crate) async fn take(&self) -> Option<C> {
        while let Some(mut kept) = self.pop() {
            // The test may have ended its session, or the server.
            if kept.ping().await.is_ok() {
                return Some(kept);
            }
        }
        None
    }

    pub(crate) fn give_back(&self, connection: C) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
    }

    pub(crate) async fn close(&self) {
        while let Some(kept) = self.pop() {
            let _ = kept.close().await;
        }
    }

    fn pop(&self) -> Option<C> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }
}
