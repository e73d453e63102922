//! When a page of several lines may be cut into parts before it is signed.

use muniment_domain::operation::{Operation, Status};
use muniment_domain::step::{State, Step};

/// Whether a page may be cut as it is now: nothing of it was signed, or a person retried it after the fate of what was signed was final.
pub fn may_cut(op: &Operation, step: &Step) -> bool {
    let fresh = op.submitted_at.is_none() || op.cycle > 1;
    op.status == Status::Pending && step.state == State::Unsigned && fresh
}

/// Whether a page is a part of another one that nobody has retried. The engine does not cut it again.
pub fn is_part(op: &Operation) -> bool {
    op.cycle == 1 && !op.payload.0["split_from"].is_null()
}
