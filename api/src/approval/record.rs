//! What an approval looks like.

use muniment_domain::Result;
use muniment_domain::approval::{Approval, Status, Transition};
use muniment_domain::db::Tx;
use muniment_domain::money::Money;
use muniment_workflows::action::Action;
use muniment_workflows::settings::Settings;
use serde_json::{Value, json};

use crate::instant;

/// An approval as lists and acceptances show it: without its payload, which may be long.
pub fn short(a: &Approval) -> Value {
    json!({
        "id": a.id, "status": a.status, "action": a.action, "subject": { "type": a.subject_type, "id": a.subject_id },
        "offering_id": a.offering_id, "amount": a.amount.map(|minor| Money::from_minor(minor).to_string()), "currency": a.currency,
        "payload_sha256": a.payload_sha256, "maker": a.maker, "reason": a.reason, "checker": a.checker,
        "decision_reason": a.decision_reason, "operation_id": a.operation_id, "batch_id": a.batch_id, "error": problem(a),
        "created_at": instant::text(a.created_at), "decided_at": instant::optional(a.decided_at),
        "expires_at": instant::text(a.expires_at), "updated_at": instant::text(a.updated_at), "version": a.version,
    })
}

fn problem(a: &Approval) -> Value {
    let Some(code) = &a.error_code else { return Value::Null };
    json!({ "code": code, "detail": a.error_message })
}

/// The whole of it: what is to be allowed, whether it could be done now, and what happened so far.
pub fn full(a: &Approval, history: &[Transition], outlook: Value) -> Value {
    let mut record = short(a);
    let told = |t: &Transition| {
        json!({ "from": t.from_status, "to": t.to_status, "at": instant::text(t.at), "actor": t.actor, "reason": t.reason,
            "version": t.version })
    };
    record["payload"] = a.payload.0.clone();
    record["outlook"] = outlook;
    record["history"] = history.iter().map(told).collect();
    record
}

/// Whether what waits could be done now, as far as the database knows. Null when nothing waits any more.
pub async fn outlook(tx: &mut Tx, settings: &Settings, a: &Approval) -> Result<Value> {
    if a.status != Status::Pending {
        return Ok(Value::Null);
    }
    let checked = match a.sealed() {
        Ok(payload) => Action::read(&a.id, payload)?.check(tx, settings).await,
        Err(error) => Err(error),
    };
    match checked {
        Ok(()) => Ok(json!({ "ok": true, "code": null, "detail": null })),
        Err(error) => match error.refusal() {
            Some((code, detail)) => Ok(json!({ "ok": false, "code": code, "detail": detail })),
            None => Err(error),
        },
    }
}
