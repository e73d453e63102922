//! Compares a token with the database: supply, balances, locks, freezes, restrictions, executed operations and payouts.

use std::collections::BTreeSet;

use alloy_primitives::{Address, U256};
use muniment_activities::contract::batch_read::BatchReader;
use muniment_activities::fault::Fault;
use muniment_domain::column::Hex;
use muniment_domain::holding::Holding;
use muniment_domain::money::Money;
use muniment_domain::offering::{self, Offering};
use muniment_domain::reconciliation::{self, Finding, FindingKind, KnownStep, Part, Severity, TokenState};
use muniment_domain::subscription;

use super::payout::{self, Recorded};
use super::{Compared, Comparison, executed};
use crate::engine::{Engine, Network};

/// Compares one token at the final block up to which the database is settled, or at an earlier one.
pub async fn compare(engine: &Engine, network: &Network, mut part: Part, at: Option<i64>) -> Comparison {
    let mut tx = engine.db.read().await?;
    let offering = offering::find(&mut tx, &part.subject_id.as_str().into()).await?;
    let belief = reconciliation::of_token(&mut tx, &offering, at).await?;
    let known = reconciliation::steps_of_token(&mut tx, &offering).await?;
    let (Some(belief), Some(token)) = (belief, offering.token_address) else {
        return Ok(Ok(Compared::Later("The events of the token are not read yet.".to_owned())));
    };
    let payments = reconciliation::payments(&mut tx, &offering.id, belief.block_number).await?;
    let declared = reconciliation::declared(&mut tx, &offering.id).await?;
    let reserved = subscription::amount_sum(&mut tx, &offering.id).await?;
    drop(tx);
    // The ledger is as of a final block, so the block at this height never changes.
    let block_hash = match network.chain.header(belief.block_number.cast_unsigned()).await {
        Ok(Some(header)) => header.hash,
        Ok(None) => return Ok(Err(Fault::UnknownBlock)),
        Err(fault) => return Ok(Err(fault)),
    };
    let since = offering.token_block_number.unwrap_or(0).cast_unsigned();
    let mut survey = BatchReader::new(&network.chain, token.0, block_hash);
    let mut findings = Vec::new();
    findings.extend((!belief.past).then(|| differs_in_reservations(&offering, reserved)).flatten());
    let recorded = Recorded { payments, declared, block: (belief.block_number, block_hash) };
    let asked = async {
        compare_state(&mut survey, &belief, &known, since, &mut findings).await?;
        payout::compare(network, &recorded, &mut findings).await
    };
    let paid = match asked.await {
        Ok(calls) => calls,
        Err(fault) => return Ok(Err(fault)),
    };
    part.compared = i64::try_from(belief.holdings.len()).unwrap_or(i64::MAX);
    part.block_number = Some(belief.block_number);
    part.block_hash = Some(Hex(block_hash));
    part.calls = (survey.calls + paid).cast_signed();
    Ok(Ok(Compared::Done(part, findings)))
}

async fn compare_state(
    survey: &mut BatchReader<'_>,
    belief: &TokenState,
    known: &[KnownStep],
    since: u64,
    findings: &mut Vec<Finding>,
) -> Result<(), Fault> {
    let partitions = belief.partitions.as_slice();
    let supplies = survey.supplies(partitions).await?;
    findings.extend(partitions.iter().zip(supplies).filter_map(|(id, supply)| differs_in_supply(belief, *id, supply)));
    let partition = |id: i64| u32::try_from(id).unwrap_or_default();
    let holders: Vec<_> = belief.holdings.iter().map(|h| (h.wallet_address.0, partition(h.partition_id))).collect();
    let balances = survey.balances(&holders).await?;
    for (holding, balance) in belief.holdings.iter().zip(balances) {
        findings.extend(differs(FindingKind::Balance, Severity::Critical, &subject(holding), holding.balance.0, balance,
            "The index missed a transfer, or a row was changed by hand. Find the transfer on the chain before anything is paid."));
    }
    if !belief.past {
        compare_present(survey, belief, &holders, findings).await?;
    }
    let done = survey.executed(since, belief.block_number.cast_unsigned()).await?;
    findings.extend(executed::compare(known, &done, belief.block_number));
    Ok(())
}

fn subject(holding: &Holding) -> String {
    format!("{} in partition {}", holding.wallet_address.0.to_checksum(None), holding.partition_id)
}

