//! What the proxy saw.

use std::collections::BTreeMap;

use super::pool::Signed;

/// Everything counted since the start.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Calls that arrived, by method.
    pub calls: BTreeMap<String, u64>,
    /// Faults that really changed something, by their name.
    pub hits: BTreeMap<&'static str, u64>,
    /// HTTP requests: a batch of calls is one.
    pub requests: u64,
    /// Every signed transaction that arrived, in order, with what became of it.
    pub sent: Vec<Sent>,
}

/// A signed transaction and its fate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The transaction.
    pub signed: Signed,
    /// What the proxy did with it.
    pub fate: Fate,
}

/// What became of a signed transaction between the engine and the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The node took it.
    Taken,
    /// The node refused it, with its words.
    Refused(String),
    /// The node never saw it.
    Lost,
}
