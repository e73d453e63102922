//! Arithmetic on measured values.

use std::time::{Duration, Instant};

use crate::stall::Stall;

/// The time and the gas of a series of transactions.
pub struct TimeAndGas {
    /// Seconds until the last one is in a block.
    pub seconds: f64,
    /// The gas of all of them.
    pub gas: u64,
    /// The longest time in which none reached a block, if it was long.
    pub pause: Option<Stall>,
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

/// Events in a second: the slope of the line through their number over their time. Events of one commit have the same time, so a count
/// between two times would depend on the commits at its ends.
pub fn pace(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / sorted.len() as f64;
    let (time, number) = (mean(&mut sorted.iter().copied()), (sorted.len() as f64 - 1.0) / 2.0);
    let together = mean(&mut sorted.iter().enumerate().map(|(i, at)| (at - time) * (i as f64 - number)));
    together / mean(&mut sorted.iter().map(|at| (at - time).powi(2)))
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
    fn a_pace_does_not_depend_on_the_size_of_commits() {
        let steady: Vec<f64> = (0..1_000).map(|i| f64::from(i) / 100.0).collect();
        assert!((pace(&steady) - 100.0).abs() < 1e-6);
        let of_sizes = |sizes: &[usize]| -> Vec<f64> {
            (0u32..).zip(sizes).flat_map(|(second, size)| vec![f64::from(second); *size]).collect()
        };
        assert!((pace(&of_sizes(&[250, 250, 250, 250])) - 250.0).abs() < 1e-6);
        assert!((pace(&of_sizes(&[100; 10])) - 100.0).abs() < 1e-6);
    }
}
