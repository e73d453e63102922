//! What a person can do about an operation, and what each act would do. The act itself is checked again, against the chain.

use muniment_domain::operation::{Operation, Status};
use muniment_domain::step::{Outcome, State, Step};

use crate::operator::retry;

/// An act of a person on an operation.
#[derive(Clone, Debug)]
pub struct Act {
    /// `mark_confirmed`, `retry`, `speed_up`, `cancel`, `close_nonce` or `abandon`.
    pub name: &'static str,
    /// Whether it is possible now, according to the database.
    pub allowed: bool,
    /// What it would do; or, if it is not possible, why.
    pub consequence: String,
    /// What it touches: `books`, `chain` or `two_people`.
    pub touches: &'static str,
}

/// Every act, in the order of care.
pub fn of(op: &Operation, steps: &[Step]) -> Vec<Act> {
    let stands = |wanted: State| steps.iter().any(|step| step.state == wanted);
    let moved = steps.iter().any(|step| step.outcome == Some(Outcome::Success));
    let act = |name, touches, why_not: Option<String>, consequence: &str| Act {
        name,
        allowed: why_not.is_none(),
        consequence: why_not.unwrap_or_else(|| consequence.to_owned()),
        touches,
    };
    let signed = stands(State::Signed);
    let rests = (!op.needs_attention()).then(|| not_now(op));
    let hopeless = || "Never: it would fail again in the same way.".to_owned();
    let no_retry = rests.clone().or_else(|| retry::is_hopeless(op).then(hopeless));
    let no_bump = match (op.status, signed) {
        (Status::Submitted, true) => None,
        (Status::Failed | Status::DeadLetter, true) => {
            Some(format!("Not now: it is a {}. Retry puts it in force first.", word(op.status)))
        }
        _ => Some("Not now: nothing of it waits for a block.".to_owned()),
    };
    let no_cancel = match (op.status, signed) {
        (Status::Pending, _) | (Status::Submitted, true) => None,
        (_, true) if op.needs_attention() => None,
        _ => Some("Not now: no signed transaction is open.".to_owned()),
    };
    let cancels = match op.status {
        Status::Pending => "Ends it. Nothing was signed, so nothing is sent.",
        _ => "Sends a transfer of nothing with the same nonce. Either it or the operation is mined, never both.",
    };
    let no_close = (!signed).then(|| "Not now: no signed transaction is open.".to_owned());
    let no_end = match () {
        () if rests.is_some() => rests.clone(),
        () if moved => Some("Never: value has moved. What is left must be finished.".to_owned()),
        () if signed || stands(State::Included) => {
            Some("Not now: a signed transaction may still be mined. Cancel its nonce first.".to_owned())
        }
        () => None,
    };
    vec![
        act(
            "mark_confirmed",
            "books",
            rests,
            "Checks a transaction that you show, then sets it confirmed. Nothing is sent.",
        ),
        act(
            "retry",
            "chain",
            no_retry,
            "Asks the chain first. If it was executed it is confirmed, else it is signed again.",
        ),
        act(
            "speed_up",
            "chain",
            no_bump,
            "Signs the same nonce again with a higher fee. At most one of them is mined.",
        ),
        act("cancel", if op.status == Status::Pending { "books" } else { "chain" }, no_cancel, cancels),
        act(
            "close_nonce",
            "two_people",
            no_close,
            "For a nonce that the chain shows as used although nothing explains it. The chain is asked first.",
        ),
        act("abandon", "two_people", no_end, "Gives it up and frees its subject. A second person may have to decide."),
    ]
}

fn not_now(op: &Operation) -> String {
    match op.resolution {
        Some(_) => "Never: a person has closed it.".to_owned(),
        None if op.status == Status::Confirmed => "Never: it is confirmed.".to_owned(),
        None => format!("Not now: it is {}, and the engine goes on by itself.", word(op.status)),
    }
}

fn word(status: Status) -> String {
    status.as_str().replace('_', " ")
}
