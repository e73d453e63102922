//! Splitting a mint page: a page that would certainly revert because of some of its lines is split once, before anything is signed. The
//! lines that the contract names become one operation of the batch, the other lines another. A bad line then fails nearly alone.

use std::collections::BTreeSet;

use alloy_primitives::{Address, Bytes};
use muniment_activities::chain::simulate::{At, Call, Simulation};
use muniment_activities::contract::line::Line;
use muniment_activities::contract::operation::payload_hash;
use muniment_activities::revert::Revert;
use muniment_activities::token;
use muniment_activities::token::mint::MintPage;
use muniment_domain::db::Tx;
use muniment_domain::id::InvestorId;
use muniment_domain::operation::{self, NewOperation, NewStep, Operation, Stage};
use muniment_domain::operation_item::{self, Item};
use muniment_domain::point::Point;
use muniment_domain::step::{self, Step};
use muniment_domain::{Result, contract, wallet};
use serde_json::{Value, json};

use crate::engine::effect;
use crate::engine::failure::Failure;
use crate::engine::page;
use crate::engine::queue;
use crate::engine::refusal::disagreement;
use crate::engine::{Engine, Network};

/// A planned split of a page.
#[derive(Clone, Debug)]
struct Split {
    page: MintPage,
    good: Vec<Line>,
    bad: Vec<Line>,
    /// The contract's reason for the first of them.
    why: String,
}

/// Splits a page if it reverts only because of some of its lines. Returns whether it did.
pub async fn split_reverting(
    engine: &Engine,
    network: &Network,
    op: &Operation,
    step: &Step,
    call: &Call,
    revert: &Revert,
) -> Result<bool, Failure> {
    let Some(split) = plan(network, op, step, call, revert).await? else { return Ok(false) };
    write(engine, op, step, split).await?;
    Ok(true)
}

/// Finds the lines that make a page revert, if the page would succeed without them. A page that was signed once, or is itself a half, stays
/// whole until a person retries it.
async fn plan(
    network: &Network,
    op: &Operation,
    step: &Step,
    call: &Call,
    revert: &Revert,
) -> Result<Option<Split>, Failure> {
    if !is_splittable(op, step) || page::is_part(op) {
        return Ok(None);
    }
    let page: MintPage = effect::payload(op, "page")?;
    let (mut named, mut last) = (BTreeSet::new(), revert.clone());
    let mut rest = page.lines.clone();
    for _ in 0..page::NAMED_MAX {
        let Some(holder) = page::holder_named(&last, &rest) else { return Ok(None) };
        named.insert(holder);
        let (bad, good): (Vec<Line>, Vec<Line>) = page.lines.iter().partition(|l| named.contains(&l.holder()));
        if good.is_empty() {
            return Ok(None);
        }
        rest.clone_from(&good);
        let smaller = MintPage { lines: good.clone(), ..page.clone() };
        let tried = Call { data: token::mint_page(call.from, step.target.0, &smaller).data, ..call.clone() };
        let fault = |fault| Failure::of_fault(&fault, Stage::Preflight);
        match network.chain.agreed_simulation(&tried, At::Latest).await.map_err(fault)? {
            Some(Simulation::Gas(_)) => return Ok(Some(Split { page, good, bad, why: revert.sentence.clone() })),
            Some(Simulation::Reverts(next)) => last = next,
            None => return Err(disagreement(&last.sentence)),
        }
    }
    Ok(None)
}

fn is_splittable(op: &Operation, step: &Step) -> bool {
    step.name == "mintPage" && page::may_split(op, step) && !op.payload.0["page"].is_null()
}

