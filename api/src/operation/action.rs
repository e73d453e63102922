//! The actions of a person on an operation.

use muniment_domain::operation::Operation;
use muniment_domain::step::Step;
use muniment_workflows::operator::act::{self, Act};
use serde::Serialize;
use utoipa::ToSchema;

/// An act of a person on an operation.
#[derive(Serialize, ToSchema)]
#[schema(as = OperationAction)]
pub struct Action {
    /// `mark_confirmed`, `retry`, `speed_up`, `cancel`, `close_nonce` or `abandon`.
    #[schema(example = "retry")]
    action: &'static str,
    /// Whether the action is possible now, according to the database.
    allowed: bool,
    /// What it would do; or, if it is not possible, why.
    #[schema(example = "Asks the chain first, and then signs again.")]
    consequence: String,
    /// What it touches: `books`, `chain` or `two_people`.
    #[schema(example = "chain")]
    touches: &'static str,
}

/// Every act, in the order of care.
pub fn of(op: &Operation, steps: &[Step]) -> Vec<Action> {
    let shown = |Act { name, allowed, consequence, touches }| Action { action: name, allowed, consequence, touches };
    act::of(op, steps).into_iter().map(shown).collect()
}
