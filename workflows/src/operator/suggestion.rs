//! The suggested next action for an operation that needs a person, with the reason. Nothing here acts.

use muniment_domain::operation::Operation;
use muniment_domain::step::{Outcome, State, Step};
use serde::Serialize;
use serde_json::Value;

/// A suggested action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Suggestion {
    /// The action, by its API name.
    pub action: &'static str,
    /// The reason.
    pub why: &'static str,
}

/// The suggestion for an operation: the engine's own, or else one derived from the failure. None while nobody has to decide.
pub fn of(op: &Operation, steps: &[Step]) -> Option<Value> {
    if !op.needs_attention() {
        return None;
    }
    let stored = op.suggested_action.as_ref().map(|found| found.0.clone());
    let has = |state| steps.iter().any(|step| step.state == state);
    match stored {
        // Nothing is abandoned while its transaction can still be included.
        Some(found) if found["action"] == "abandon" && has(State::Included) => derived(op, steps),
        Some(mut found) if found["action"] == "abandon" && has(State::Signed) => {
            found["action"] = "cancel".into();
            Some(found)
        }
        None => derived(op, steps),
        found => found,
    }
}

fn derived(op: &Operation, steps: &[Step]) -> Option<Value> {
    serde_json::to_value(by_failure(op, steps)).ok()
}

fn by_failure(op: &Operation, steps: &[Step]) -> Suggestion {
    let suggest = |action, why| Suggestion { action, why };
    let code = op.error_code.as_deref().unwrap_or_default();
    if steps.iter().any(|step| step.state == State::Included) {
        return suggest("wait", "The transaction is in a block that is not final yet. Decide when it is final.");
    }
    if steps.iter().any(|step| step.state == State::Signed) {
        return suggest(
            "retry",
            "The nonce is open. A retry uses the stored transaction again; raise the fee cap first if it was too low. Cancel uses up \
             the nonce instead.",
        );
    }
    match code {
        "effect_mismatch" => suggest(
            "mark_confirmed",
            "The transaction succeeded without its effect. Find the cause. Mark it confirmed with the transaction \
             that had the effect, or abandon it: two people see what is missing.",
        ),
        "op_id_conflict" => suggest(
            "abandon",
            "Its operation number was executed with another payload, so this operation can never be executed.",
        ),
        "cancelled_by_operator" => {
            suggest("abandon", "A person cancelled its nonce. Abandoning it frees its subject for other operations.")
        }
        "nonce_consumed_externally" => suggest(
            "retry",
            "Another transaction used its nonce. Check and resume the lane, then retry with a new nonce.",
        ),
        "contract_missing" | "above_gas_cap" | "no_method" | "wrong_chain" => {
            suggest("retry", "The configuration prevented it. Correct the configuration, restart, and retry.")
        }
        code if code.starts_with("policy_") => suggest(
            "abandon",
            "The signing policy refused it. If the policy is right, abandon the operation. If not, correct the configuration and retry.",
        ),
        "asset_unavailable" => suggest(
            "retry",
            "The payout asset is paused or blocks the distributor. Nobody of this page was paid or withheld. Retry when it works again.",
        ),
        "reverts" | "reverted" if steps.iter().any(|step| step.outcome == Some(Outcome::Success)) => suggest(
            "retry",
            "An earlier step took effect, so the operation must be finished. Remove the cause that the message names, and retry.",
        ),
        "reverts" | "reverted" => suggest(
            "retry",
            "The contract refused it and no value moved. Remove the cause that the message names and retry, or abandon it.",
        ),
        _ => suggest("retry", "The cause may be gone. A retry checks the chain before it acts."),
    }
}
