//! Tables of pages: columns, rows, and cells that say what they are.

use std::borrow::Borrow;

use chrono::{DateTime, Utc};

use crate::console::pair::Pair;
use crate::console::wording;

/// A table.
#[derive(Default)]
pub struct Table {
    /// The columns: name and class.
    pub columns: &'static [(&'static str, &'static str)],
    /// The rows.
    pub rows: Vec<Row>,
    /// The text of a table without rows: a sentence, and what to do.
    pub empty: (&'static str, &'static str),
}

impl Table {
    /// The class of a column.
    pub fn class_of(&self, index: impl Borrow<usize>) -> &'static str {
        self.columns.get(*index.borrow()).map_or("", |(_, class)| class)
    }
}

/// A row.
pub struct Row {
    /// Its id on the page.
    pub id: String,
    /// Its cells, one for each column.
    pub cells: Vec<Cell>,
}

/// A cell of two lines.
#[derive(Clone, Default)]
pub struct Cell {
    /// The first line.
    pub text: String,
    /// The second line.
    pub two: String,
    /// The address of its link.
    pub href: String,
    /// The whole value, if the text is shortened.
    pub title: String,
    /// The class of the first line.
    pub class: &'static str,
    /// The colour and the symbol of a state.
    pub state: Option<(&'static str, &'static str)>,
    /// Our books and the chain.
    pub pair: Option<Pair>,
}

/// A cell with this text.
pub fn cell(text: impl Into<String>) -> Cell {
    Cell { text: text.into(), ..Cell::default() }
}

/// A cell with an address, a hash or an id by its ends.
pub fn short(text: &str) -> Cell {
    let shown = if text.starts_with("0x") { wording::short_hex(text) } else { wording::short_id(text) };
    Cell { text: shown, title: text.to_owned(), class: "mono", ..Cell::default() }
}

/// A cell with an amount.
pub fn amount(text: &str) -> Cell {
    Cell { text: wording::long_digits(text), title: text.to_owned(), ..Cell::default() }
}

/// A cell with the age of something.
pub fn age(now: DateTime<Utc>, at: DateTime<Utc>) -> Cell {
    Cell { text: wording::age(now, at), title: wording::moment(at), ..Cell::default() }
}

/// A cell with a word of the API as a state.
pub fn state(word: &str) -> Cell {
    Cell { state: Some(tone(word)), ..cell(wording::word(word)) }
}

impl Cell {
    /// With a second line.
    pub fn two(self, two: impl Into<String>) -> Self {
        Self { two: two.into(), ..self }
    }

    /// That leads somewhere.
    pub fn to(self, href: impl Into<String>) -> Self {
        Self { href: href.into(), ..self }
    }

    /// With a state of this colour and symbol.
    pub fn toned(self, tone: &'static str, icon: &'static str) -> Self {
        Self { state: Some((tone, icon)), ..self }
    }

    /// With both halves of an operation.
    pub fn paired(self, pair: Pair) -> Self {
        Self { pair: Some(pair), ..self }
    }
}

/// The colour and the symbol of a word. A colour means a state: ours, on the network, done, failed, or a person's.
pub fn tone(word: &str) -> (&'static str, &'static str) {
    match word {
        "approved" | "verified" | "completed" | "paid" | "minted" | "accepted" | "settled" | "delivered" | "active"
        | "enabled" | "ok" | "clear" | "confirmed" | "deployed" | "open" => ("done", "done"),
        "failed" | "rejected" | "dead_letter" | "suspended" | "disabled" | "critical" | "error" | "hit" | "revoked" => {
            ("failed", "failed")
        }
        "pending"
        | "in_review"
        | "needs_information"
        | "paused"
        | "quarantined"
        | "partially_completed"
        | "warning"
        | "pending_reconfirmation"
        | "refund_pending" => ("person", "person"),
        "executing" | "delivering" | "retrying" | "running" | "submitted" | "snapshotting" | "queued" => ("net", "net"),
        "held" | "draft" | "snapshotted" | "calculated" | "awaiting_approval" | "committed" | "binding" => {
            ("ours", "ours")
        }
        _ => ("none", "none"),
    }
}
