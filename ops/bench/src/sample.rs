//! Arithmetic on measured values.

use std::time::{Duration, Instant};

/// The time and the gas of a series of transactions.
pub struct TimeAndGas {
    /// Seconds until the last one is in a block.
    pub seconds: f64,
    /// The gas of all of them.
    pub gas: u64,
}

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

/// The middle value, the lowest and the highest as text: `344 (310 to 360)`. A dash without values.
pub fn spread(values: &[f64], digits: usize) -> String {
    if values.is_empty() {
        return "–".to_owned();
    }
    let [middle, lowest, highest] = [0.5, 0.0, 1.0].map(|share| quantile(values, share));
    format!("{middle:.digits$} ({lowest:.digits$} to {highest:.digits$})")
}

/// Events in a second, without the first and the last twentieth of the run. Events of one commit have the same time, so those at the start
/// of the time that is left do not count: they were done before it.
pub fn pace(times: &[f64]) -> f64 {
    let (from, to) = (quantile(times, 0.05), quantile(times, 0.95));
    times.iter().filter(|at| **at > from && **at <= to).count() as f64 / (to - from)
}

/// Times as seconds since the start.
pub fn since(start: Instant, times: &[Instant]) -> Vec<f64> {
    times.iter().map(|at| at.saturating_duration_since(start).as_secs_f64()).collect()
}

/// A duration in milliseconds.
pub fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}

#[cfg(test)]
mod tests {
    use super::pace;

    #[test]
    fn a_pace_counts_what_was_done_in_its_time() {
        let steady: Vec<f64> = (0..=1_000).map(|i| f64::from(i) / 100.0).collect();
        assert!((pace(&steady) - 100.0).abs() < 0.5);
        let commits: Vec<f64> = (0..4).flat_map(|commit| [f64::from(commit); 250]).collect();
        assert!((pace(&commits) - 250.0).abs() < f64::EPSILON, "each second has one commit of 250");
    }
}
