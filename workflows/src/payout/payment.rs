//! The payment of a list: its pages become operations, and what is final of them is written down.

use alloy_primitives::{Address, B256, Bytes};
use muniment_activities::contract::line::{Line, LineOutcome};
use muniment_activities::contract::operation::payload_hash;
use muniment_activities::payout::coin::LineTransfer;
use muniment_activities::payout::direct::{self, PayoutPage};
use muniment_domain::approval::{self, Approval};
use muniment_domain::column::Dec;
use muniment_domain::db::Tx;
use muniment_domain::distribution::{self, Distribution, Method, Move, Scope, Status};
use muniment_domain::entitlement::{self, Entitlement, HoldReason, Paid};
use muniment_domain::id::{DistributionId, OperationId, of};
use muniment_domain::lane::Lane;
use muniment_domain::operation::{self, Kind, NewOperation, NewStep, Operation};
use muniment_domain::operation_item::{self, Item};
use muniment_domain::{Code, Error, Result, contract, user};
use serde_json::{Value, json};

use crate::engine::queue;
use crate::payout::allowance;
use crate::payout::payee::Payees;
use crate::payout::shortfall::Shortfall;
use crate::payout::{distribution as people, distributor as distributor_payout, payer, withheld};
use crate::requester::Requester;
use crate::settings::Settings;

/// The limit of lines in one transaction: the token reports the frozen ones in one 256-bit word.
pub const LINES_MAX: usize = 256;

/// An accepted payout.
#[derive(Clone, Debug)]
pub struct Accepted {
    /// The distribution after the move.
    pub distribution: Distribution,
    /// The operations that pay it.
    pub operations: Vec<Operation>,
}

/// The entitlements of a distribution that can be paid now, exactly as approved. A refusal names the obstacle.
pub async fn due(tx: &mut Tx, id: &DistributionId) -> Result<(Distribution, Vec<Entitlement>)> {
    let d = distribution::find(tx, &Scope::All, id).await?;
    distribution::allowed(&d, Move::Execute)?;
    if d.payment_date > tx.now() {
        let detail = format!("The payment date {} is not reached yet.", d.payment_date.to_rfc3339());
        return Err(d.illegal(detail).with_until(d.payment_date));
    }
    let list = match people::approved_list(tx, &d).await {
        Ok(list) => list,
        Err(differs) => {
            // If somebody executed it between the two reads, that is the reason to name, not the changed list.
            distribution::allowed(&distribution::find(tx, &Scope::All, id).await?, Move::Execute)?;
            return Err(differs);
        }
    };
    if list.is_empty() {
        return Err(Error::refused(
            Code::NothingToPay,
            "No entitlement of this distribution can be paid now. All of them are held.",
        ));
    }
    // An entitlement that is released while its investor is suspended escapes the suspension.
    let payees = Payees::of(tx, &list).await?.ignoring_freezes();
    list.iter().filter(|e| e.net > 0).try_for_each(|e| payees.admit(&mut e.clone()))?;
    Ok((d, list))
}

/// Accepts the payment of the approved list. [`crate::payout::funding`] checks the payer's balance before.
pub async fn execute(tx: &mut Tx, settings: &Settings, id: &DistributionId, by: &Requester) -> Result<Accepted> {
    let (mut d, list) = due(tx, id).await?;
    let approval = decided(tx, &d).await?;
    check_executor(tx, approval.as_ref(), by).await?;
    distribution::transition(tx, &mut d, Move::Execute, &by.actor, "the payout was requested").await?;
    let operations = pay_list(tx, settings, &d, &list, by).await?;
    if let (Some(Approval { id, .. }), Some(first)) = (&approval, operations.first()) {
        // Several operations are linked by their batch, a single one by its id.
        let alone = first.batch_id.is_none().then_some(&first.id);
        approval::link(tx, id, alone, first.batch_id.as_ref()).await?;
    }
    Ok(Accepted { distribution: d, operations })
}