/// Compares restrictions, locks and freezes, which the database keeps only for the present.
async fn compare_present(
    survey: &mut BatchReader<'_>,
    belief: &TokenState,
    holders: &[(Address, u32)],
    findings: &mut Vec<Finding>,
) -> Result<(), Fault> {
    let partitions = belief.partitions.as_slice();
    let restricted = survey.restrictions(partitions).await?;
    findings.extend(
        partitions.iter().zip(restricted).filter_map(|(id, actual)| differs_in_restriction(belief, *id, actual)),
    );
    findings.extend(differs_in_pause(belief, survey.paused().await?));
    let locked = survey.locked(holders).await?;
    for (holding, locked) in belief.holdings.iter().zip(locked) {
        findings.extend(differs(
            FindingKind::Locked,
            Severity::Warning,
            &subject(holding),
            holding.locked.0,
            locked,
            "Find who locked or released units of this wallet. The chain's value decides which units can move.",
        ));
    }
    let accounts: BTreeSet<Address> =
        holders.iter().map(|(account, _)| *account).chain(belief.frozen.iter().copied()).collect();
    let accounts: Vec<_> = accounts.into_iter().collect();
    let frozen = survey.frozen(&accounts).await?;
    findings.extend(
        accounts.iter().zip(frozen).filter_map(|(account, actual)| differs_in_freeze(belief, *account, actual)),
    );
    Ok(())
}

/// The committed total of an offering must be the sum of its subscriptions, because the hard cap is checked against it.
fn differs_in_reservations(offering: &Offering, reserved: i64) -> Option<Finding> {
    let text = |minor: i64| Some(format!("{} {}", Money::from_minor(minor), offering.currency));
    (offering.committed_total != reserved).then(|| Finding {
        kind: FindingKind::CommittedTotal,
        severity: Severity::Critical,
        subject: offering.id.to_string(),
        expected: text(reserved),
        actual: text(offering.committed_total),
        suggested_action: "A subscription or the offering was changed outside the platform. Find it in the audit log, and accept no more \
                           subscriptions until both agree.",
    })
}

fn differs(
    kind: FindingKind,
    severity: Severity,
    subject: &str,
    expected: u128,
    actual: U256,
    suggested_action: &'static str,
) -> Option<Finding> {
    (U256::from(expected) != actual).then(|| Finding {
        kind,
        severity,
        subject: subject.to_owned(),
        expected: Some(expected.to_string()),
        actual: Some(actual.to_string()),
        suggested_action,
    })
}

fn differs_in_supply(belief: &TokenState, partition: u32, actual: U256) -> Option<Finding> {
    let own = belief.holdings.iter().filter(|h| h.partition_id == i64::from(partition));
    let expected = own.fold(0u128, |sum, h| sum.saturating_add(h.balance.0));
    let why = "The chain has units that no holder here has, or the reverse. Look for an operation that the chain executed and this database \
               does not know, and import it.";
    differs(FindingKind::Supply, Severity::Critical, &format!("partition {partition}"), expected, actual, why)
}

fn state(yes: bool, word: &str) -> Option<String> {
    Some(if yes { word.to_owned() } else { format!("not {word}") })
}

fn differs_in_restriction(belief: &TokenState, partition: u32, actual: bool) -> Option<Finding> {
    let expected = belief.restricted.contains(&partition);
    (expected != actual).then(|| Finding {
        kind: FindingKind::Restriction,
        severity: Severity::Warning,
        subject: format!("partition {partition}"),
        expected: state(expected, "restricted"),
        actual: state(actual, "restricted"),
        suggested_action: "Find which agent changed it. Restrict or unrestrict the partition here, so that both agree.",
    })
}

fn differs_in_pause(belief: &TokenState, actual: bool) -> Option<Finding> {
    (belief.paused != actual).then(|| Finding {
        kind: FindingKind::Pause,
        severity: Severity::Warning,
        subject: "token".to_owned(),
        expected: state(belief.paused, "paused"),
        actual: state(actual, "paused"),
        suggested_action: "Find which agent changed it. Pause or unpause the token here, so that both agree.",
    })
}

fn differs_in_freeze(belief: &TokenState, account: Address, actual: bool) -> Option<Finding> {
    let expected = belief.frozen.contains(&account);
    (expected != actual).then(|| Finding {
        kind: FindingKind::Freeze,
        severity: Severity::Critical,
        subject: account.to_checksum(None),
        expected: state(expected, "frozen"),
        actual: state(actual, "frozen"),
        suggested_action: "Find which agent changed it. Freeze or unfreeze the address here, so that both agree.",
    })
}
