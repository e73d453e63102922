//! A shortfall: the part of its effect that an executed payment lacks, by its final receipt. A retry could pay some lines twice, so the
//! only ways out are a proof, or two people who see the missing lines and abandon the operation.

use alloy_primitives::{Address, B256};
use muniment_activities::chain::receipt::{Agreement, Receipt};
use muniment_activities::contract::line::{Line, LineOutcome};
use muniment_activities::payout::claim::{self, Claim};
use muniment_activities::payout::coin::{LineShown, LineTransfer};
use muniment_activities::payout::{direct, distributor};
use muniment_domain::operation::{Kind, Operation};
use muniment_domain::step::Step;
use muniment_domain::{Code, Error, Result};

use crate::engine::effect;
use crate::engine::execution::{self, Executed};
use crate::engine::{Engine, Network};
use crate::payout::withheld;

/// The missing effect of a payment.
#[derive(Clone, Debug)]
pub struct Shortfall {
    /// Sentences for a person: the summary, and each line concerned.
    pub missing: Vec<String>,
    /// The transaction that was executed.
    pub tx_hash: B256,
    /// Its block.
    pub block_number: i64,
    /// The evidence for each payment of the executed call.
    pub payments: Vec<Payment>,
}

/// One payment of an executed call.
#[derive(Clone, Debug)]
pub struct Payment {
    /// Its first line in the operation.
    pub first_line: i64,
    /// The number of its lines. After recoveries a claim can pay several lines together.
    pub lines: usize,
    /// The holder, or the account of a claim.
    holder: Address,
    /// The units that are due.
    units: u128,
    /// What the contract says, and what the coin shows where it says that it paid.
    pub shown: LineShown,
}

/// The shortfall of an executed payment. None if it has its whole effect, or if no receipt is found.
pub async fn of(engine: &Engine, network: &Network, op: &Operation, step: &Step) -> Result<Option<Shortfall>> {
    // The platform's own contracts execute completely or not at all; only the coin of a payout is foreign code. For other kinds a receipt
    // that shows less is wrong, and a mint that was abandoned because of it would be minted again.
    if !matches!(op.kind, Kind::Payout | Kind::DistributorPayout) {
        return Ok(None);
    }
    let receipt = match execution::trace(engine, network, op, step).await? {
        Executed::Ours(receipt) => receipt,
        Executed::Unproved(hash) => return Err(execution::unproved(hash)),
        Executed::Other(_) | Executed::NotFound => return Ok(None),
    };
    // An abandoned operation is never repeated, so the receipt needs as many agreeing endpoints as finality does.
    match network.chain.confirm_receipt(&receipt).await.map_err(|fault| execution::unavailable(&fault))? {
        Agreement::Agreed => {}
        findings => {
            let detail =
                format!("The endpoints do not agree about {}: {findings:?}. Try again later.", receipt.tx_hash);
            return Err(Error::refused(Code::ChainUnavailable, detail));
        }
    }
    let Err(whole) = engine.kind(op).effect(op, step, &receipt)? else { return Ok(None) };
    let payments = payments(op, step, &receipt)?;
    let mut missing = vec![whole.to_string()];
    missing.extend(findings(&payments));
    let block_number = receipt.block_number.cast_signed();
    Ok(Some(Shortfall { missing, tx_hash: receipt.tx_hash, block_number, payments }))
}

/// The evidence for each payment of a call.
fn payments(op: &Operation, step: &Step, receipt: &Receipt) -> Result<Vec<Payment>> {
    let (escrow, asset) = (step.target.0, effect::payload(op, "asset")?);
    if let Some(claim) = Claim::of(&step.calldata) {
        let sums = withheld::sums(op)?;
        let units = withheld::units(op, &sums)?;
        let shown = claim::accounts_shown(receipt, escrow, asset, &claim, &units);
        let mut first_line = 0;
        let accounts = claim.accounts.iter().zip(units).zip(sums).zip(shown);
        let payments = accounts.map(|(((holder, units), sum), shown)| {
            let payment = Payment { first_line, lines: sum.lines, holder: *holder, units, shown };
            first_line += i64::try_from(sum.lines).unwrap_or(i64::MAX);
            payment
        });
        return Ok(payments.collect());
    }
    let (first_line, lines, shown) = if let Some(page) = direct::page_of(&step.calldata) {
        let shown = direct::line_transfers(receipt, effect::payload(op, "payer")?, &page).into_iter();
        let paid = |(line, transfer): (&Line, _)| (LineOutcome::Paid(line.holder()), Some(transfer));
        let shown = page.lines.iter().zip(shown).map(paid).collect();
        (0, page.lines, shown)
    } else if let Some(page) = distributor::page_of(&step.calldata) {
        let shown = distributor::lines_shown(receipt, escrow, asset, &page);
        (i64::try_from(page.from).unwrap_or(i64::MAX), page.lines, shown)
    } else {
        return Ok(Vec::new());
    };
    let payment = |((first_line, line), shown): ((i64, &Line), LineShown)| Payment {
        first_line,
        lines: 1,
        holder: line.holder(),
        units: line.units(),
        shown,
    };
    Ok((first_line..).zip(&lines).zip(shown).map(payment).collect())
}

/// Sentences about the payments.
fn findings(payments: &[Payment]) -> Vec<String> {
    let mut findings = Vec::new();
    let (mut paid, mut kept, mut all) = (0, 0, 0);
    for Payment { first_line, lines, holder, units, shown } in payments {
        let line = format!("line {first_line}: {}", holder.to_checksum(None));
        all += lines;
        match shown.1 {
            Some(LineTransfer::Exact) => paid += lines,
            Some(LineTransfer::Missing) => findings.push(format!("{line} got nothing of {units} units")),
            Some(LineTransfer::OtherAmount(other)) => findings.push(format!("{line} got {other} of {units} units")),
            None => kept += lines,
        }
    }
    if all > 0 {
        findings.push(format!("{paid} of {all} lines were paid and stay paid"));
    }
    if kept > 0 {
        findings.push(format!("{kept} of {all} lines stay with the distributor and can be claimed again"));
    }
    findings
}
