//! One task for each lane collects what was prepared at the same time, so that it is signed in one commit and sent in one call.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinHandle;

use crate::engine::Engine;
use crate::prepare::Prepared;
use crate::submit;

/// The way into a collector, and its task.
type Collector = (mpsc::Sender<Prepared>, JoinHandle<()>);

/// The lanes' collectors.
#[derive(Clone)]
pub struct Submitters {
    engine: Engine,
    lanes: Arc<Mutex<HashMap<String, Collector>>>,
}

impl Submitters {
    /// Collectors that sign with this engine's keys.
    pub fn new(engine: Engine) -> Self {
        Self { engine, lanes: Arc::default() }
    }

    /// Hands a step to its lane. When the lane is busy this waits, and with it the queue.
    pub async fn submit(&self, prepared: Prepared) {
        let sender = {
            let mut lanes = self.lanes.lock().await;
            let lane_id = prepared.lane_id.clone();
            let (sender, _) = lanes.entry(lane_id).or_insert_with(|| {
                let (sender, receiver) = mpsc::channel(self.engine.settings.sign_batch.max(1));
                (sender, tokio::spawn(collect(self.engine.clone(), receiver)))
            });
            sender.clone()
        };
        if sender.send(prepared).await.is_err() {
            tracing::error!("a lane's collector is gone; the sweep will wake its operations");
        }
    }

    /// Lets every lane finish what it has.
    pub async fn drain(&self) {
        let lanes: Vec<_> = self.lanes.lock().await.drain().map(|(_, lane)| lane).collect();
        for (sender, task) in lanes {
            drop(sender);
            if let Err(error) = task.await {
                tracing::error!("a lane's collector failed: {error}");
            }
        }
    }
}

async fn collect(engine: Engine, mut receiver: mpsc::Receiver<Prepared>) {
    let mut batch = Vec::new();
    while receiver.recv_many(&mut batch, engine.settings.sign_batch.max(1)).await > 0 {
        let batch = std::mem::take(&mut batch);
        let Some((chain_id, lane_id)) = batch.first().map(|p: &Prepared| (p.op.chain_id, p.lane_id.clone())) else {
            continue;
        };
        let Some(network) = engine.network(chain_id) else { continue };
        if let Err(error) = submit::submit(&engine, network, &lane_id, batch).await {
            // Whatever was committed is tended and followed; whatever was not is woken by the sweep.
            tracing::error!(lane.id = lane_id, "a batch was not submitted: {error}");
        }
    }
}
