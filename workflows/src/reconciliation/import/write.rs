//! Writes a call that the chain executed as a confirmed operation.

use muniment_activities::chain::receipt::{Agreement, Receipt};
use muniment_activities::contract::operation::payload_hash;
use muniment_domain::column::{Dec, Hex};
use muniment_domain::id::OperationId;
use muniment_domain::lane::Lane;
use muniment_domain::operation::{self, Kind, Move, NewOperation, NewStep};
use muniment_domain::operation_item::{self, Item};
use muniment_domain::point::Point;
use muniment_domain::step::{self, Outcome, State};
use muniment_domain::{Code, Error, Result, claim};
use serde_json::{Value, json};

use super::{Call, Match, Origin, Subscription};
use crate::engine::conclude;
use crate::engine::execution::unavailable;
use crate::engine::known_events::{self, Known};
use crate::engine::ledger;
use crate::engine::{Engine, Network};

/// Attempts to read the events of a call.
const READS: usize = 2;
const REASON: &str = "imported after a restore";

/// Stores the operation with its step, items and history, and settles it, in one commit. A second import of the same transaction is refused
/// by its claim.
pub async fn write(engine: &Engine, network: &Network, lane: &Lane, call: &Call, actor: &str) -> Result<OperationId> {
    let receipt = proof(network, call).await?;
    read_events(engine, network, &receipt).await?;
    let hash = call.mined.hash;
    let mut tx = engine.db.begin().await?;
    let mut op = operation::insert(&mut tx, new_operation(network, call, actor)?).await?;
    operation_item::insert(&mut tx, &op.id, "subscription", &items(call)).await?;
    claim::insert(&mut tx, op.chain_id, hash, &op.id).await?;
    op.lane_id = Some(lane.id.clone());
    operation::transition(&mut tx, &mut op, Move::Adopt, actor, REASON).await?;
    let mut step = step::of_operation(&mut tx, &op.id).await?.remove(0);
    step.state = State::Final;
    step.outcome = Some(Outcome::Success);
    step.tx_hash = Some(Hex(hash));
    step.block_number = Some(receipt.block_number.cast_signed());
    step.block_hash = Some(Hex(receipt.block_hash));
    step.final_at = Some(tx.now());
    let effect = engine
        .kind(&op)
        .effect(&op, &step, &receipt)?
        .map_err(|missing| Error::refused(Code::EffectMismatch, format!("{hash}: {missing}")))?;
    step::save(&mut tx, &step, State::Unsigned).await?;
    conclude::take_effect(&mut tx, &op, &step, effect.as_ref()).await?;
    conclude::confirm(&mut tx, &mut op, hash, Move::Confirm, actor, REASON).await?;
    tx.commit(Point::Adopt).await?;
    tracing::warn!(operation.id = %op.id, tx.hash = %hash, "imported after a restore");
    Ok(op.id)
}

/// The receipt, if the endpoints agree on it and its block is final.
async fn proof(network: &Network, call: &Call) -> Result<Receipt> {
    let hash = call.mined.hash;
    let asked = async {
        let receipt = network.chain.receipts(&[hash]).await?.pop().flatten();
        let Some(receipt) = receipt else { return Ok(None) };
        let agreed = network.chain.confirm_receipt(&receipt).await? == Agreement::Agreed;
        let header = network.chain.header(receipt.block_number).await?;
        Ok(Some(receipt).filter(|r| agreed && header.is_some_and(|header| header.hash == r.block_hash)))
    };
    let receipt = asked.await.map_err(|fault| unavailable(&fault))?;
    receipt.ok_or_else(|| {
        let detail = format!("The endpoints do not agree about {hash}. It was not imported. Try again later.");
        Error::refused(Code::InvalidState, detail)
    })
}

/// Reads the events of the call into the ledger before it is imported. If an endpoint hid them once, the token is read again from the
/// start.
async fn read_events(engine: &Engine, network: &Network, receipt: &Receipt) -> Result<()> {
    for _ in 0..READS {
        ledger::index(engine, network).await?;
        let mut tx = engine.db.read().await?;
        let mut known = Known::default();
        known.read(&mut tx, network, &[receipt]).await?;
        drop(tx);
        if known_events::has_read(engine, &mut known, receipt).await? {
            return Ok(());
        }
    }
    let detail =
        format!("The events of {} are not in the ledger yet. It was not imported. Try again later.", receipt.tx_hash);
    Err(Error::refused(Code::InvalidState, detail))
}

fn new_operation(network: &Network, call: &Call, actor: &str) -> Result<NewOperation> {
    let (kind, offering_id, payload, op_number, live_key) = match &call.origin {
        Origin::Deployment(id, deployment) => {
            // An unfinished deployment of the same offering holds this live key and refuses the import.
            let live = format!("deploy_token:{id}");
            (Kind::DeployToken, id, json!({ "deployment": deployment }), None, Some(live))
        }
        Origin::Page(id, page, lines) => {
            let payload = json!({ "page": page, "unmatched_lines": unmatched(lines) });
            (Kind::Mint, id, payload, Some(page.op_id.cast_signed()), None)
        }
        Origin::Awaited(_) | Origin::Paid(_) | Origin::Unmatched(_) => {
            let detail = format!("{} cannot be imported.", call.mined.hash);
            return Err(Error::refused(Code::InvalidState, detail));
        }
    };
    let step = NewStep {
        name: if kind == Kind::Mint { "mintPage" } else { "deployToken" },
        target: call.mined.to.unwrap_or_default(),
        payload_hash: Some(payload_hash(&call.mined.data)),
        calldata: call.mined.data.to_vec(),
        op_number,
    };
    Ok(NewOperation {
        kind,
        subject_type: "offering",
        subject_id: offering_id.to_string(),
        offering_id: Some(offering_id.clone()),
        batch: None,
        chain_id: network.id(),
        lane_id: None,
        payload,
        live_key,
        requested_by: actor.to_owned(),
        request_id: None,
        idempotency_key: Some(format!("import {}", call.mined.hash)),
        steps: vec![step],
    })
}

fn items(call: &Call) -> Vec<Item> {
    let Origin::Page(_, _, lines) = &call.origin else { return Vec::new() };
    let item = |l: &Match| match &l.subscription {
        Subscription::Fits(id) => Some(Item {
            subject_id: id.to_string(),
            wallet_address: Hex(l.line.holder()),
            quantity: Dec(l.line.units()),
        }),
        Subscription::Held(..) | Subscription::Missing(_) => None,
    };
    lines.iter().filter_map(item).collect()
}

/// The lines without a subscription, which a person acknowledged. The operation keeps them.
fn unmatched(lines: &[Match]) -> Value {
    let missing = lines.iter().enumerate().filter(|(_, l)| matches!(l.subscription, Subscription::Missing(_)));
    missing.map(|(index, _)| index).collect()
}