/// The approval under which the list is paid. One that lapsed before the list was approved otherwise does not count.
async fn decided(tx: &mut Tx, d: &Distribution) -> Result<Option<Approval>> {
    let Some(id) = &d.approval_id else { return Ok(None) };
    Ok(Some(approval::find(tx, id).await?).filter(|asked| asked.status == approval::Status::Executed))
}

/// Refuses the approver, unless a member of the staff submitted the distribution. An issuer can be another account of the approver, who
/// would then pay alone.
async fn check_executor(tx: &mut Tx, asked: Option<&Approval>, by: &Requester) -> Result<()> {
    let Some(asked) = asked else { return Ok(()) };
    if asked.checker.as_deref() != Some(by.actor.as_str()) {
        return Ok(());
    }
    // The roles of now: to become staff takes two people, and a submitter who lost that access counts as an outsider.
    if user::find(tx, &asked.maker.as_str().into()).await?.is_working_staff() {
        return Ok(());
    }
    let detail = "You approved this payout, and its submitter is not a member of the staff. Another member of the staff must execute it.";
    Err(Error::refused(Code::SelfApprovalForbidden, detail))
}

/// The operations that pay the approved list of a distribution, whether or not it is due. A simulation writes them and takes them back.
pub async fn pay_approved(
    tx: &mut Tx,
    settings: &Settings,
    id: &DistributionId,
    by: &Requester,
) -> Result<Vec<Operation>> {
    let d = distribution::find(tx, &Scope::All, id).await?;
    let list = people::approved_list(tx, &d).await?;
    pay_list(tx, settings, &d, &list, by).await
}

async fn pay_list(
    tx: &mut Tx,
    settings: &Settings,
    d: &Distribution,
    list: &[Entitlement],
    by: &Requester,
) -> Result<Vec<Operation>> {
    match d.method {
        Method::DirectPayout => pay(tx, settings, d, list, by).await,
        Method::Distributor => distributor_payout::pay(tx, settings, d, list, by).await,
    }
}

/// Splits a list into pages, each an operation. If the token has no allowance from the payer yet, the allowance comes first and the pages
/// wait.
pub async fn pay(
    tx: &mut Tx,
    settings: &Settings,
    d: &Distribution,
    list: &[Entitlement],
    by: &Requester,
) -> Result<Vec<Operation>> {
    let lane = payer::lane_of(tx, d.chain_id, d.funding_wallet.0).await?;
    let batch_id = tx.new_id::<of::Batch>();
    let mut operations = Vec::new();
    let waits = allowance::ensure(tx, d, d.token_address.0, &lane, &batch_id, by).await?;
    let first_page = i64::from(matches!(waits, allowance::AllowanceState::Requested(_)));
    let must_wait = !matches!(waits, allowance::AllowanceState::Granted);
    operations.extend(waits.operation());
    let pages: Vec<&[Entitlement]> = list.chunks(settings.payout_page_holders.clamp(1, LINES_MAX)).collect();
    let count = i64::try_from(pages.len()).unwrap_or(i64::MAX);
    let first = contract::reserve_op_numbers(tx, d.chain_id, d.token_address.0, count).await?;
    let mut wanted = Vec::with_capacity(pages.len());
    for (index, page) in (0i64..).zip(&pages) {
        let step = page_step(d, first + index, page)?;
        let new = new_operation(d, &lane, Kind::Payout, payload(d), vec![step], by);
        wanted.push(NewOperation { batch: Some((batch_id.clone(), first_page + index)), ..new });
    }
    let mut waiting = operation::insert_all(tx, wanted).await?;
    assign(tx, d, &waiting.iter().zip(pages).collect::<Vec<_>>()).await?;
    if must_wait {
        allowance::wait(&mut waiting);
        operation::save_all(tx, &mut waiting).await?;
    } else {
        queue::line_up(tx, &mut waiting).await?;
    }
    operations.append(&mut waiting);
    Ok(operations)
}

