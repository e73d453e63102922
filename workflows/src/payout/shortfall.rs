//! A shortfall: the part of its effect that an executed payment lacks, by its final receipt. A retry could pay some lines twice, so the
//! only ways out are a proof, or two people who see the missing lines and abandon the operation.

use alloy_primitives::{Address, B256};
use muniment_activities::chain::receipt::{Agreement, Receipt};
use muniment_activities::payout::direct::{self, LineTransfer};
use muniment_domain::operation::{Kind, Operation};
use muniment_domain::step::Step;
use muniment_domain::{Code, Error, Result};

use crate::engine::effect;
use crate::engine::execution::{self, Executed};
use crate::engine::{Engine, Network};
use crate::payout::allowance;

/// The missing effect of a payment.
#[derive(Clone, Debug)]
pub struct Shortfall {
    /// Sentences for a person: the summary, and each line concerned.
    pub missing: Vec<String>,
    /// The transaction that was executed.
    pub tx_hash: B256,
    /// Its block.
    pub block_number: i64,
    /// For a page of a direct payout, the coin's evidence for each line.
    pub lines: Lines,
}

/// The lines of a page, each with its holder and the coin's evidence.
pub type Lines = Vec<(Address, LineTransfer)>;

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
    let (lines, findings) = evidence(op, step, &receipt)?;
    let mut missing = vec![whole.to_string()];
    missing.extend(findings);
    let block_number = receipt.block_number.cast_signed();
    Ok(Some(Shortfall { missing, tx_hash: receipt.tx_hash, block_number, lines }))
}

/// The evidence for each line of a direct payout.
fn evidence(op: &Operation, step: &Step, receipt: &Receipt) -> Result<(Lines, Vec<String>)> {
    let page = direct::page_of(&step.calldata).filter(|_| op.kind == Kind::Payout && step.name != allowance::STEP);
    let Some(page) = page else { return Ok((Vec::new(), Vec::new())) };
    let lines = direct::line_transfers(receipt, effect::payload(op, "payer")?, &page);
    let mut findings = Vec::new();
    for (index, (line, said)) in page.lines.iter().zip(&lines).enumerate() {
        let (holder, units) = (line.holder().to_checksum(None), line.units());
        match said {
            LineTransfer::Exact => {}
            LineTransfer::Missing => findings.push(format!("line {index}: {holder} got nothing of {units} units")),
            LineTransfer::OtherAmount(other) => {
                findings.push(format!("line {index}: {holder} got {other} of {units} units"))
            }
        }
    }
    let paid = lines.iter().filter(|said| **said == LineTransfer::Exact).count();
    findings.push(format!("{paid} of {} lines were paid and stay paid", lines.len()));
    let lines = page.lines.iter().map(|line| line.holder()).zip(lines).collect();
    Ok((lines, findings))
}
