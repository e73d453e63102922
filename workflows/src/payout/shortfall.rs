//! What an executed payment lacks of its effect, by its final receipt. A repetition could do twice what it did have, so that two people,
//! who see what is missing, are the only way out beside a proof.

use alloy_primitives::{Address, B256};
use muniment_activities::direct_payout::{self, Said};
use muniment_activities::receipt::{Agreement, Receipt};
use muniment_domain::operation::{Kind, Operation};
use muniment_domain::step::Step;
use muniment_domain::{Code, Error, Result};

use crate::engine::effect::{self, Executed};
use crate::engine::{Engine, Network};
use crate::operator::retry;
use crate::payout::allowance;

/// What is missing.
#[derive(Clone, Debug)]
pub struct Shortfall {
    /// For people: the whole, and each line that it is about.
    pub missing: Vec<String>,
    /// The transaction that was executed.
    pub tx_hash: B256,
    /// Its block.
    pub block_number: i64,
    /// For a page of payouts what the coin says of each line and its holder.
    pub lines: Lines,
}

/// The lines of a page, each with its holder and what the coin says.
pub type Lines = Vec<(Address, Said)>;

/// What a payment lacks that the chain calls executed; none where it lacks nothing, or where no receipt shows it.
pub async fn of(engine: &Engine, network: &Network, op: &Operation, step: &Step) -> Result<Option<Shortfall>> {
    // What our own contracts executed they did whole: only the coin of a payout is somebody else's. A receipt that shows less is a lie, and
    // a mint that was given up because of it would be minted again.
    if !matches!(op.kind, Kind::Payout | Kind::DistributorPayout) {
        return Ok(None);
    }
    let Executed::Ours(receipt) = retry::trace_of(engine, network, op, step).await? else { return Ok(None) };
    // What ends for good is told by as many endpoints as finality is.
    match network.chain.confirm_receipt(&receipt).await.map_err(|fault| retry::unavailable(&fault))? {
        Agreement::Agreed => {}
        told => {
            let detail = format!("The endpoints do not agree about {}: {told:?}. Ask again.", receipt.tx_hash);
            return Err(Error::refused(Code::ChainUnavailable, detail));
        }
    }
    let Err(whole) = effect::shown(op, step, &receipt)? else { return Ok(None) };
    let (lines, told) = said(op, step, &receipt)?;
    let mut missing = vec![whole.to_string()];
    missing.extend(told);
    let block_number = receipt.block_number.cast_signed();
    Ok(Some(Shortfall { missing, tx_hash: receipt.tx_hash, block_number, lines }))
}

/// Line by line, for a page that goes straight from its payer to the holders.
fn said(op: &Operation, step: &Step, receipt: &Receipt) -> Result<(Lines, Vec<String>)> {
    let page =
        direct_payout::page_of(&step.calldata).filter(|_| op.kind == Kind::Payout && step.name != allowance::STEP);
    let Some(page) = page else { return Ok((Vec::new(), Vec::new())) };
    let lines = direct_payout::said_of_lines(receipt, effect::payload(op, "payer")?, &page);
    let mut told = Vec::new();
    for (index, (line, said)) in page.lines.iter().zip(&lines).enumerate() {
        let (holder, units) = (line.holder().to_checksum(None), line.units());
        match said {
            Said::Paid => {}
            Said::Nothing => told.push(format!("line {index}: {holder} got nothing of {units} units")),
            Said::Other(other) => told.push(format!("line {index}: {holder} got {other} of {units} units")),
        }
    }
    let paid = lines.iter().filter(|said| **said == Said::Paid).count();
    told.push(format!("{paid} of {} lines were paid, and stay so", lines.len()));
    let lines = page.lines.iter().map(|line| line.holder()).zip(lines).collect();
    Ok((lines, told))
}
