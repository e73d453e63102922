//! The runs of `throughput` on one pair of a database and a chain.

use crate::operation_cost::OperationCost;
use crate::stall::Stall;

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
    /// The runs that stood still.
    pub stalls: Vec<Stall>,
    /// Whether one of them was the engine's own.
    pub engine_stalls: bool,
}

impl Runs {
    /// Adds a run, the baselines around it, and the baseline with estimates of its round.
    pub fn add(
        &mut self,
        before: Result<f64, Stall>,
        ours: Result<(f64, OperationCost), Stall>,
        after: &Result<f64, Stall>,
        estimated: Option<&Result<f64, Stall>>,
    ) {
        if let (Ok(before), Ok((rate, _)), Ok(after)) = (&before, &ours, after) {
            self.ratios.push(rate / f64::midpoint(*before, *after));
        }
        match estimated {
            Some(Ok(estimated)) => {
                self.estimated.push(*estimated);
                self.estimated_ratios.extend(ours.as_ref().ok().map(|(rate, _)| rate / estimated));
            }
            Some(Err(stall)) => self.stalls.push(stall.clone()),
            None => {}
        }
        match before {
            Ok(rate) => self.plain.push(rate),
            Err(stall) => self.stalls.push(stall),
        }
        match ours {
            Ok((rate, cost)) => {
                self.ours.push(rate);
                self.costs.push(cost);
            }
            Err(stall) => {
                self.engine_stalls |= !stall.by_node;
                self.stalls.push(stall);
            }
        }
    }
}