/// Stores an operation with the entitlements that it pays.
pub async fn insert(tx: &mut Tx, d: &Distribution, new: NewOperation, list: &[Entitlement]) -> Result<Operation> {
    let op = operation::insert(tx, new).await?;
    assign(tx, d, &[(&op, list)]).await?;
    Ok(op)
}

/// Assigns entitlements to new operations, in the order of their lines.
async fn assign(tx: &mut Tx, d: &Distribution, paid: &[(&Operation, &[Entitlement])]) -> Result<()> {
    let (mut lines, mut places) = (Vec::new(), Vec::new());
    for (op, list) in paid {
        lines.extend(items(d, list).into_iter().map(|item| (&op.id, item)));
        places.extend((0i64..).zip(*list).map(|(line, e)| (op.id.as_str(), line, e.id.as_str())));
    }
    let lines: Vec<(&OperationId, &Item)> = lines.iter().map(|(op, item)| (*op, item)).collect();
    operation_item::insert_all(tx, "entitlement", &lines).await?;
    entitlement::queue(tx, &places).await
}

/// The items of an operation that pays these entitlements.
pub fn items(d: &Distribution, list: &[Entitlement]) -> Vec<Item> {
    let item = |e: &Entitlement| Item {
        subject_id: e.id.to_string(),
        wallet_address: e.payee_address,
        quantity: Dec(d.units(e.net)),
    };
    list.iter().map(item).collect()
}

/// The lines of a list, in the contracts' format.
pub fn lines(d: &Distribution, list: &[Entitlement]) -> Result<Vec<Line>> {
    let line = |e: &Entitlement| Line::new(e.payee_address.0, d.units(e.net));
    list.iter().map(line).collect::<Result<_, _>>().map_err(|e| Error::refused(Code::ValidationFailed, e.to_string()))
}

/// The step that pays a page under an operation number of the token.
pub fn page_step(d: &Distribution, op_number: i64, page: &[Entitlement]) -> Result<NewStep> {
    let lines = lines(d, page)?;
    let name = direct::function(lines.len());
    let page = PayoutPage { op_id: op_number.cast_unsigned(), asset: d.payout_token.0, lines };
    let data = direct::pay(Address::ZERO, d.token_address.0, &page).data;
    Ok(NewStep { op_number: Some(op_number), ..step(name, d.token_address.0, &data) })
}

/// A step, ready to be stored.
pub fn step(name: &'static str, target: Address, data: &Bytes) -> NewStep {
    NewStep { name, target, calldata: data.to_vec(), op_number: None, payload_hash: Some(payload_hash(data)) }
}

/// The payload of a payout operation.
pub fn payload(d: &Distribution) -> Value {
    json!({ "distribution_id": d.id, "payer": d.funding_wallet.to_string(), "asset": d.payout_token.to_string() })
}

/// An operation of a distribution, on the lane of its payer: only the payer's key moves the payer's money.
pub fn new_operation(
    d: &Distribution,
    lane: &Lane,
    kind: Kind,
    payload: Value,
    steps: Vec<NewStep>,
    by: &Requester,
) -> NewOperation {
    NewOperation {
        kind,
        subject_type: "distribution",
        subject_id: d.id.to_string(),
        offering_id: Some(d.offering_id.clone()),
        batch: None,
        chain_id: d.chain_id,
        lane_id: Some(lane.id.clone()),
        payload,
        live_key: None,
        requested_by: by.actor.clone(),
        request_id: by.request_id.clone(),
        idempotency_key: by.idempotency_key.clone(),
        steps,
    }
}

/// Settles final lines of a transaction: paid ones get a receipt, and those that the distributor keeps are held.
pub async fn settle(
    tx: &mut Tx,
    op: &Operation,
    first_line: i64,
    outcomes: &[LineOutcome],
    tx_hash: B256,
    block_number: i64,
) -> Result<()> {
    let d = distribution::lock_row(tx, &op.subject()).await?;
    let kept = |(line, outcome): (i64, &LineOutcome)| Some((line, hold_reason(op, line, *outcome)?));
    let kept: Vec<_> = (first_line..).zip(outcomes).filter_map(kept).collect();
    entitlement::withhold(tx, &op.id, &kept).await?;
    let payees: Vec<_> =
        outcomes.iter().map(|o| if let LineOutcome::Paid(payee) = o { Some(*payee) } else { None }).collect();
    let paid = Paid { operation_id: &op.id, first_line, payees: &payees, tx_hash, block_number };
    entitlement::set_paid(tx, &d, &paid).await?;
    finish(tx, d).await
}