/// Takes an investor's lines out of the pages that wait to be signed, because the identity is not approved any more. The subscriptions stay
/// accepted. Of a page that is signed at the same moment one of the two is refused.
pub async fn leave_out(tx: &mut Tx, investor_id: &InvestorId, why: &str) -> Result<()> {
    let wallets = wallet::of_investor(tx, investor_id).await?;
    for id in operation_item::operations_for(tx, "subscription", investor_id).await? {
        let op = operation::find(tx, &id).await?;
        let steps = step::of_operation(tx, &id).await?;
        let Some(step) = steps.iter().find(|step| is_splittable(&op, step)) else { continue };
        let page: MintPage = effect::payload(&op, "page")?;
        let stays = |line: &&Line| !wallets.iter().any(|wallet| wallet.address.0 == line.holder());
        let rest: Vec<Line> = page.lines.iter().filter(stays).copied().collect();
        let parts = if rest.is_empty() { Vec::new() } else { vec![rest] };
        // The rest may still have lines that the contract refuses.
        apply(tx, &op, step, &page, parts, op.payload.0["split_from"].clone(), why).await?;
    }
    Ok(())
}

async fn write(engine: &Engine, op: &Operation, step: &Step, split: Split) -> Result<()> {
    let Split { page, good, bad, why } = split;
    let mut tx = engine.db.begin().await?;
    apply(&mut tx, op, step, &page, vec![good, bad], json!(op.id), &why).await?;
    tx.commit(Point::Refuse).await
}

/// Ends the page and accepts its parts. The items move with their lines, so that no subscription is in two operations.
async fn apply(
    tx: &mut Tx,
    op: &Operation,
    step: &Step,
    page: &MintPage,
    parts: Vec<Vec<Line>>,
    split_from: Value,
    why: &str,
) -> Result<()> {
    let mut op = op.clone();
    let items = operation_item::of_operation(tx, &op.id).await?;
    operation_item::release(tx, &op.id).await?;
    // This locks the row of the contract, so that two pages of a batch do not get the same place in it.
    let count = i64::try_from(parts.len()).unwrap_or(i64::MAX);
    let number = contract::reserve_op_numbers(tx, op.chain_id, step.target.0, count).await?;
    let place = match &op.batch_id {
        Some(batch_id) => operation::last_of_batch(tx, batch_id).await?,
        None => op.batch_index,
    };
    let mut payload = op.payload.0.clone();
    payload["split_from"] = split_from;
    let mut accepted = Vec::with_capacity(parts.len());
    for (offset, lines) in (0i64..).zip(parts) {
        let own: Vec<Item> =
            items.iter().filter(|i| lines.iter().any(|l| l.holder() == i.wallet_address.0)).cloned().collect();
        let page = MintPage { op_id: (number + offset).cast_unsigned(), lines, ..page.clone() };
        payload["page"] = json!(page);
        let part = insert_part(tx, &op, step, &page, payload.clone(), place + 1 + offset, &own).await?;
        accepted.push(format!("{} ({} lines)", part.id, page.lines.len()));
    }
    let into = if accepted.is_empty() { "nothing".to_owned() } else { accepted.join(" and ") };
    let message = format!("Split into {into}. The reason: {why}");
    op.live_key = None;
    page::end_split(tx, &mut op, message).await
}

async fn insert_part(
    tx: &mut Tx,
    op: &Operation,
    step: &Step,
    page: &MintPage,
    payload: Value,
    place: i64,
    items: &[Item],
) -> Result<Operation> {
    let calldata: Bytes = token::mint_page(Address::ZERO, step.target.0, page).data;
    let half = NewStep {
        name: "mintPage",
        target: step.target.0,
        payload_hash: Some(payload_hash(&calldata)),
        calldata: calldata.to_vec(),
        op_number: Some(page.op_id.cast_signed()),
    };
    let new = NewOperation {
        kind: op.kind,
        subject_type: "offering",
        subject_id: op.subject_id.clone(),
        offering_id: op.offering_id.clone(),
        batch: op.batch_id.clone().map(|batch_id| (batch_id, place)),
        chain_id: op.chain_id,
        lane_id: None,
        payload,
        live_key: None,
        requested_by: op.requested_by.clone(),
        request_id: op.request_id.clone(),
        idempotency_key: op.idempotency_key.clone().filter(|_| op.batch_id.is_some()),
        steps: vec![half],
    };
    let half = operation::insert(tx, new).await?;
    operation_item::insert(tx, &half.id, "subscription", items).await?;
    queue::first_wake(tx, &half).await?;
    Ok(half)
}
