//! Whether a page of several lines can be split before it is signed.

use muniment_domain::operation::{Operation, Status};
use muniment_domain::step::{State, Step};

/// Whether a page can be split now: it was never signed, or a person retried it after its signed transaction was final.
pub fn may_cut(op: &Operation, step: &Step) -> bool {
    let fresh = op.submitted_at.is_none() || op.cycle > 1;
    op.status == Status::Pending && step.state == State::Unsigned && fresh
}

/// Whether a page is a part of a split page and was not retried. The engine does not split it again.
pub fn is_part(op: &Operation) -> bool {
    op.cycle == 1 && !op.payload.0["split_from"].is_null()
}
