//! What is to be measured, and on what.

use world::Engine;

use crate::node::Kind;

/// Every row, in the order of the table.
pub const ROWS: [&str; 9] =
    ["accept", "latency", "throughput", "mint", "calls", "recovery", "reconcile", "million", "idle"];

/// The command line.
pub struct Arguments {
    rows: Vec<String>,
    /// The databases.
    pub engines: Vec<Engine>,
    /// The chains.
    pub kinds: Vec<Kind>,
    /// Shorter runs, that say less.
    pub quick: bool,
}

impl Arguments {
    /// Reads the words after the program's name.
    pub fn parse(words: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let (both_engines, both_kinds) = (vec![Engine::Sqlite, Engine::Postgres], vec![Kind::Devchain, Kind::Anvil]);
        let mut parsed = Self { rows: Vec::new(), engines: both_engines, kinds: both_kinds, quick: false };
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--quick" => parsed.quick = true,
                "--db" => match words.next().as_deref() {
                    Some("sqlite") => parsed.engines = vec![Engine::Sqlite],
                    Some("postgres") => parsed.engines = vec![Engine::Postgres],
                    Some("both") => {}
                    _ => return Err("--db sqlite, postgres or both".to_owned()),
                },
                "--chain" => match words.next().as_deref() {
                    Some("devchain") => parsed.kinds = vec![Kind::Devchain],
                    Some("anvil") => parsed.kinds = vec![Kind::Anvil],
                    Some("both") => {}
                    _ => return Err("--chain devchain, anvil or both".to_owned()),
                },
                row if ROWS.contains(&row) => parsed.rows.push(word),
                other => return Err(format!("{other} is no row; there are: {}", ROWS.join(", "))),
            }
        }
        Ok(parsed)
    }

    /// Whether a row is asked for.
    pub fn wants(&self, row: &str) -> bool {
        self.rows.is_empty() || self.rows.iter().any(|wanted| wanted == row)
    }

    /// A database with a chain, each at least once: for rows that take too long to try every pair.
    pub fn pairs(&self) -> Vec<(Engine, Kind)> {
        let count = self.engines.len().max(self.kinds.len());
        (0..count).map(|i| (self.engines[i % self.engines.len()], self.kinds[i % self.kinds.len()])).collect()
    }

    /// The larger number, or the smaller one of a quick run.
    pub fn either(&self, full: usize, quick: usize) -> usize {
        if self.quick { quick } else { full }
    }
}
