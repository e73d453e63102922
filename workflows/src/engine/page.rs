//! Splitting a page of several lines before it is signed: what mints and payouts share.

use alloy_primitives::Address;
use muniment_activities::contract::line::Line;
use muniment_activities::revert::Revert;
use muniment_domain::Result;
use muniment_domain::db::Tx;
use muniment_domain::operation::{self, Move, Operation, Problem, Resolution, Stage, Status};
use muniment_domain::step::{State, Step};

/// Holders that are removed one after the other before the page is refused as a whole.
pub const NAMED_MAX: usize = 32;

/// Whether a page can be split now: it was never signed, or a person retried it after its signed transaction was final.
pub fn may_split(op: &Operation, step: &Step) -> bool {
    let fresh = op.submitted_at.is_none() || op.cycle > 1;
    op.status == Status::Pending && step.state == State::Unsigned && fresh
}

/// Whether a page is a part of a split page and was not retried. The engine does not split it again.
pub fn is_part(op: &Operation) -> bool {
    op.cycle == 1 && !op.payload.0["split_from"].is_null()
}

/// The holder of these lines that a revert names. None if the revert has another cause, such as a cap, a role or the payer's balance.
pub fn holder_named(revert: &Revert, lines: &[Line]) -> Option<Address> {
    let addresses = revert.operands.iter().filter_map(|(_, value)| value.parse::<Address>().ok());
    addresses.into_iter().find(|address| lines.iter().any(|line| line.holder() == *address))
}

/// Ends a page whose parts were accepted in the same transaction.
pub async fn end_split(tx: &mut Tx, op: &mut Operation, message: String) -> Result<()> {
    tracing::warn!(operation.id = %op.id, "{message}");
    let code = "page_split".to_owned();
    op.set_problem(Some(Problem { stage: Stage::Preflight, code, message: message.clone(), data: None }));
    op.resolution = Some(Resolution::Abandoned);
    operation::transition(tx, op, Move::Fail, "engine", &message).await
}
