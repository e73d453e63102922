//! What a person might do next about an operation that needs one, and why. It is a proposal: nothing here acts.

use muniment_domain::operation::Operation;
use muniment_domain::step::{Outcome, State, Step};
use serde::Serialize;
use serde_json::Value;

/// A proposal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Suggestion {
    /// The act, as it is called in the interface.
    pub action: &'static str,
    /// Why it is proposed.
    pub why: &'static str,
}

/// The proposal for an operation: what the engine found out itself, else what its failure asks for. None while nobody has to decide.
pub fn of(op: &Operation, steps: &[Step]) -> Option<Value> {
    if !op.needs_attention() {
        return None;
    }
    let found = op.suggested_action.as_ref().map(|found| found.0.clone());
    found.or_else(|| serde_json::to_value(by_failure(op, steps)).ok())
}

fn by_failure(op: &Operation, steps: &[Step]) -> Suggestion {
    let suggest = |action, why| Suggestion { action, why };
    let code = op.error_code.as_deref().unwrap_or_default();
    if steps.iter().any(|step| step.state == State::Included) {
        return suggest(
            "wait",
            "Its transaction is in a block that is not final yet; then there is something to decide.",
        );
    }
    if steps.iter().any(|step| step.state == State::Signed) {
        return suggest(
            "retry",
            "Its nonce is open. A retry puts the same bytes in force again, after the fee cap was raised where it was too low; cancel burns \
             the nonce instead.",
        );
    }
    match code {
        "effect_mismatch" => suggest(
            "mark_confirmed",
            "It succeeded without its effect. Find out what happened: confirm with the transaction that had the effect, or abandon: two people \
             are shown what is missing.",
        ),
        "op_id_conflict" => {
            suggest("abandon", "Its id was executed with another payload: this operation can never be executed.")
        }
        "cancelled_by_operator" => {
            suggest("abandon", "Its nonce was burnt as a person asked. Abandon frees what it was about.")
        }
        "nonce_consumed_externally" => suggest(
            "retry",
            "Another transaction took its nonce. Look at the lane, let it sign again, and retry with a new nonce.",
        ),
        "contract_missing" | "above_gas_cap" | "no_method" | "wrong_chain" => {
            suggest("retry", "The configuration stood in the way. Correct it, restart, and retry.")
        }
        code if code.starts_with("policy_") => suggest(
            "abandon",
            "The gate before the keys refused it. If the gate is right, abandon it; if not, correct the configuration and retry.",
        ),
        "reverts" | "reverted" if steps.iter().any(|step| step.outcome == Some(Outcome::Success)) => suggest(
            "retry",
            "A step before took effect, so the rest must be finished. Remove the cause that the message names, and retry.",
        ),
        "reverts" | "reverted" => suggest(
            "retry",
            "The contract refused it and nothing moved. Remove the cause that the message names and retry, or abandon.",
        ),
        _ => suggest("retry", "What failed may have passed. A retry asks the chain before it does anything."),
    }
}