/// Gives up a page that was executed without its whole effect. A holder whom the coin paid exactly is paid, a holder with another amount is
/// held for a person to decide, what the distributor keeps stays withheld, and the others are unpaid.
pub async fn fall_short(tx: &mut Tx, op: &Operation, short: &Shortfall) -> Result<()> {
    if op.subject_type != "distribution" || op.kind == Kind::AuditDeclaration {
        return Ok(());
    }
    let d = distribution::lock_row(tx, &op.subject()).await?;
    let mut held = Vec::new();
    for payment in &short.payments {
        let first_line = payment.first_line;
        let lines = (first_line..).take(payment.lines);
        match payment.shown {
            (LineOutcome::Paid(payee), Some(LineTransfer::Exact)) => {
                let (tx_hash, block_number) = (short.tx_hash, short.block_number);
                let payees = vec![Some(payee); payment.lines];
                let paid = Paid { operation_id: &op.id, first_line, payees: &payees, tx_hash, block_number };
                entitlement::set_paid(tx, &d, &paid).await?;
            }
            (_, Some(LineTransfer::OtherAmount(_))) => held.extend(lines.map(|line| (line, HoldReason::Operator))),
            (_, Some(LineTransfer::Missing)) => {}
            (kept, _) => held.extend(lines.filter_map(|line| Some((line, hold_reason(op, line, kept)?)))),
        }
    }
    entitlement::withhold(tx, &op.id, &held).await?;
    entitlement::fail(tx, &op.id).await.map(drop)
}

/// Why a line is held after a payment through the distributor, if it is.
fn hold_reason(op: &Operation, line: i64, outcome: LineOutcome) -> Option<HoldReason> {
    match outcome {
        LineOutcome::Paid(_) => None,
        LineOutcome::Frozen => Some(HoldReason::WithheldFrozen),
        LineOutcome::TransferFailed => Some(HoldReason::WithheldTransferFailed),
        LineOutcome::Kept => Some(withheld::before(op, line).unwrap_or(HoldReason::WithheldTransferFailed)),
    }
}

/// Gives up an operation without effect: its entitlements can be paid by another one.
pub async fn give_up(tx: &mut Tx, op: &Operation) -> Result<()> {
    if op.subject_type != "distribution" || op.kind == Kind::AuditDeclaration {
        return Ok(());
    }
    let d = distribution::lock_row(tx, &op.subject()).await?;
    if !withheld::give_up(tx, op).await? {
        entitlement::fail(tx, &op.id).await?;
    }
    finish(tx, d).await
}

/// Ends a distribution when none of its entitlements is in an operation any more.
pub async fn finish(tx: &mut Tx, mut d: Distribution) -> Result<()> {
    if entitlement::any_queued(tx, &d.id).await? {
        return Ok(());
    }
    let left = entitlement::totals(tx, &d.id).await?.left;
    let by = if left == 0 { Move::Complete } else { Move::CompletePartly };
    if d.status.next(by).is_none() {
        return Ok(());
    }
    let reason =
        if left == 0 { "every entitlement is paid".to_owned() } else { format!("{left} entitlements are not paid") };
    distribution::transition(tx, &mut d, by, "engine", &reason).await
}

/// Reopens a partially completed distribution, because one of its entitlements is paid now.
pub async fn resume(tx: &mut Tx, d: &mut Distribution, by: &Requester) -> Result<()> {
    if d.status == Status::PartiallyCompleted {
        distribution::transition(tx, d, Move::Resume, &by.actor, "an unpaid entitlement is paid now").await?;
    }
    Ok(())
}
