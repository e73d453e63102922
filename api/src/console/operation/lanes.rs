//! The timeline: one column a moment, one lane for each who acts.

use chrono::{DateTime, Utc};

use super::Full;
use crate::console::wording;

/// As many moments as a line has room for.
const MOMENTS_MAX: usize = 10;

/// The timeline.
pub struct Lanes {
    /// The moments, each with its distance from the one before.
    pub moments: Vec<(DateTime<Utc>, String)>,
    /// The bars.
    pub bars: Vec<Bar>,
}

/// Something that lasted from one moment to another.
pub struct Bar {
    /// The lane, from 0.
    pub lane: usize,
    /// The first column, from 0.
    pub from: usize,
    /// The column after its last.
    pub to: usize,
    /// The colour.
    pub tone: &'static str,
    /// The symbol.
    pub icon: &'static str,
    /// The words.
    pub text: String,
}

impl Lanes {
    /// The timeline of an operation.
    pub fn of(op: &Full, now: DateTime<Utc>) -> Self {
        let finals = op.steps.iter().filter_map(|step| step.final_at);
        let signed = op.candidates.iter().map(|candidate| candidate.signed_at);
        let mut times: Vec<_> = op.history.iter().map(|change| change.created_at).chain(signed).chain(finals).collect();
        times.push(op.created_at);
        times.sort_unstable();
        times.dedup_by_key(|time| time.timestamp());
        // The first one and the newest: what lies between is in the history.
        if times.len() >= MOMENTS_MAX {
            times.drain(1..=times.len() - MOMENTS_MAX + 1);
        }
        times.push(now);
        let bars = bars(op, &times);
        let moments = times.iter().enumerate().map(|(index, time)| {
            let apart = index.checked_sub(1).map(|before| format!("+{}", wording::age(*time, times[before])));
            let apart = if index + 1 == times.len() { Some("now".to_owned()) } else { apart };
            (*time, apart.unwrap_or_else(|| "accepted".to_owned()))
        });
        Self { moments: moments.collect(), bars }
    }
}

fn bars(op: &Full, times: &[DateTime<Utc>]) -> Vec<Bar> {
    let end = times.len() - 1;
    let column = |at: DateTime<Utc>| times.iter().rposition(|time| time.timestamp() <= at.timestamp()).unwrap_or(0);
    let bar = |lane, from: usize, to: usize, (tone, icon), text: String| Bar {
        lane,
        from,
        to: to.max(from + 1),
        tone,
        icon,
        text,
    };
    let mut bars = Vec::new();
    for (index, change) in op.history.iter().enumerate() {
        let until = op.history.get(index + 1).map_or(end, |next| column(next.created_at));
        bars.push(bar(0, column(change.created_at), until, look(&change.to), wording::word(&change.to)));
    }
    for (index, candidate) in op.candidates.iter().enumerate() {
        let next = op.candidates.get(index + 1).map(|next| column(next.signed_at));
        let until = next.or(op.steps.iter().filter_map(|step| step.final_at).next_back().map(column)).unwrap_or(end);
        let text = format!("{}: {} gwei", wording::word(&candidate.kind), candidate.fee());
        let tone = if candidate.state == "mined" { ("net win", "net") } else { ("net", "net") };
        bars.push(bar(1, column(candidate.signed_at), until, tone, text));
    }
    for step in &op.steps {
        let Some(at) = step.final_at else { continue };
        let block = step.block_number.map(wording::number).unwrap_or_default();
        let good = step.outcome.as_deref() == Some("success");
        let look = if good { ("done", "done") } else { ("failed", "failed") };
        bars.push(bar(2, column(at), end, look, format!("Final in {block}")));
    }
    bars
}

fn look(status: &str) -> (&'static str, &'static str) {
    match status {
        "pending" => ("ours", "ours"),
        "submitted" => ("net", "net"),
        "confirmed" => ("done", "done"),
        _ => ("failed", "failed"),
    }
}
