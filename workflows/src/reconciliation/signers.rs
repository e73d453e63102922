//! The signers of a chain, held against its registry.

use muniment_activities::registry::Roles;
use muniment_activities::survey::Survey;
use muniment_domain::column::Hex;
use muniment_domain::reconciliation::{Finding, Part, Severity};
use muniment_domain::{chain, lane};

use super::{Asked, Compared};
use crate::engine::{Engine, Network};

/// Whether each key of the platform still may act for it, at the final block.
pub async fn compare(engine: &Engine, network: &Network, mut part: Part) -> Asked {
    let mut tx = engine.db.read().await?;
    let cursor = chain::find(&mut tx, part.chain_id).await?;
    let lanes = lane::of_chain(&mut tx, part.chain_id).await?;
    drop(tx);
    let (Some(cursor), Some(registry)) = (cursor, network.chain.config.registry) else {
        return Ok(Ok(Compared::Done(part, Vec::new())));
    };
    let mut survey = Survey::new(&network.chain, registry, cursor.final_hash.0);
    let accounts: Vec<_> = lanes.iter().map(|lane| lane.signer.0).collect();
    let roles = match survey.roles(&accounts).await {
        Ok(roles) => roles,
        Err(fault) => return Ok(Err(fault)),
    };
    let missing = accounts.iter().zip(&roles).filter(|(_, roles)| **roles == Roles(0));
    let findings = missing.map(|(account, _)| Finding {
        kind: "agent_missing",
        severity: Severity::Critical,
        subject: account.to_checksum(None),
        expected: Some("an agent".to_owned()),
        actual: Some("no role".to_owned()),
        suggested_action: "Let the owner of the registry give the roles back, or pause the signer: whatever it sends now reverts.",
    });
    part.compared = i64::try_from(accounts.len()).unwrap_or(i64::MAX);
    part.block_number = Some(cursor.final_number);
    part.block_hash = Some(Hex(cursor.final_hash.0));
    part.calls = survey.calls.cast_signed();
    Ok(Ok(Compared::Done(part, findings.collect())))
}
