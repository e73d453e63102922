//! Payout through the distributor: one operation declares the list with its sum in escrow, then pays the pages. Each step is prepared when
//! the one before it is included. If the distributor has no allowance from the payer yet, the operation waits for that of the allowance.

use alloy_primitives::{Address, B256};
use muniment_activities::payout::distributor::{self, Declaration};
use muniment_domain::Result;
use muniment_domain::column::Hex;
use muniment_domain::contract::{self, Kind as ContractKind};
use muniment_domain::db::Tx;
use muniment_domain::distribution::{self, Distribution};
use muniment_domain::entitlement::Entitlement;
use muniment_domain::id::of;
use muniment_domain::operation::{self, Kind, NewOperation, NewStep, Operation};
use serde_json::json;

use crate::engine::queue;
use crate::payout;
use crate::payout::allowance::{self, AllowanceState};
use crate::payout::payer;
use crate::requester::Requester;
use crate::settings::Settings;

/// The step that declares the list and funds the escrow.
pub const CREATE: &str = "createDistribution";
/// The step that pays a page.
pub const PAGE: &str = "payoutForDistribution";

/// Accepts the payment of a list through the distributor.
pub async fn pay(
    tx: &mut Tx,
    settings: &Settings,
    d: &Distribution,
    list: &[Entitlement],
    by: &Requester,
) -> Result<Vec<Operation>> {
    let lane = payer::lane_of(tx, d.chain_id, d.funding_wallet.0).await?;
    let escrow = contract::only(tx, d.chain_id, ContractKind::Distributor).await?;
    let batch_id = tx.new_id::<of::Batch>();
    let allowance = allowance::ensure(tx, d, escrow, &lane, &batch_id, by).await?;
    let is_granted = matches!(allowance, AllowanceState::Granted);
    let mut operations: Vec<Operation> = allowance.operation().into_iter().collect();
    let steps = declared(d, escrow, list, settings.payout_page_holders.clamp(1, payout::LINES_MAX))?;
    let new = payout::new_operation(d, &lane, Kind::DistributorPayout, payout::payload(d), steps, by);
    let new = NewOperation { batch: operations.first().map(|_| (batch_id, 1)), ..new };
    let mut paying = [payout::insert(tx, d, new, list).await?];
    if is_granted {
        queue::first_wakes(tx, &paying).await?;
    } else {
        allowance::wait(&mut paying);
        operation::save_all(tx, &mut paying).await?;
    }
    operations.extend(paying);
    Ok(operations)
}

fn declared(d: &Distribution, escrow: Address, list: &[Entitlement], page_lines: usize) -> Result<Vec<NewStep>> {
    let lines = payout::lines(d, list)?;
    let declaration = Declaration {
        id: d.chain_key(),
        token: d.token_address.0,
        asset: d.payout_token.0,
        total: lines.iter().map(|line| line.units()).sum(),
        count: lines.len() as u64,
        commitment: distributor::commitment(&lines),
    };
    let create = distributor::create(Address::ZERO, escrow, &declaration).data;
    let mut steps = vec![payout::step(CREATE, escrow, &create)];
    for page in distributor::pages(declaration.id, &lines, page_lines) {
        steps.push(payout::step(PAGE, escrow, &distributor::pay(Address::ZERO, escrow, &page).data));
    }
    Ok(steps)
}

/// Stores the declared report, when the declaration is final.
pub async fn settle_audit(tx: &mut Tx, op: &Operation, report: B256, tx_hash: B256) -> Result<()> {
    let mut d = distribution::lock_row(tx, &op.subject()).await?;
    d.audit_report_sha256 = Some(Hex(report));
    d.audit_tx_hash = Some(Hex(tx_hash));
    distribution::save(tx, &mut d).await?;
    distribution::write_event(tx, &d, "audit_declared", json!({ "report_sha256": report, "tx_hash": tx_hash })).await
}

/// Accepts the declaration of an audit report's hash, for a distribution of either method.
pub async fn declare_audit(tx: &mut Tx, d: &Distribution, report: B256, by: &Requester) -> Result<Operation> {
    if d.executed_at.is_none() {
        return Err(d.illegal("The distribution is not executed yet, so there is nothing to audit."));
    }
    if d.audit_report_sha256.is_some_and(|known| known.0 != report) {
        return Err(d.illegal("Another report is already declared for this distribution."));
    }
    let lane = payer::lane_of(tx, d.chain_id, d.funding_wallet.0).await?;
    let escrow = contract::only(tx, d.chain_id, ContractKind::Distributor).await?;
    let data = distributor::declare_audit(Address::ZERO, escrow, d.chain_key(), d.token_address.0, report).data;
    let steps = vec![payout::step("declareAudit", escrow, &data)];
    let mut new = payout::new_operation(d, &lane, Kind::AuditDeclaration, payout::payload(d), steps, by);
    new.live_key = Some(format!("audit_declaration:{}", d.id));
    let op = operation::insert(tx, new).await?;
    queue::first_wake(tx, &op).await?;
    Ok(op)
}
