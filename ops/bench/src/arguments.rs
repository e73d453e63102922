//! The command line: the rows to measure, and the databases and chains to measure them on.

use std::time::Duration;

use world::Engine;

use crate::node::NodeKind;

/// Every row, in the order of the table, with its share of the time that a run may take, and a quick one.
pub const ROWS: [(&str, f64, f64); 14] = [
    ("accept", 70.0, 24.0),
    ("latency", 16.0, 16.0),
    ("throughput", 420.0, 420.0),
    ("mint", 170.0, 125.0),
    ("payout", 1_100.0, 90.0),
    ("calls", 24.0, 24.0),
    ("recovery", 87.0, 87.0),
    ("reconcile", 6.0, 6.0),
    ("million", 10.0, 10.0),
    ("parked", 65.0, 65.0),
    ("portal", 72.0, 72.0),
    ("console", 60.0, 60.0),
    ("webhooks", 60.0, 60.0),
    ("idle", 22.0, 22.0),
];
/// The time limit of a run, and of a quick one.
const LIMIT: Duration = Duration::from_secs(3_570);
const QUICK_LIMIT: Duration = Duration::from_secs(575);

/// The command line.
pub struct Arguments {
    rows: Vec<String>,
    /// The databases.
    pub engines: Vec<Engine>,
    /// The chains.
    pub kinds: Vec<NodeKind>,
    /// Shorter, less precise runs.
    pub quick: bool,
    /// How often `throughput`, `mint` and `payout` measure each figure.
    pub runs: Option<usize>,
}

impl Arguments {
    /// Reads the words after the program's name.
    pub fn parse(words: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let (both_engines, both_kinds) =
            (vec![Engine::Sqlite, Engine::Postgres], vec![NodeKind::Devchain, NodeKind::Anvil]);
        let mut parsed = Self { rows: Vec::new(), engines: both_engines, kinds: both_kinds, quick: false, runs: None };
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--quick" => parsed.quick = true,
                "--runs" => match words.next().and_then(|runs| runs.parse().ok()) {
                    Some(runs) if runs > 0 => parsed.runs = Some(runs),
                    _ => return Err("--runs takes a number from 1".to_owned()),
                },
                "--db" => match words.next().as_deref() {
                    Some("sqlite") => parsed.engines = vec![Engine::Sqlite],
                    Some("postgres") => parsed.engines = vec![Engine::Postgres],
                    Some("both") => {}
                    _ => return Err("--db takes sqlite, postgres or both".to_owned()),
                },
                "--chain" => match words.next().as_deref() {
                    Some("devchain") => parsed.kinds = vec![NodeKind::Devchain],
                    Some("anvil") => parsed.kinds = vec![NodeKind::Anvil],
                    Some("both") => {}
                    _ => return Err("--chain takes devchain, anvil or both".to_owned()),
                },
                row if ROWS.iter().any(|(name, ..)| *name == row) => parsed.rows.push(word),
                other => {
                    return Err(format!(
                        "There is no row {other}. The rows are: {}",
                        ROWS.map(|(name, ..)| name).join(", ")
                    ));
                }
            }
        }
        Ok(parsed)
    }

    /// Whether this row is selected.
    pub fn wants(&self, row: &str) -> bool {
        self.rows.is_empty() || self.rows.iter().any(|wanted| wanted == row)
    }

    /// The time limit of a row: its share of the time left. A row that needs less leaves the rest to the others.
    pub fn patience(&self, row: &str, spent: Duration) -> Duration {
        let left = if self.quick { QUICK_LIMIT } else { LIMIT }.saturating_sub(spent);
        let open = ROWS.iter().skip_while(|(name, ..)| *name != row).filter(|(name, ..)| self.wants(name));
        let shares: Vec<f64> = open.map(|(_, full, quick)| if self.quick { *quick } else { *full }).collect();
        left.mul_f64(shares.first().map_or(0.0, |share| share / shares.iter().sum::<f64>()))
    }

    /// Each database and each chain at least once: for rows that take too long to measure every pair.
    pub fn pairs(&self) -> Vec<(Engine, NodeKind)> {
        let count = self.engines.len().max(self.kinds.len());
        (0..count).map(|i| (self.engines[i % self.engines.len()], self.kinds[i % self.kinds.len()])).collect()
    }

    /// The first number, or the second in a quick run.
    pub fn either(&self, full: usize, quick: usize) -> usize {
        if self.quick { quick } else { full }
    }
}
