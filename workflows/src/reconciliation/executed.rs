//! Compares the operations that a token executed with those of the database.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::{B256, U256};
use muniment_activities::contract::batch_read::ExecutedOperation;
use muniment_activities::contract::operation::{is_recovery, kind_of};
use muniment_domain::reconciliation::{Finding, FindingKind, KnownStep, Severity};

/// Kind and number; for a recovery also its payload, because each lost wallet has numbers of its own.
type Key = (B256, U256, Option<B256>);

fn key(kind: B256, number: U256, payload: Option<B256>) -> Key {
    (kind, number, payload.filter(|_| is_recovery(kind)))
}

fn key_of_event(e: &ExecutedOperation) -> Key {
    key(e.kind, e.op_id, Some(e.payload_hash))
}

fn key_of_step(k: &KnownStep) -> Key {
    let kind = kind_of(&k.selector).unwrap_or_default();
    key(kind, U256::from(k.op_number.cast_unsigned()), k.payload_hash.map(|hash| hash.0))
}

/// Compares the executed operations of a token with the database.
pub fn compare(known: &[KnownStep], executed: &[ExecutedOperation], last: i64) -> Vec<Finding> {
    let ours: BTreeMap<Key, &KnownStep> = known.iter().map(|k| (key_of_step(k), k)).collect();
    let done: BTreeSet<Key> = executed.iter().map(key_of_event).collect();
    let finding = |kind, subject: String, expected: &str, actual: String, suggested_action| Finding {
        kind,
        severity: Severity::Critical,
        subject,
        expected: Some(expected.to_owned()),
        actual: Some(actual),
        suggested_action,
    };
    let mut findings = Vec::new();
    for e in executed {
        let (subject, actual) = (format!("operation number {}", e.op_id), format!("executed in {}", e.tx_hash));
        match ours.get(&key_of_event(e)) {
            None => findings.push(finding(
                FindingKind::UnknownOperation,
                subject,
                "no such operation",
                actual,
                "The chain executed an operation that this database never accepted. Import it before the lane signs again.",
            )),
            Some(k) if k.payload_hash.is_some_and(|hash| hash.0 != e.payload_hash) => {
                findings.push(finding(FindingKind::OpIdConflict, k.operation_id.to_string(), "executed with our payload", actual,
                    "Somebody else calls this contract with the platform's operation numbers. Abandon the operation, and find out who holds an agent's key."));
            }
            Some(k) if !k.is_done() && !k.is_live() => {
                findings.push(finding(FindingKind::ExecutedNotConfirmed, k.operation_id.to_string(), "not executed", actual,
                    "Retry the operation: the engine finds it on the chain and confirms it. Mark an abandoned one as confirmed by hand."));
            }
            Some(_) => {}
        }
    }
    let missing = known.iter().filter(|k| k.is_done() && k.block_number.is_some_and(|number| number <= last));
    for k in missing.filter(|k| !done.contains(&key_of_step(k))) {
        findings.push(finding(FindingKind::ConfirmedNotExecuted, k.operation_id.to_string(), "executed", "not executed".to_owned(),
            "The chain does not show an operation that is confirmed here. Check the endpoints first. Then pause the offering and ask for help."));
    }
    findings
}

#[cfg(test)]
mod tests;
