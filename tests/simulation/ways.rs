//! The promise to people: what the engine does not end by itself, a person may end.

use muniment_domain::Result;
use muniment_workflows::engine::Engine;
use muniment_workflows::operator::{abandon, cancel, lane, mark_confirmed, retry};

use crate::facts::{Facts, Operation};

/// Whether every operation has come to rest, needs a person, or waits for a lane that a person has to resume.
pub fn only_people_can_go_on(facts: &Facts) -> bool {
    facts.operations.iter().filter(|o| is_under_way(o)).all(|o| !stopped_lanes(facts, o).is_empty())
}

/// Checks that somebody may do something about each operation that does not rest. Returns their number.
pub async fn each_has_one(engine: &Engine, facts: &Facts) -> std::result::Result<usize, String> {
    let mut waiting = 0;
    for operation in facts.operations.iter().filter(|o| o.status != "confirmed" && o.resolution.is_none()) {
        waiting += 1;
        let ways = ways(engine, facts, operation).await.map_err(|error| format!("{}: {error}", operation.id))?;
        if ways.is_empty() {
            return Err(format!("nobody can end {}: it is {} ({})", operation.id, operation.status, operation.note));
        }
    }
    Ok(waiting)
}

/// The moves that people may make about an operation now. None of them is made.
async fn ways(engine: &Engine, facts: &Facts, operation: &Operation) -> Result<Vec<&'static str>> {
    let id = &operation.id;
    let mut ways = Vec::new();
    if is_under_way(operation) {
        if operation.status == "pending" && legal(cancel::decide_unsent(engine, &id.as_str().into()).await)? {
            ways.push("cancel");
        }
        for stopped in stopped_lanes(facts, operation) {
            if legal(lane::may_resume(engine, &stopped.into()).await)? {
                ways.push("resume");
            }
        }
        return Ok(ways);
    }
    if legal(retry::decide(engine, &id.as_str().into()).await)? {
        ways.push("retry");
    }
    if legal(abandon::examine(engine, &id.as_str().into()).await)? {
        ways.push("abandon");
    }
    if let Some(hash) = operation.proposed.as_deref().and_then(|hash| hash.parse().ok())
        && legal(mark_confirmed::examine(engine, &id.as_str().into(), hash).await)?
    {
        ways.push("mark_confirmed");
    }
    Ok(ways)
}

/// A refusal means that it may not be done. Every other error is a bug.
fn legal<T>(decided: Result<T>) -> Result<bool> {
    match decided {
        Ok(_) => Ok(true),
        Err(error) if error.refusal().is_some() => Ok(false),
        Err(error) => Err(error),
    }
}

fn is_under_way(operation: &Operation) -> bool {
    operation.status == "pending" || operation.status == "submitted"
}

/// The stopped lanes that an operation may wait for: that of its steps, or any while it has none.
fn stopped_lanes<'a>(facts: &'a Facts, operation: &Operation) -> Vec<&'a str> {
    let own: Vec<&str> =
        facts.steps.iter().filter(|s| s.operation == operation.id).filter_map(|s| s.lane.as_deref()).collect();
    let stopped = facts.lanes.iter().filter(|lane| lane.mode != "active").map(|lane| lane.id.as_str());
    stopped.filter(|id| own.is_empty() || own.contains(id)).collect()
}
