//! Compares the signers of a chain with its registry.

use alloy_primitives::Address;
use muniment_activities::contract::batch_read::BatchReader;
use muniment_activities::contract::registry::Roles;
use muniment_activities::fault::Fault;
use muniment_domain::column::Hex;
use muniment_domain::reconciliation::{Finding, Part, Severity};
use muniment_domain::{chain, lane};

use super::{Compared, Comparison};
use crate::engine::{Engine, Network};

/// Compares the roles of each signer at the final block, and finds unknown accounts with roles.
pub async fn compare(engine: &Engine, network: &Network, mut part: Part) -> Comparison {
    let mut tx = engine.db.read().await?;
    let cursor = chain::find(&mut tx, part.chain_id).await?;
    let lanes = lane::of_chain(&mut tx, part.chain_id).await?;
    drop(tx);
    let (Some(cursor), Some(registry)) = (cursor, network.chain.config.registry) else {
        return Ok(Ok(Compared::Done(part, Vec::new())));
    };
    let mut survey = BatchReader::new(&network.chain, registry, cursor.final_hash.0);
    let ours: Vec<Address> = lanes.iter().map(|lane| lane.signer.0).collect();
    let asked = async {
        let known = survey.agents(cursor.final_number.cast_unsigned()).await?;
        let others = known.into_iter().filter(|account| !ours.contains(account));
        let accounts: Vec<_> = ours.iter().copied().chain(others).collect();
        let roles = survey.roles(&accounts).await?;
        Ok::<_, Fault>(accounts.into_iter().zip(roles).collect::<Vec<_>>())
    };
    let roles = match asked.await {
        Ok(roles) => roles,
        Err(fault) => return Ok(Err(fault)),
    };
    let (own, others) = roles.split_at(ours.len());
    let mut findings: Vec<Finding> = own.iter().filter_map(|(account, roles)| missing_role(*account, *roles)).collect();
    findings.extend(
        others.iter().filter(|(_, roles)| *roles != Roles(0)).map(|(account, roles)| unknown_agent(*account, *roles)),
    );
    part.compared = i64::try_from(ours.len()).unwrap_or(i64::MAX);
    part.block_number = Some(cursor.final_number);
    part.block_hash = Some(Hex(cursor.final_hash.0));
    part.calls = survey.calls.cast_signed();
    Ok(Ok(Compared::Done(part, findings)))
}

/// A finding if a signer lacks a role. A signer signs every kind of operation, so it needs every role.
fn missing_role(account: Address, roles: Roles) -> Option<Finding> {
    let (kind, severity, suggested_action) = match roles {
        Roles::ALL => return None,
        Roles(0) => (
            "agent_missing",
            Severity::Critical,
            "Let the owner of the registry grant the roles again, or pause the signer: its transactions revert now.",
        ),
        _ => (
            "role_missing",
            Severity::Warning,
            "Let the owner of the registry grant the missing role, unless it was removed on purpose: the contract refuses operations that need it.",
        ),
    };
    let (expected, actual) = (Some(Roles::ALL.names()), Some(roles.names()));
    Some(Finding { kind, severity, subject: account.to_checksum(None), expected, actual, suggested_action })
}

/// The finding for an unknown account with roles on the platform's tokens.
fn unknown_agent(account: Address, roles: Roles) -> Finding {
    Finding {
        kind: "agent_unknown",
        severity: Severity::Warning,
        subject: account.to_checksum(None),
        expected: Some("no role, or a signer of this platform".to_owned()),
        actual: Some(roles.names()),
        suggested_action: "Find out who holds this key. If the roles were not granted on purpose, let the owner of the registry revoke them.",
    }
}
