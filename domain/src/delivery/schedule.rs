//! When a delivery is tried again: ten attempts over 75.6 hours.

use chrono::Duration;

use crate::id::DeliveryId;

/// Seconds before each attempt, counted from the one before it.
const DELAYS_SECONDS: [i64; 10] = [0, 5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
/// The share of a delay by which it is made longer or shorter.
const JITTER: f64 = 0.1;
/// The longest pause that a receiver can ask for.
const RETRY_AFTER_SECONDS_MAX: i64 = 86_400;

/// The pause after so many tries, or none if they were the last. The same delivery always waits equally long.
pub fn pause(delivery_id: &DeliveryId, tries: i64) -> Option<Duration> {
    let seconds = usize::try_from(tries).ok().and_then(|tries| DELAYS_SECONDS.get(tries))?;
    // FNV-1a: deliveries that failed together do not come back together.
    let hash = delivery_id
        .bytes()
        .chain(tries.to_le_bytes())
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let spread = (hash >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0;
    Some(Duration::milliseconds((*seconds as f64 * 1000.0 * (1.0 + JITTER * spread)) as i64))
}

/// The pause that a receiver asked for, within the limit.
pub fn asked(retry_after_seconds: u64) -> Duration {
    Duration::seconds(i64::try_from(retry_after_seconds).unwrap_or(i64::MAX).min(RETRY_AFTER_SECONDS_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_attempts_take_three_days_and_each_pause_is_within_a_tenth() {
        assert_eq!(DELAYS_SECONDS.iter().sum::<i64>(), 272_105);
        for (tries, delay) in DELAYS_SECONDS.iter().enumerate() {
            let pause = pause(&"dlv_1".into(), tries as i64).unwrap().num_milliseconds() as f64;
            let delay = *delay as f64 * 1000.0;
            assert!((0.9 * delay - 1.0..=1.1 * delay).contains(&pause), "{tries}: {pause}");
        }
        assert_eq!(pause(&"dlv_1".into(), 10), None);
        assert_ne!(pause(&"dlv_1".into(), 3), pause(&"dlv_2".into(), 3));
        assert_eq!(asked(u64::MAX), Duration::days(1));
    }
}
