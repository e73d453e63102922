//! The runs of `throughput` on one pair of a database and a chain.

use crate::operation_cost::OperationCost;
use crate::stall::Stall;

/// The rate of a run.
pub struct Rate {
    /// Operations a second.
    pub per_second: f64,
    /// The longest time in which nothing was done, if it was long.
    pub pause: Option<Stall>,
}

/// The runs of one pair. The rates leave out the runs that stalled.
#[derive(Default)]
pub struct Runs {
    /// Operations a second.
    pub ours: Vec<f64>,
    /// The baselines, in operations a second.
    pub plain: Vec<f64>,
    /// Each run in relation to the baselines around it.
    pub ratios: Vec<f64>,
    /// The baselines with an estimate before each call.
    pub estimated: Vec<f64>,
    /// Each run in relation to the baseline with estimates of its round.
    pub estimated_ratios: Vec<f64>,
    /// What an operation cost in each run.
    pub costs: Vec<OperationCost>,
    /// The pauses of the runs that count.
    pub pauses: Vec<Stall>,
    /// The runs that stood still, or waited for the node.
    pub stalls: Vec<Stall>,
    /// Whether one of them was the engine's own.
    pub engine_stalls: bool,
}

impl Runs {
    /// Adds a run, the baselines around it, and the baseline with estimates of its round.
    pub fn add(
        &mut self,
        before: Result<Rate, Stall>,
        ours: Result<(Rate, OperationCost), Stall>,
        after: &Result<Rate, Stall>,
        estimated: Option<&Result<Rate, Stall>>,
    ) {
        let rate_of = |run: &Result<Rate, Stall>| run.as_ref().ok().map(|rate| rate.per_second);
        let rate = ours.as_ref().ok().map(|(rate, _)| rate.per_second);
        if let (Some(before), Some(rate), Some(after)) = (rate_of(&before), rate, rate_of(after)) {
            self.ratios.push(rate / f64::midpoint(before, after));
        }
        if let Some(run) = estimated {
            if let (Some(estimated), Some(rate)) = (rate_of(run), rate) {
                self.estimated_ratios.push(rate / estimated);
            }
            self.estimated.extend(rate_of(run));
            self.pauses.extend(run.as_ref().ok().and_then(|rate| rate.pause.clone()));
            self.stalls.extend(run.as_ref().err().cloned());
        }
        match before {
            Ok(rate) => {
                self.plain.push(rate.per_second);
                self.pauses.extend(rate.pause);
            }
            Err(stall) => self.stalls.push(stall),
        }
        match ours {
            Ok((rate, cost)) => {
                self.ours.push(rate.per_second);
                self.pauses.extend(rate.pause);
                self.costs.push(cost);
            }
            Err(stall) => {
                self.engine_stalls |= !stall.by_node;
                self.stalls.push(stall);
            }
        }
    }
}
