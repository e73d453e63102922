//! The nonce ruler of a lane: one cell a nonce, the chain's marks above and ours below.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use serde::Deserialize;

use super::Lane;
use crate::console::operations::About;
use crate::console::wording;

/// A run of more cells is folded into four.
const RUN: usize = 6;
/// As many columns as the stylesheet has.
const COLUMNS: usize = 40;

/// The nonces of a lane, as the API lists them.
#[derive(Deserialize)]
pub struct Nonces {
    data: Vec<Nonce>,
    operations: Vec<Holder>,
}

#[derive(Clone, Deserialize)]
struct Nonce {
    nonce: i64,
    state: String,
    operation_id: Option<String>,
    transactions: i64,
    signed_at: Option<DateTime<Utc>>,
    foreign_tx_hash: Option<String>,
}

/// The operation that holds a nonce.
#[derive(Deserialize)]
pub struct Holder {
    /// Its id.
    pub id: String,
    /// What it does.
    pub about: About,
    /// Whether it needs a person.
    pub needs_attention: bool,
}

/// The ruler.
pub struct Ruler {
    /// The cells.
    pub cells: Vec<Cell>,
    /// The marks: column, whether it stands below, word, number.
    pub marks: Vec<(usize, bool, String, String)>,
    /// The lowest nonce that is not in a block, with its operation.
    pub lowest: Option<Lowest>,
    /// The nonce that no node shows, and that holds up those behind it.
    pub gap: Option<i64>,
    /// The nonce that a foreign transaction used, with its hash.
    pub foreign: Option<(i64, String)>,
}

/// What waits at the front.
pub struct Lowest {
    /// The nonce.
    pub nonce: i64,
    /// How many wait behind it.
    pub behind: i64,
    /// Since when.
    pub signed_at: Option<DateTime<Utc>>,
    /// The operation.
    pub operation_id: String,
}

/// A cell.
pub struct Cell {
    /// Its column.
    pub column: usize,
    /// Its CSS class, which shows its state.
    pub class: &'static str,
    /// Its symbol; empty for none.
    pub icon: &'static str,
    /// What it shows.
    pub label: String,
    /// What it means.
    pub title: String,
    /// The address of its link.
    pub href: String,
    /// How often it was signed, if more than once.
    pub times: Option<i64>,
    /// Whether a person decides here.
    pub is_person: bool,
    /// Whether it represents several nonces.
    pub is_fold: bool,
    nonces: (i64, i64),
}

impl Ruler {
    /// The ruler of a lane.
    pub fn of(lane: &Lane, nonces: &Nonces) -> Self {
        let holders: HashMap<&str, &Holder> = nonces.operations.iter().map(|op| (op.id.as_str(), op)).collect();
        let cells = folded(nonces.data.iter().map(|nonce| cell(nonce, &holders)).collect());
        let open = |state: &str| matches!(state, "pending" | "signed" | "gap");
        let first = nonces.data.iter().find(|nonce| open(&nonce.state));
        let lowest = first.and_then(|first| {
            let behind = nonces.data.iter().filter(|nonce| nonce.nonce > first.nonce && open(&nonce.state)).count();
            Some(Lowest {
                nonce: first.nonce,
                behind: i64::try_from(behind).unwrap_or_default(),
                signed_at: first.signed_at,
                operation_id: first.operation_id.clone()?,
            })
        });
        let gap = nonces.data.iter().find(|nonce| nonce.state == "gap").map(|nonce| nonce.nonce);
        let foreign = nonces.data.iter().rev().find(|nonce| nonce.state == "foreign");
        let foreign = foreign.map(|nonce| (nonce.nonce, nonce.foreign_tx_hash.clone().unwrap_or_default()));
        Self { marks: marks(lane, &cells), cells, lowest, gap, foreign }
    }
}

fn cell(nonce: &Nonce, holders: &HashMap<&str, &Holder>) -> Cell {
    let (class, icon, meaning) = match nonce.state.as_str() {
        "final" => ("final", "done", "mined and final"),
        "included" => ("mined", "done", "mined, not final"),
        "pending" => ("pending", "net", "pending, a node shows it"),
        "signed" => ("signed", "ours", "signed, no node shows it"),
        "gap" => ("gapc", "warn", "gap: it was sent, and no node shows it"),
        "foreign" => ("alien", "failed", "used by a transaction that is not ours"),
        "unknown" => ("mayb", "none", "used, and our books do not say by what"),
        _ => ("next", "", "next"),
    };
    let holder = nonce.operation_id.as_deref().and_then(|id| holders.get(id));
    let is_person = holder.is_some_and(|holder| holder.needs_attention) || nonce.state == "foreign";
    let about = holder.map(|holder| format!(". {}", holder.about.sentence())).unwrap_or_default();
    Cell {
        column: 0,
        class,
        icon,
        label: ends(nonce.nonce),
        title: format!("{}: {meaning}{about}", nonce.nonce),
        href: holder.map(|holder| format!("/console/operations/{}", holder.id)).unwrap_or_default(),
        times: (nonce.transactions > 1).then_some(nonce.transactions),
        is_person,
        is_fold: false,
        nonces: (nonce.nonce, nonce.nonce),
    }
}

