//! Nothing sleeps for ever: from every state either the engine moves on by itself, or a person has an act that ends it.

use muniment_domain::Result;
use muniment_domain::id::OperationId;
use muniment_domain::operation::{self, Operation, Status};
use muniment_domain::step::{self, State, Step};
use muniment_workflows::engine::Engine;
use muniment_workflows::operator::{abandon, act, mark_confirmed, retry};

use crate::life::{Life, Lived};

/// What has not ended, with its steps.
async fn open(life: &Life) -> Result<Vec<(Operation, Vec<Step>)>> {
    let ids = life.ids("select id from operations where status <> 'confirmed' and resolution is null").await;
    let ids: Vec<OperationId> = ids.into_iter().map(Into::into).collect();
    let ids: Vec<&OperationId> = ids.iter().collect();
    let mut tx = life.stage.db.read().await?;
    let (ops, steps) = (operation::find_all(&mut tx, &ids).await?, step::of_operations(&mut tx, &ids).await?);
    let own = |op: &Operation| steps.iter().filter(|step| step.operation_id == op.id).cloned().collect();
    Ok(ops.into_iter().map(|op| (op.clone(), own(&op))).collect())
}

/// By the rows alone, and so in any weather.
pub async fn is_shown(life: &Life) -> Lived {
    for (op, steps) in open(life).await.map_err(|e| e.to_string())? {
        let offered = offered(&op, &steps);
        let on_chain = steps.iter().any(|step| matches!(step.state, State::Signed | State::Included));
        let goes_on = match op.status {
            Status::Pending => {
                (op.next_action_at.is_some() || op.blocked_reason.is_some()) && offered.contains(&"cancel")
            }
            Status::Submitted => op.next_action_at.is_some() || on_chain,
            // A proof may never be found, so there must be more than that to do.
            _ => on_chain || offered.iter().any(|name| *name != "mark_confirmed"),
        };
        if !goes_on {
            return Err(format!("{}, and sleeps for ever. A person is offered {offered:?}", in_words(&op)));
        }
    }
    Ok(())
}

/// In calm: what needs a person has an act that is offered and that passes its check against the chain.
pub async fn is_open(life: &Life) -> Lived {
    let Some(engine) = &life.engine else { return Ok(()) };
    let waiting = open(life).await.map_err(|e| e.to_string())?;
    for (op, steps) in waiting.iter().filter(|(op, _)| op.needs_attention()) {
        // The engine finalises a block by itself, and decides nothing before.
        if steps.iter().any(|step| step.state == State::Included) {
            continue;
        }
        let (mut accepted, mut refused) = (false, Vec::new());
        for name in offered(op, steps) {
            match passes(engine, op, name).await {
                Ok(passed) => accepted |= passed,
                Err(error) => refused.push(format!("{name}: {error}")),
            }
        }
        if !accepted {
            return Err(format!("{}, and nobody can end it: {refused:#?}", in_words(op)));
        }
    }
    Ok(())
}

/// The acts that the interface and the console offer.
fn offered(op: &Operation, steps: &[Step]) -> Vec<&'static str> {
    act::of(op, steps).into_iter().filter(|act| act.allowed).map(|act| act.name).collect()
}

/// Whether this act ends the operation and would be accepted.
async fn passes(engine: &Engine, op: &Operation, name: &str) -> Result<bool> {
    match name {
        "retry" => retry::decide(engine, &op.id).await.map(|_| true),
        "abandon" => abandon::examine(engine, &op.id).await.map(|_| true),
        "mark_confirmed" => {
            let proposed = op.suggested_action.as_ref().and_then(|found| found.0["tx_hash"].as_str()?.parse().ok());
            let Some(hash) = proposed else { return Ok(false) };
            Ok(mark_confirmed::examine(engine, &op.id, hash).await?.is_proof())
        }
        // The others only lead to one of these.
        _ => Ok(false),
    }
}

fn in_words(op: &Operation) -> String {
    let (code, cause) =
        (op.error_code.as_deref().unwrap_or_default(), op.blocked_reason.as_deref().unwrap_or_default());
    format!("{} is {} ({code}{cause})", op.id, op.status)
}
