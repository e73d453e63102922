//! A load at a fixed rate, whether the server keeps up or not.

use std::time::{Duration, Instant};

use futures::future::join_all;
use tokio::time::{sleep_until, timeout};

use crate::sample::milliseconds;

/// Sends requests at this rate over these connections. Returns the milliseconds from the time when each was due, so that the wait
/// for slow earlier requests counts too.
pub async fn paced<C>(rate: f64, time: Duration, callers: &mut [C], ask: impl AsyncFn(&mut C, usize)) -> Vec<f64> {
    let (start, count, step) = (Instant::now(), (rate * time.as_secs_f64()) as usize, callers.len());
    let ask = &ask;
    let all = join_all(callers.iter_mut().enumerate().map(|(number, caller)| async move {
        let mut late = Vec::with_capacity(count / step + 1);
        for turn in (number..count).step_by(step) {
            let due = start + Duration::from_secs_f64(turn as f64 / rate);
            sleep_until(due.into()).await;
            ask(caller, turn).await;
            late.push(milliseconds(due.elapsed()));
        }
        late
    }));
    timeout(time * 10, all).await.expect("a paced load ends").concat()
}