/// The last three digits: the marks have the whole number.
fn ends(nonce: i64) -> String {
    let digits = nonce.to_string();
    digits[digits.len().saturating_sub(3)..].to_owned()
}

/// Runs of the same quiet state become two cells, the number between, and the last cell.
fn folded(cells: Vec<Cell>) -> Vec<Cell> {
    let mut runs: Vec<Vec<Cell>> = Vec::new();
    for cell in cells {
        let quiet = |cell: &Cell| cell.times.is_none() && !cell.is_person && cell.class != "next";
        match runs.last_mut().filter(|run| quiet(&cell) && quiet(&run[0]) && run[0].class == cell.class) {
            Some(run) => run.push(cell),
            None => runs.push(vec![cell]),
        }
    }
    let mut shown: Vec<Cell> = runs.into_iter().flat_map(fold).collect();
    let widths: usize = shown.iter().map(Cell::width).sum();
    // Open nonces matter more than final ones.
    let mut surplus = widths.saturating_sub(COLUMNS);
    while surplus > 0 && !shown.is_empty() {
        surplus = surplus.saturating_sub(shown.remove(0).width());
    }
    let mut column = 0;
    for cell in &mut shown {
        cell.column = column;
        column += cell.width();
    }
    shown
}

fn fold(mut run: Vec<Cell>) -> Vec<Cell> {
    if run.len() <= RUN + 2 {
        return run;
    }
    let last = run.split_off(run.len() - 1);
    let rest = run.split_off(2);
    if let (Some(first), Some(end)) = (rest.first(), rest.last()) {
        run.push(Cell {
            column: 0,
            class: first.class,
            icon: first.icon,
            label: format!("{} more", rest.len()),
            title: format!("{} to {}: {}", first.nonces.0, end.nonces.1, wording::word(first.class)),
            href: String::new(),
            times: None,
            is_person: false,
            is_fold: true,
            nonces: (first.nonces.0, end.nonces.1),
        });
    }
    run.extend(last);
    run
}

impl Cell {
    fn width(&self) -> usize {
        if self.is_fold { 3 } else { 1 }
    }
}

fn marks(lane: &Lane, cells: &[Cell]) -> Vec<(usize, bool, String, String)> {
    let place = |nonce: i64| cells.iter().find(|cell| cell.nonces.0 <= nonce && nonce <= cell.nonces.1);
    let column = |nonce: Option<i64>| Some((place(nonce?)?.column, nonce?));
    let mut marks = Vec::new();
    let (latest, pending) = (column(lane.chain_nonce_latest), column(lane.chain_nonce_pending));
    let first = latest.or(pending).map_or(usize::MAX, |(at, _)| at);
    if let Some(last) = lane.chain_nonce_finalized.filter(|_| first > 1 && !cells.is_empty()) {
        marks.push((0, false, "final below".to_owned(), wording::number(last)));
    }
    match (latest, pending) {
        (Some((at, nonce)), Some((also, _))) if at == also => {
            marks.push((at, false, "latest, pending".to_owned(), wording::number(nonce)));
        }
        (latest, pending) => {
            for (found, word) in [(latest, "latest"), (pending, "pending")] {
                marks.extend(found.map(|(at, nonce)| (at, false, word.to_owned(), wording::number(nonce))));
            }
        }
    }
    if let Some((at, nonce)) = column(Some(lane.next_nonce)) {
        marks.push((at, true, "next".to_owned(), wording::number(nonce)));
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nonce(nonce: i64, state: &str) -> Nonce {
        let state = state.to_owned();
        Nonce { nonce, state, operation_id: None, transactions: 1, signed_at: None, foreign_tx_hash: None }
    }

    #[test]
    fn a_long_run_is_folded_and_nothing_is_lost() {
        let cells: Vec<_> = (100..120).map(|n| cell(&nonce(n, "pending"), &HashMap::new())).collect();
        let cells = folded(cells);
        let labels: Vec<_> = cells.iter().map(|cell| cell.label.as_str()).collect();
        assert_eq!(labels, ["100", "101", "17 more", "119"]);
        assert_eq!(cells.iter().map(|cell| cell.column).collect::<Vec<_>>(), [0, 1, 2, 5]);
        assert_eq!(cells[2].nonces, (102, 118));
        assert_eq!(ends(8_098), "098");
    }
}
