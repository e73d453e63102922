//! The last hour of the engine, for the overview: what was confirmed, how long it took, what gas cost, and what failed.

use std::borrow::Borrow;

use chrono::{DateTime, Utc};
use serde::Deserialize;

use crate::console::chart::{Chart, most};
use crate::console::{operations, wording};

const CONFIRMED: &str = "/console/operations?status=confirmed";
const NANO: f64 = 1e9;

/// The last hour.
#[derive(Deserialize)]
pub struct Hour {
    minutes: Vec<Minute>,
    fees: Vec<Fees>,
    /// The open failures by error code.
    pub failures: Vec<Failures>,
}

#[derive(Deserialize)]
struct Minute {
    started_at: DateTime<Utc>,
    confirmed: Option<i64>,
    p50_milliseconds: Option<i64>,
    p99_milliseconds: Option<i64>,
}

#[derive(Deserialize)]
struct Fees {
    network: String,
    cap_wei: Option<String>,
    offered_wei: Vec<Option<String>>,
}

/// The open failures with one code, by age.
#[derive(Deserialize)]
pub struct Failures {
    /// The code.
    pub code: String,
    within_1_hour: i64,
    within_6_hours: i64,
    within_24_hours: i64,
    older: i64,
}

impl Hour {
    /// The charts, in their order.
    pub fn charts(&self) -> Vec<Chart> {
        let mut charts = vec![self.confirmed(), self.times()];
        charts.extend(self.fees.iter().filter_map(Fees::chart));
        charts
    }

    /// The times below a chart.
    pub fn axis(&self) -> Vec<String> {
        let (first, last) = (0, self.minutes.len().saturating_sub(1));
        let at = |index: usize| self.minutes.get(index).map(|minute| minute.started_at.format("%H:%M").to_string());
        [first, last.div_ceil(2), last].into_iter().filter_map(at).collect()
    }

    fn confirmed(&self) -> Chart {
        let counts: Vec<Option<i64>> = self.minutes.iter().map(|minute| minute.confirmed).collect();
        let (all, most) = (counts.iter().flatten().sum::<i64>(), counts.iter().flatten().max().copied().unwrap_or(0));
        let value = (wording::number(all), format!("in this hour, at most {} a minute", wording::number(most)));
        let values: Vec<_> = counts.iter().map(|count| count.map(|count| count as f64)).collect();
        Chart::new("Confirmed".to_owned(), value, CONFIRMED).bars(&values)
    }

    fn times(&self) -> Chart {
        let seconds = |of: fn(&Minute) -> Option<i64>| -> Vec<Option<f64>> {
            self.minutes.iter().map(|minute| of(minute).map(|time| time as f64 / 1_000.0)).collect()
        };
        let (half, slow) = (seconds(|minute| minute.p50_milliseconds), seconds(|minute| minute.p99_milliseconds));
        let newest = |values: &[Option<f64>]| {
            values.iter().rev().flatten().next().map_or_else(|| "none".to_owned(), |value| format!("{value:.1}"))
        };
        let value = (newest(&half), format!("p50, {} p99, s", newest(&slow)));
        let most = most(&slow);
        Chart::new("Signed to final".to_owned(), value, CONFIRMED).line("sp-l", &half, most).line("sp-l b", &slow, most)
    }
}

impl Fees {
    /// None where nothing was signed in this hour.
    fn chart(&self) -> Option<Chart> {
        let gwei = |wei: &String| wei.parse::<f64>().ok().map(|wei| wei / NANO);
        let values: Vec<Option<f64>> = self.offered_wei.iter().map(|wei| wei.as_ref().and_then(gwei)).collect();
        let newest = self.offered_wei.iter().rev().flatten().next()?;
        let cap = self.cap_wei.as_ref();
        let beside = cap.map_or_else(String::new, |cap| format!("cap {}", wording::gwei(cap)));
        let chart = Chart::new(
            format!("Fee offered on {}, gwei", self.network),
            (wording::gwei(newest), beside),
            operations::PATH,
        );
        let highest = most(&values);
        let chart = chart.line("sp-l", &values, highest);
        // A cap far above the fees paid would flatten the line.
        let near = cap.and_then(gwei).filter(|cap| *cap <= highest * 1.5);
        Some(match near {
            Some(cap) => chart.limit(cap, highest),
            None => chart,
        })
    }
}

impl Failures {
    /// The counts, from the newest on.
    pub fn ages(&self) -> [i64; 4] {
        [self.within_1_hour, self.within_6_hours, self.within_24_hours, self.older]
    }

    /// The shade of a count: darker for more failures.
    pub fn heat(count: impl Borrow<i64>) -> &'static str {
        match count.borrow() {
            0 => "zero",
            1..5 => "heat1",
            _ => "heat2",
        }
    }
}
