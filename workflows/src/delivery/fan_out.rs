//! Fans out new events, one process at a time.

use std::time::Duration;

use muniment_domain::Result;
use muniment_domain::delivery::fan_out::{is_due, page};
use muniment_domain::id::EndpointId;
use muniment_domain::point::Point;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::delivery::courier::Courier;
use crate::delivery::lane::Lanes;
use crate::engine::queue;

/// Events of one commit.
const EVENTS_MAX: i64 = 200;
/// The pause after a page, so that events which come together are fanned out together.
const GATHER: Duration = Duration::from_millis(50);
/// The pause between looks for events of other processes. This process announces its own.
const LOOK: Duration = Duration::from_millis(100);
/// Renewals of the lease.
const RENEW: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_secs(1);

/// Fans out until the process stops. Two processes at once would only wait for each other, so a lease lets one do it.
pub async fn run(courier: &Courier, lanes: &Lanes, stop: &CancellationToken) {
    let mut announced = courier.db.event_signal();
    let mut held: Option<Instant> = None;
    // One process has SQLite for itself.
    let look = if courier.db.is_shared() { LOOK } else { PAUSE };
    while !stop.is_cancelled() {
        announced.mark_unchanged();
        let pause = match turn(courier, lanes, &mut held).await {
            Ok(Some(events)) if events > 0 => GATHER,
            Ok(Some(_)) => {
                tokio::select! {
                    () = stop.cancelled() => {}
                    _ = announced.changed() => {}
                    () = sleep(look) => {}
                }
                continue;
            }
            Ok(None) => PAUSE,
            Err(error) => {
                tracing::error!("new events are fanned out again in a second: {error}");
                held = None;
                PAUSE
            }
        };
        stop.run_until_cancelled(sleep(pause)).await;
    }
}

/// One page, if this process holds the lease. Returns the number of events.
async fn turn(courier: &Courier, lanes: &Lanes, held: &mut Option<Instant>) -> Result<Option<usize>> {
    if courier.db.is_shared() && held.is_none_or(|at| at.elapsed() >= RENEW) {
        *held = courier.holder.acquire(&courier.db, "fan_out").await?.then(Instant::now);
        if held.is_none() {
            return Ok(None);
        }
    }
    if !is_due(&mut courier.db.read().await?).await? {
        return Ok(Some(0));
    }
    let mut tx = courier.db.begin().await?;
    let fanned = page(&mut tx, EVENTS_MAX).await?;
    // A job costs several commits. A lane that is open here looks again without one.
    let (open, closed): (Vec<&EndpointId>, Vec<&EndpointId>) =
        fanned.endpoints.iter().partition(|endpoint_id| lanes.is_open(endpoint_id));
    queue::wake_ids(&mut tx, queue::DELIVERY, &closed).await?;
    tx.commit(Point::FanOut).await?;
    open.iter().for_each(|endpoint_id| lanes.wake(endpoint_id));
    Ok(Some(fanned.events))
}
