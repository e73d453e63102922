//! Sends events to webhook endpoints.
//!
//! 1. `fan_out` turns new events into deliveries and wakes their endpoints, in one commit.
//! 2. A wake is a job with the id of an endpoint, on a queue of its own. `lane` takes the due deliveries of that endpoint in one commit, sends
//!    them with no transaction open, and stores the answers in another. A lane that is open in this process is woken without a job. The sweep
//!    finds overdue deliveries, whatever the queue says.
//! 3. An endpoint has one lane in a process. Lanes of endpoints that fail share a small room of their own, so that hanging endpoints wait for
//!    each other and never delay the others.
//!
//! It runs beside the REST interface, because the secrets that sign are there. The engine knows nothing of it.

mod courier;
mod fan_out;
mod lane;
mod lookup;
mod retry_after;
mod send;

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use muniment_domain::point::Point;
use muniment_domain::{Error, Result, delivery};
use tokio_util::sync::CancellationToken;

pub use self::courier::{Courier, Sign, Unseal, Vault};
pub use self::lookup::lookup;
use crate::delivery::lane::Lanes;
use crate::engine::process::due;
use crate::engine::process::queue_worker::{BATCH, QueueWorker};
use crate::engine::queue::DELIVERY;

/// How often overdue deliveries are looked for.
const SWEEP: Duration = Duration::from_secs(2);
/// By how much a delivery is overdue when the sweep takes it.
const LATE_SECONDS: i64 = 2;
/// Endpoints that one pass of the sweep wakes.
const SWEPT_MAX: i64 = 1_000;
/// How often old deliveries are deleted, and how many in one commit.
const PRUNE: Duration = Duration::from_secs(3600);
const PRUNED_MAX: i64 = 500;
/// Wakes that are passed on at once.
const CONCURRENCY: usize = 16;
/// How long a stop waits for the requests in progress.
const DRAIN: Duration = Duration::from_secs(20);

impl Courier {
    /// Sends what is due until it is told to stop, then lets the requests in progress end.
    pub async fn run(self, stop: CancellationToken) -> Result<()> {
        let courier = Arc::new(self);
        if !courier.db.is_shared() {
            let mut tx = courier.db.begin().await?;
            delivery::release_claims(&mut tx).await?;
            tx.commit(Point::Claim).await?;
        }
        let lanes = Lanes::new(courier.clone(), stop.clone());
        let woken = lanes.clone();
        let worker = QueueWorker {
            db: courier.db.clone(),
            holder: courier.holder.name().to_owned(),
            queue: DELIVERY,
            concurrency: CONCURRENCY,
            batch: BATCH,
            drain: DRAIN,
            handle: Arc::new(move |endpoint_id| {
                woken.wake(&endpoint_id.into());
                std::future::ready(()).boxed()
            }),
        };
        let (ended, (), (), ()) = tokio::join!(
            worker.run(stop.clone()),
            due::look(courier.db.clone(), vec![DELIVERY], stop.clone()),
            fan_out::run(&courier, &lanes, &stop),
            sweep(&courier, &lanes, &stop)
        );
        if tokio::time::timeout(DRAIN, lanes.drain()).await.is_err() {
            tracing::warn!("webhook requests were still in progress after {DRAIN:?}; they are sent again");
        }
        courier.holder.release_all(&courier.db).await?;
        ended
    }
}

/// Wakes the endpoints with overdue deliveries, and deletes old deliveries.
async fn sweep(courier: &Courier, lanes: &Lanes, stop: &CancellationToken) {
    let mut pruned = tokio::time::Instant::now();
    while stop.run_until_cancelled(tokio::time::sleep(SWEEP)).await.is_some() {
        let swept = async {
            let mut tx = courier.db.read().await?;
            let overdue = delivery::overdue(&mut tx, LATE_SECONDS, SWEPT_MAX).await?;
            drop(tx);
            overdue.iter().for_each(|endpoint_id| lanes.wake(endpoint_id));
            if pruned.elapsed() >= PRUNE {
                pruned = tokio::time::Instant::now();
                prune(courier).await?;
            }
            Ok::<_, Error>(())
        };
        if let Err(error) = swept.await {
            tracing::error!("overdue deliveries are looked for again: {error}");
        }
    }
}

async fn prune(courier: &Courier) -> Result<()> {
    let mut tx = courier.db.begin().await?;
    delivery::skip_ended(&mut tx).await?;
    tx.commit(Point::Housekeeping).await?;
    loop {
        let mut tx = courier.db.begin().await?;
        let deleted = delivery::prune(&mut tx, PRUNED_MAX).await?;
        tx.commit(Point::Housekeeping).await?;
        if deleted < PRUNED_MAX.cast_unsigned() {
            return Ok(());
        }
    }
}
