//! The table that is printed.

use std::fmt::Write;

use world::Engine;

use crate::node::NodeKind;

/// A line of the table.
#[derive(Clone, Debug)]
pub struct Line {
    /// The name of the row.
    pub row: &'static str,
    /// The database and the chain.
    pub on: String,
    pub goal: &'static str,
    /// The engine's result.
    pub result: String,
    /// The result of the baseline.
    pub baseline: String,
    pub ratio: String,
    /// Whether the goal is met. None if there is no goal.
    pub met: Option<bool>,
}

/// All lines so far.
#[derive(Default)]
pub struct Table(Vec<Line>);

impl Table {
    /// Adds a line and prints it at once, because a run takes minutes.
    pub fn add(&mut self, line: Line) {
        eprintln!("{}", line.text());
        self.0.push(line);
    }

    /// The whole table.
    pub fn text(&self) -> String {
        let mut text =
            "| row | on | goal | engine | baseline | ratio | met |\n|---|---|---|---|---|---|---|\n".to_owned();
        for line in &self.0 {
            let _ = writeln!(text, "{}", line.text());
        }
        text
    }

    /// The met and the missed goals, as text.
    pub fn goals(&self) -> String {
        let names = |met: bool| {
            let lines = self.0.iter().filter(|line| line.met == Some(met));
            lines.map(|line| format!("{} ({})", line.row, line.on)).collect::<Vec<_>>()
        };
        let (met, missed) = (names(true), names(false));
        let list = |names: &[String]| if names.is_empty() { "none".to_owned() } else { names.join("; ") };
        format!("Goals met, {}: {}.\nGoals missed, {}: {}.", met.len(), list(&met), missed.len(), list(&missed))
    }
}

impl Line {
    /// A row that could not be measured completely. It counts as missed.
    pub fn missing(row: &'static str, why: String) -> Self {
        let none = || "–".to_owned();
        Self {
            row,
            on: "not all".to_owned(),
            goal: "to be measured",
            result: why,
            baseline: none(),
            ratio: none(),
            met: Some(false),
        }
    }

    fn text(&self) -> String {
        let met = match self.met {
            Some(true) => "yes",
            Some(false) => "**no**",
            None => "–",
        };
        let Self { row, on, goal, result, baseline, ratio, .. } = self;
        format!("| {row} | {on} | {goal} | {result} | {baseline} | {ratio} | {met} |")
    }
}

/// A ratio as the table shows it.
pub fn percent(value: f64, baseline: f64) -> String {
    format!("{:.0} %", value / baseline * 100.0)
}

/// The name of a database.
pub fn engine(engine: Engine) -> &'static str {
    match engine {
        Engine::Sqlite => "SQLite",
        Engine::Postgres => "PostgreSQL",
    }
}

/// A database and a chain.
pub fn pair(on: Engine, kind: NodeKind) -> String {
    format!("{}, {}", engine(on), kind.name())
}

/// The machine and its load, as text.
pub fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').take(3).collect::<Vec<_>>().join(" ");
    format!("{cores} cores, which the load, the databases and the chains share; load averages at the end {load}.")
}
