//! A freeze or a pause takes its subject over from a failed operation, because neither may wait for a decision about that one.

use muniment_domain::Result;
use muniment_domain::db::Tx;
use muniment_domain::operation::{self, Operation};
use serde_json::json;
use sqlx::types::Json;

use super::context::{Subject, TokenContext};

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
            "The {} {} took its subject over, so it can no longer be retried. Abandon it, and request it again if it is still wanted.",
            by.kind, by.id
        );
        failed.suggested_action = Some(Json(json!({ "action": "abandon", "why": why })));
        // The new version ends a retry that was decided meanwhile.
        operation::save(tx, &mut failed).await?;
        context.release_item(tx, &id, *subject).await?;
    }
    Ok(())
}
