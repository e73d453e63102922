//! The pause after a transient fault. The crate `backoff` is no longer maintained. Only its arithmetic is used, and only here: it never
//! sleeps, retries or reads the clock, because every pause is stored and outlives the process.

use std::time::Duration;

use backoff::ExponentialBackoff;
use backoff::backoff::Backoff as _;
use muniment_domain::id::OperationId;

use crate::settings::Settings;

/// The pause before attempt `faults + 1`: it doubles up to a cap, with a spread of ±20 % so that operations that failed together do not
/// return together. The same operation and count always give the same pause, which keeps replays exact.
pub fn pause(settings: &Settings, operation_id: &OperationId, faults: i64) -> Duration {
    let mut policy = ExponentialBackoff {
        initial_interval: Duration::from_secs(settings.backoff_base_seconds),
        current_interval: Duration::from_secs(settings.backoff_base_seconds),
        max_interval: Duration::from_secs(settings.backoff_cap_seconds),
        multiplier: 2.0,
        randomization_factor: 0.0,
        max_elapsed_time: None,
        ..ExponentialBackoff::default()
    };
    let mut step = policy.initial_interval;
    for _ in 0..faults.clamp(1, 64) {
        step = policy.next_backoff().unwrap_or(policy.max_interval);
    }
    step.mul_f64(0.8 + 0.4 * spread(operation_id, faults))
}

/// A number in 0..1 that depends only on the id and the count (FNV-1a).
fn spread(operation_id: &OperationId, faults: i64) -> f64 {
    let hash = operation_id
        .bytes()
        .chain(faults.to_le_bytes())
        .fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    (hash >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_cap_and_stay_within_a_fifth() {
        let settings = Settings::default();
        for (faults, seconds) in [(1, 2.0), (2, 4.0), (3, 8.0), (7, 128.0), (9, 300.0), (40, 300.0)] {
            let pause = pause(&settings, &"op_01".into(), faults).as_secs_f64();
            assert!((0.8 * seconds..=1.2 * seconds).contains(&pause), "{faults} faults: {pause} s");
        }
        assert_ne!(pause(&settings, &"op_01".into(), 3), pause(&settings, &"op_02".into(), 3));
        assert_eq!(pause(&settings, &"op_01".into(), 3), pause(&settings, &"op_01".into(), 3));
    }
}
