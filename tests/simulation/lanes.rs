//! The real submitters of a process, whose turns and sends are made one by one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use muniment_workflows::engine::Network;
use muniment_workflows::engine::process::submitter::{Incoming, Submitter};
use muniment_workflows::engine::process::submitters::Spawn;
use tokio::sync::Mutex as Turn;

/// A lane between two of its turns.
type Lane = Arc<Turn<(Submitter, Incoming)>>;

/// The lanes that a process has started, by id.
#[derive(Clone, Default)]
pub struct Lanes(Arc<Mutex<BTreeMap<String, Lane>>>);

impl Lanes {
    /// Keeps each lane here instead of running it as a task. A send leaves when its lane waits for it, so that much can happen before.
    pub fn spawn(&self) -> Spawn {
        let lanes = self.clone();
        Spawn {
            lane: Arc::new(move |submitter, incoming| {
                let id = submitter.lane_id().to_owned();
                lanes.all().insert(id, Arc::new(Turn::new((submitter, incoming))));
                tokio::spawn(std::future::ready(()))
            }),
            send: |sending| sending,
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.all().len()
    }

    /// Ends one, with everything that waits in it.
    pub fn end(&self, nth: usize) -> bool {
        let id = self.nth(nth).map(|(id, _)| id);
        id.is_some_and(|id| self.all().remove(&id).is_some())
    }

    /// The prepared steps in all of them.
    pub fn waiting(&self) -> usize {
        let waiting = |lane: &Lane| lane.try_lock().map_or(0, |lane| lane.0.waiting() + lane.1.len());
        self.all().values().map(waiting).sum()
    }

    /// The first that has a send under way.
    pub fn sending(&self) -> Option<usize> {
        self.all().values().position(|lane| lane.try_lock().is_ok_and(|lane| lane.0.is_sending()))
    }

    /// A turn of one: it looks for room again.
    pub async fn sign(&self, network: &Network, nth: usize) -> String {
        let Some((id, lane)) = self.nth(nth) else { return "no lane".to_owned() };
        let (submitter, incoming) = &mut *lane.lock().await;
        submitter.look_again();
        submitter.turn(network, incoming).await;
        format!("{} wait in {id}", submitter.waiting())
    }

    /// The send of one leaves, and its answer is taken.
    pub async fn send(&self, network: &Network, nth: usize) -> String {
        let Some((id, lane)) = self.nth(nth) else { return "no lane".to_owned() };
        lane.lock().await.0.finish(network).await;
        format!("sent in {id}")
    }

    fn nth(&self, nth: usize) -> Option<(String, Lane)> {
        let lanes = self.all();
        let nth = nth % lanes.len().max(1);
        lanes.iter().nth(nth).map(|(id, lane)| (id.clone(), lane.clone()))
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<String, Lane>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
