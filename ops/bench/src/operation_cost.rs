//! What an operation cost: figures that depend less on the machine than a rate does.

use std::time::Duration;

use crate::sample::{median, spread};

/// What an operation cost. A figure that SQLite does not count is `None`.
#[derive(Default)]
pub struct OperationCost {
    /// The time of the run, from the start of the process to the last confirmation.
    pub time: Duration,
    /// Statements from the acceptance on, and those of the acceptance alone.
    pub statements: Option<(f64, f64)>,
    /// Commits after the acceptance.
    pub commits: Option<f64>,
    /// Distinct statement texts of the whole run.
    pub texts: Option<f64>,
    /// Waits for a lock of more than a millisecond, in a thousand operations.
    pub waits: Option<f64>,
    /// Milliseconds of processor of the process, from its start on.
    pub process: f64,
    /// Milliseconds of processor of the database server.
    pub server: Option<f64>,
}

impl OperationCost {
    /// The costs of several runs as text: the middle, the lowest and the highest of each.
    pub fn text(costs: &[Self]) -> String {
        let all = |of: fn(&Self) -> Option<f64>, digits| {
            let known: Vec<f64> = costs.iter().filter_map(of).collect();
            (!known.is_empty()).then(|| spread(&known, digits))
        };
        let accept: Vec<f64> = costs.iter().filter_map(|cost| Some(cost.statements?.1)).collect();
        [
            all(|c| Some(c.statements?.0), 1)
                .map(|n| format!("{n} statements, {:.1} of them to accept", median(&accept))),
            all(|c| c.commits, 2).map(|n| format!("{n} commits without accept")),
            all(|c| c.texts, 0).map(|n| format!("{n} statement texts in the run")),
            all(|c| c.waits, 0).map(|n| format!("{n} lock waits over 1 ms in 1,000 operations")),
            all(|c| Some(c.process), 1).map(|n| format!("{n} ms of processor")),
            all(|c| c.server, 1).map(|n| format!("{n} ms of the server's")),
        ]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("; ")
    }
}
