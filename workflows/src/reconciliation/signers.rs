//! Compares the signers of a chain with its registry.

use std::collections::BTreeMap;

use alloy_primitives::{Address, B256};
use muniment_activities::contract::batch_read::{Agent, BatchReader};
use muniment_activities::contract::registry::Roles;
use muniment_activities::fault::Fault;
use muniment_activities::token::factory;
use muniment_domain::column::Hex;
use muniment_domain::id::OfferingId;
use muniment_domain::reconciliation::{Finding, FindingKind, Part, Severity};
use muniment_domain::{chain, lane, token_read};

use super::{Compared, Comparison};
use crate::engine::{Engine, Network};

const ROLE_MISSING: &str = "Let the owner of the registry grant the missing role, unless it was removed on purpose: the contract refuses operations that need it.";

/// Compares the roles of each signer at the final block, and finds unknown accounts with roles: on the whole platform, or for one offering.
pub async fn compare(engine: &Engine, network: &Network, mut part: Part) -> Comparison {
    let mut tx = engine.db.read().await?;
    let cursor = chain::find(&mut tx, part.chain_id).await?;
    let lanes = lane::of_chain(&mut tx, part.chain_id).await?;
    let offerings = token_read::offerings(&mut tx, part.chain_id).await?;
    drop(tx);
    let (Some(cursor), Some(registry)) = (cursor, network.chain.config.registry) else {
        return Ok(Ok(Compared::Done(part, Vec::new())));
    };
    let offerings: BTreeMap<B256, OfferingId> =
        offerings.into_iter().map(|id| (factory::offering_id(&id), id)).collect();
    let mut survey = BatchReader::new(&network.chain, registry, cursor.final_hash.0);
    let ours: Vec<Address> = lanes.iter().map(|lane| lane.signer.0).collect();
    let asked = async {
        let mut agents = survey.agents(cursor.final_number.cast_unsigned()).await?;
        // A signer that never had a role is no agent of the registry.
        agents.extend(ours.iter().map(|account| Agent { offering_id: B256::ZERO, account: *account }));
        agents.sort_unstable();
        agents.dedup();
        let roles = survey.roles(&agents).await?;
        Ok::<_, Fault>(agents.into_iter().zip(roles).collect::<BTreeMap<_, _>>())
    };
    let roles = match asked.await {
        Ok(roles) => roles,
        Err(fault) => return Ok(Err(fault)),
    };
    let mut findings: Vec<Finding> =
        ours.iter().filter_map(|account| missing_role(*account, &roles, &offerings)).collect();
    findings.extend(without_a_signer(&ours, &roles, &offerings));
    let others = roles.iter().filter(|(agent, roles)| !ours.contains(&agent.account) && **roles != Roles(0));
    findings.extend(others.map(|(agent, roles)| unknown_agent(agent, *roles, &offerings)));
    part.compared = i64::try_from(ours.len()).unwrap_or(i64::MAX);
    part.block_number = Some(cursor.final_number);
    part.block_hash = Some(Hex(cursor.final_hash.0));
    part.calls = survey.calls.cast_signed();
    Ok(Ok(Compared::Done(part, findings)))
}

/// The roles of an account for an offering, with those on the whole platform.
fn held(account: Address, offering_id: B256, roles: &BTreeMap<Agent, Roles>) -> Roles {
    let of = |offering_id| roles.get(&Agent { offering_id, account }).copied().unwrap_or_default();
    of(B256::ZERO) | of(offering_id)
}

/// A finding if a signer has no role at all, or has some roles and not all of them. A signer signs every kind of operation, so it needs
/// every role where it has any: on the whole platform, or for one offering. Other offerings can have signers of their own.
fn missing_role(
    account: Address,
    roles: &BTreeMap<Agent, Roles>,
    offerings: &BTreeMap<B256, OfferingId>,
) -> Option<Finding> {
    let everywhere = held(account, B256::ZERO, roles);
    let some = |found: Roles| found != Roles(0) && !found.holds(Roles::ALL);
    let partly = offerings.iter().find(|(key, _)| some(held(account, **key, roles)));
    let has_role = roles.iter().any(|(agent, roles)| agent.account == account && *roles != Roles(0));
    let name = account.to_checksum(None);
    let (kind, severity, subject, found, suggested_action) = if !has_role {
        (
            FindingKind::AgentMissing,
            Severity::Critical,
            name,
            everywhere,
            "Let the owner of the registry grant the roles again, or pause the signer: its transactions revert now.",
        )
    } else if let Some((key, id)) = partly {
        let found = held(account, *key, roles);
        (
            FindingKind::RoleMissing,
            Severity::Warning,
            if found == everywhere { name } else { format!("{name} for {id}") },
            found,
            ROLE_MISSING,
        )
    } else if offerings.is_empty() && some(everywhere) {
        (FindingKind::RoleMissing, Severity::Warning, name, everywhere, ROLE_MISSING)
    } else {
        return None;
    };
    let (expected, actual) = (Some(Roles::ALL.names()), Some(found.names()));
    Some(Finding { kind, severity, subject, expected, actual, suggested_action })
}

/// A finding for each offering for which no signer has a role, if the signers have roles elsewhere.
fn without_a_signer(
    ours: &[Address],
    roles: &BTreeMap<Agent, Roles>,
    offerings: &BTreeMap<B256, OfferingId>,
) -> Vec<Finding> {
    if !roles.iter().any(|(agent, roles)| ours.contains(&agent.account) && *roles != Roles(0)) {
        return Vec::new();
    }
    let unserved = offerings.iter().filter(|(key, _)| ours.iter().all(|one| held(*one, **key, roles) == Roles(0)));
    let finding = |(_, id): (&B256, &OfferingId)| Finding {
        kind: FindingKind::RoleMissing,
        severity: Severity::Critical,
        subject: format!("every signer for {id}"),
        expected: Some(Roles::ALL.names()),
        actual: Some(Roles(0).names()),
        suggested_action: "Let the owner of the registry grant the roles for this offering to a signer: its operations revert now.",
    };
    unserved.map(finding).collect()
}

/// The finding for an unknown account with roles on the platform's tokens.
fn unknown_agent(agent: &Agent, roles: Roles, offerings: &BTreeMap<B256, OfferingId>) -> Finding {
    let account = agent.account.to_checksum(None);
    let subject = match offerings.get(&agent.offering_id) {
        Some(id) => format!("{account} for {id}"),
        None if agent.offering_id.is_zero() => account,
        None => format!("{account} for the unknown offering {}", agent.offering_id),
    };
    Finding {
        kind: FindingKind::AgentUnknown,
        severity: Severity::Warning,
        subject,
        expected: Some("no role, or a signer of this platform".to_owned()),
        actual: Some(roles.names()),
        suggested_action: "Find out who holds this key. If the roles were not granted on purpose, let the owner of the registry revoke them.",
    }
}
