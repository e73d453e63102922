//! Arithmetic on measured values.

use std::time::{Duration, Instant};

/// The value below which this share of the sample lies.
pub fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    sorted.get((last as f64 * share).round() as usize).copied().unwrap_or(f64::NAN)
}

/// The middle value.
pub fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// How many a second, between the twentieth part and the last but the twentieth: what starts and ends a run is not its pace.
pub fn pace(moments: &[f64]) -> f64 {
    let (from, to) = (quantile(moments, 0.05), quantile(moments, 0.95));
    moments.len() as f64 * 0.9 / (to - from)
}

/// Moments as seconds since the first of them all.
pub fn since(start: Instant, moments: &[Instant]) -> Vec<f64> {
    moments.iter().map(|at| at.saturating_duration_since(start).as_secs_f64()).collect()
}

/// A duration in milliseconds.
pub fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}
