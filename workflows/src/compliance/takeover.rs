//! A freeze or a pause takes its subject over from a failed operation, because neither may wait for a decision about that one.

use muniment_domain::Result;
use muniment_domain::db::Tx;
use muniment_domain::id::LaneId;
use muniment_domain::lane::Mode;
use muniment_domain::lane_state;
use muniment_domain::operation::{self, Kind, Operation};
use muniment_domain::step::{self, State, Step};
use serde_json::json;
use sqlx::types::Json;

use super::context::{Subject, TokenContext};

/// The lane that must sign the operation: that of a failed unfreeze or unpause whose transaction may still be included. It has the lower nonce
/// there, so it comes first. A lane that signs nothing now would only delay the operation.
pub async fn lane_behind(tx: &mut Tx, context: &TokenContext, subjects: &[Subject]) -> Result<Option<LaneId>> {
    for subject in subjects {
        let Some(id) = context.unfinished_operation(tx, *subject).await? else { continue };
        let failed = operation::find(tx, &id).await?;
        if !failed.needs_attention() || !matches!(failed.kind, Kind::Unfreeze | Kind::Unpause) {
            continue;
        }
        let is_open = |step: &Step| matches!(step.state, State::Signed | State::Included);
        let Some(lane_id) = step::of_operation(tx, &id).await?.into_iter().find(is_open).and_then(|step| step.lane_id)
        else {
            continue;
        };
        let state = lane_state::find(tx, &lane_id).await?;
        if state.lane.mode == Mode::Active && !state.unfunded {
            return Ok(Some(lane_id));
        }
    }
    Ok(None)
}

/// Takes the subjects from operations that failed. From then on `operator::retry` refuses them: a retried unfreeze would undo the freeze.
pub async fn take_over(tx: &mut Tx, context: &TokenContext, subjects: &[Subject], by: &Operation) -> Result<()> {
    for subject in subjects {
        let Some(id) = context.unfinished_operation(tx, *subject).await? else { continue };
        let mut failed = operation::find(tx, &id).await?;
        // Accepted by somebody else since the rules were checked. It keeps the subject, and the live key refuses this operation.
        if !failed.needs_attention() {
            continue;
        }
        let why = format!(
            "The {} {} took its subject over, so it can no longer be retried. Give it up, and request it again if it is still wanted.",
            by.kind, by.id
        );
        failed.suggested_action = Some(Json(json!({ "action": "abandon", "why": why })));
        // The new version ends a retry that was decided meanwhile.
        operation::save(tx, &mut failed).await?;
        context.release_item(tx, &id, *subject).await?;
    }
    Ok(())
}
