//! The gas of calls of one shape: the same contract, function and length. One call of a shape is estimated, which takes a node many
//! executions. The others are tried with its gas, in one execution each.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use alloy_primitives::Address;
use tokio::sync::watch;

/// Limit of remembered shapes.
const SHAPES_MAX: usize = 4096;

/// Calls of one shape need nearly the same gas.
type Shape = (Address, [u8; 4], usize);

fn shape(target: Address, data: &[u8]) -> Option<Shape> {
    Some((target, data.first_chunk().copied()?, data.len()))
}

/// The estimates of earlier calls, and those that are made now.
#[derive(Default)]
pub struct KnownGas {
    known: Mutex<HashMap<Shape, u64>>,
    estimated_now: Mutex<HashSet<Shape>>,
    /// Changes when an estimate ends.
    ended: watch::Sender<()>,
}

/// An estimate that is made now. Dropping it ends it, also after a panic.
pub struct Estimate<'a> {
    gas: &'a KnownGas,
    shape: Option<Shape>,
}

impl KnownGas {
    /// The estimated gas of a call of this shape, with a margin for calls that differ by a few bytes.
    pub fn of(&self, target: Address, data: &[u8]) -> Option<u64> {
        self.known().get(&shape(target, data)?).copied()
    }

    /// Remembers an estimate for later calls of this shape. The margin does not exceed the most gas of a transaction.
    pub fn learn(&self, target: Address, data: &[u8], estimate: u64, gas_cap: u64) {
        let Some(shape) = shape(target, data) else { return };
        let mut known = self.known();
        if known.len() >= SHAPES_MAX {
            known.clear();
        }
        known.insert(shape, estimate.saturating_add(estimate / 20).min(gas_cap.max(estimate)));
    }

    /// Begins the estimate of a call. None while another call of this shape is estimated.
    pub fn begin(&self, target: Address, data: &[u8]) -> Option<Estimate<'_>> {
        let shape = shape(target, data);
        let is_first = shape.is_none_or(|shape| self.estimated_now().insert(shape));
        // Not `then_some`: a second estimate would end the first one when it is dropped.
        is_first.then(|| Estimate { gas: self, shape })
    }

    /// Returns when no call of this shape is estimated.
    pub async fn wait(&self, target: Address, data: &[u8]) {
        let Some(shape) = shape(target, data) else { return };
        // Before the check, so that no end is missed.
        let mut ended = self.ended.subscribe();
        while self.estimated_now().contains(&shape) {
            _ = ended.changed().await;
        }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Shape, u64>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn estimated_now(&self) -> MutexGuard<'_, HashSet<Shape>> {
        self.estimated_now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Estimate<'_> {
    fn drop(&mut self) {
        if let Some(shape) = self.shape {
            self.gas.estimated_now().remove(&shape);
        }
        self.gas.ended.send_replace(());
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn calls_of_one_shape_are_estimated_one_at_a_time() {
        let (gas, target) = (KnownGas::default(), Address::repeat_byte(1));
        let first = gas.begin(target, &[1, 2, 3, 4, 5]).unwrap();
        assert!(gas.begin(target, &[1, 2, 3, 4, 9]).is_none(), "the same function and length");
        assert!(gas.begin(target, &[1, 2, 3, 4, 5]).is_none(), "still");
        assert!(gas.begin(target, &[1, 2, 3, 4, 5, 6]).is_some(), "another length");
        assert!(gas.begin(Address::ZERO, &[1, 2, 3, 4, 5]).is_some(), "another contract");
        assert!(gas.begin(target, &[]).is_some() && gas.begin(target, &[]).is_some(), "a call without a function");
        let wait = gas.wait(target, &[1, 2, 3, 4, 9]);
        tokio::pin!(wait);
        assert!(wait.as_mut().now_or_never().is_none());
        gas.learn(target, &[1, 2, 3, 4, 5], 100, 1_000);
        drop(first);
        wait.await;
        assert_eq!(gas.of(target, &[1, 2, 3, 4, 9]), Some(105));
        gas.learn(target, &[1, 2, 3, 4, 5], 1_000, 1_000);
        assert_eq!(gas.of(target, &[1, 2, 3, 4, 9]), Some(1_000), "the margin ends at the cap");
        gas.learn(target, &[1, 2, 3, 4, 5], 1_001, 1_000);
        assert_eq!(gas.of(target, &[1, 2, 3, 4, 9]), Some(1_001), "above the cap it is the need");
        assert!(gas.begin(target, &[1, 2, 3, 4, 9]).is_some());
    }
}
