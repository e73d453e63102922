//! What happens in the middle of a move, at one of its questions to the chain or at one of its calls of the database.

use std::sync::Arc;
use std::task::Poll;

use futures::future::{BoxFuture, poll_fn};
use muniment_domain::meanwhile::{Call, Visitor};
use sqlx::PgPool;
use tokio::task::JoinHandle;

use crate::endpoint::Shared;
use crate::fault::Fault;

/// Where it happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Question,
    /// Between two calls of the database; on a server also inside a transaction.
    Database,
    /// Before a commit on a server, when the transaction holds all its locks.
    Commit,
}

/// What happens.
pub enum Meanwhile {
    /// The other worker, or a person, makes a whole move.
    Move(BoxFuture<'static, ()>),
    /// The process ends, before the request leaves or after it was served.
    Kill { served: bool },
    /// There is never an answer: a node or a connection that is half open. The loop that made the move begins again.
    Hang,
    /// A block or a reorganisation.
    Chain,
}

/// The end of a move.
pub enum Ended<T> {
    By(T),
    /// The process ended in the middle of it.
    Killed,
    /// It got no answer, and was given up after its limit of time.
    GivenUp,
}

/// What the move under way met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Met {
    Kill,
    Hang,
}

impl Shared {
    /// What happens at this place now.
    pub fn due(&self, place: Place) -> Option<Meanwhile> {
        let mut state = self.state();
        match state.meanwhile.take() {
            Some((at, 0, meanwhile)) if at == place => Some(meanwhile),
            Some((at, left, meanwhile)) => {
                state.meanwhile = Some((at, left - u64::from(at == place), meanwhile));
                None
            }
            None => None,
        }
    }

    /// Lets it happen, before the call goes on.
    pub async fn happen(&self, place: Place, meanwhile: Meanwhile) {
        match meanwhile {
            Meanwhile::Move(other) => {
                self.net().hit(if place == Place::Question { Fault::Interleaved } else { Fault::BetweenCalls });
                let server = self.state().server.clone();
                match server {
                    None => other.await,
                    Some(server) => self.beside(tokio::spawn(other), &server).await,
                }
            }
            Meanwhile::Kill { .. } => {
                self.net().hit(if place == Place::Question { Fault::Killed } else { Fault::KilledBetweenCalls });
                self.stop(Met::Kill).await;
            }
            Meanwhile::Hang => {
                self.net().hit(if place == Place::Question { Fault::Hung } else { Fault::HalfOpen });
                self.stop(Met::Hang).await;
            }
            Meanwhile::Chain => {
                let now = self.state().now;
                let mut net = self.net();
                net.hit(Fault::ChainMoved);
                if net.seed.chance(0.3) { net.reorganise(now) } else { net.mine(now, 0.8) }
            }
        }
    }

    /// Ends the move under way here.
    async fn stop(&self, met: Met) {
        self.state().met = Some(met);
        std::future::pending().await
    }

    /// Waits until a move of another process has ended or waits for a lock that this one holds. Then this one goes on, and the other one
    /// after it.
    async fn beside(&self, other: JoinHandle<()>, server: &PgPool) {
        let blocked = "select exists (select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock')";
        while !other.is_finished() {
            let waits: bool = sqlx::query_scalar(blocked).fetch_one(server).await.expect("the server's sessions");
            if waits && !other.is_finished() {
                self.net().hit(Fault::WaitedForLock);
                break;
            }
            tokio::task::yield_now().await;
        }
        self.state().other = Some(other);
    }

    /// Sees every call of the database.
    pub fn visitor(self: &Arc<Self>) -> Visitor {
        let shared = self.clone();
        Arc::new(move |call| {
            if call == Call::Crash {
                if !shared.state().crash_ends {
                    shared.net().hit(Fault::CommitFailed);
                    return None;
                }
                let shared = shared.clone();
                return Some(Box::pin(async move { shared.stop(Met::Kill).await }));
            }
            let place = if call == Call::Commit { Place::Commit } else { Place::Database };
            let meanwhile = shared.due(place)?;
            let shared = shared.clone();
            Some(Box::pin(async move { shared.happen(place, meanwhile).await }))
        })
    }

    /// Runs a move to its end, or until the process is ended or the move hangs in the middle of it.
    pub async fn until_ended<T>(&self, running: impl Future<Output = T>) -> Ended<T> {
        let mut running = std::pin::pin!(running);
        poll_fn(|context| match running.as_mut().poll(context) {
            Poll::Ready(ended) => Poll::Ready(Ended::By(ended)),
            Poll::Pending => match self.state().met.take() {
                Some(Met::Kill) => Poll::Ready(Ended::Killed),
                Some(Met::Hang) => Poll::Ready(Ended::GivenUp),
                None => Poll::Pending,
            },
        })
        .await
    }
}
