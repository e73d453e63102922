//! Rebroadcast and fee bumps: the same transaction is sent again when a node may have lost it, the lowest nonce gets a higher fee when it
//! takes too long, and a person is asked when the fee cap leaves nothing else. This continues until the nonce is final, whatever the
//! operation's status is, so that a dead letter never blocks its lane. Time is counted in heads that were seen, so no outage makes a dead
//! letter.

use std::collections::HashSet;

use alloy_primitives::{B256, Bytes, U256};
use muniment_activities::chain::fees::{self, Bump, Fees, Market};
use muniment_activities::config::ChainConfig;
use muniment_activities::fault::Fault;
use muniment_activities::payout::calldata::spender;
use muniment_activities::signer::transaction::Transaction;
use muniment_domain::attempt::{self, Attempt, Kind};
use muniment_domain::column::Hex;
use muniment_domain::lane::{self, Lane, Mode, Stuck};
use muniment_domain::operation::{self, Move, Problem, Stage, Status};
use muniment_domain::point::Point;
use muniment_domain::step::{self, Step};
use muniment_domain::{Error, Result, chain, command, lane_state};

use crate::engine::failure::Failure;
use crate::engine::{Engine, Network};
use crate::engine::{chain_identity, send, submit, wait};

/// Heads after which a transaction that is in no block is sent to every endpoint: one may keep it to itself.
const HEADS_TO_ONE: u64 = 2;
/// The code of an operation whose fee cannot rise and whose transaction is not included.
const STUCK: &str = "stuck";

/// Looks after every lane of a chain. Stored bytes are sent again without their key; only a higher fee needs it.
pub async fn rebroadcast(engine: &Engine, network: &Network) -> Result<()> {
    let mut open = HashSet::new();
    for (lane, sent) in lanes(engine, network).await? {
        rebroadcast_lane(engine, network, &lane, &sent).await?;
        open.extend(sent.hashes());
    }
    network.keep_ages(&open);
    Ok(())
}

/// Raises the fees of the lanes whose keys this process has, while another process follows the chain: that one may not have the keys.
/// Where it has them, it is first, because this process waits twice as long.
pub async fn raise_own(engine: &Engine, network: &Network) -> Result<()> {
    if network.signers.is_empty() {
        return Ok(());
    }
    let mut tx = engine.db.read().await?;
    let cursor = chain::find(&mut tx, network.id()).await?;
    drop(tx);
    network.count_followed(cursor.map_or(0, |cursor| cursor.head_number));
    let mut open = HashSet::new();
    for (lane, sent) in lanes(engine, network).await? {
        raise_lowest(engine, network, &lane, &sent, 2).await?;
        open.extend(sent.hashes());
    }
    network.keep_ages(&open);
    Ok(())
}

/// What was signed in a lane and is in no block.
struct Sent {
    steps: Vec<Step>,
    attempts: Vec<Attempt>,
}

impl Sent {
    fn hashes(&self) -> impl Iterator<Item = B256> {
        self.attempts.iter().map(|attempt| attempt.tx_hash.0)
    }

    fn newest_of(&self, step: &Step) -> Option<&Attempt> {
        self.attempts.iter().rfind(|attempt| Some(attempt.nonce) == step.nonce)
    }
}

/// The lanes from which something may be sent, with what was sent from them.
async fn lanes(engine: &Engine, network: &Network) -> Result<Vec<(Lane, Sent)>> {
    let mut tx = engine.db.read().await?;
    // A halted chain may be a different chain, so nothing is sent to it, not even a known transaction.
    if chain::find(&mut tx, network.id()).await?.is_none_or(|c| c.halted_reason.is_some()) {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for lane in lane::of_chain(&mut tx, network.id()).await? {
        // In quarantine nothing is sent, not even again: the chain and the database disagree about the key.
        let steps =
            if lane.mode == Mode::Quarantined { Vec::new() } else { step::signed_of_lane(&mut tx, &lane.id).await? };
        if !steps.is_empty() {
            let attempts = attempt::pending_of_lane(&mut tx, &lane.id).await?;
            found.push((lane, Sent { steps, attempts }));
        }
    }
    Ok(found)
}

async fn rebroadcast_lane(engine: &Engine, network: &Network, lane: &Lane, sent: &Sent) -> Result<()> {
    let now = engine.db.clock().now();
    raise_lowest(engine, network, lane, sent, 1).await?;
    let (mut again, mut to_all) = (Vec::new(), Vec::new());
    // Those above are signed ahead, and a full lane may hold back the last of the others until it sends several.
    let mut most = usize::try_from(network.in_flight_max()).unwrap_or(usize::MAX);
    if sent.steps.len() > most {
        most -= network.sent_together().saturating_sub(1);
    }
    for step in sent.steps.iter().take(most) {
        if let Some(newest) =
            sent.newest_of(step).filter(|a| send::is_silent(a, now, network.chain.config.block_seconds.max(1)))
        {
            let waits = network.heads_since(newest.tx_hash.0) >= HEADS_TO_ONE;
            if waits { to_all.push(newest) } else { again.push(newest) }
        }
    }
    send::send(engine, network, again).await?;
    send::send_to_all(engine, network, to_all).await
}

/// Raises the fee of the lowest nonce, if this process has the key and the transaction has waited so many times as long as the
/// configuration says. The lowest nonce delays all later ones, so only its fee is raised, and only it can be stuck.
async fn raise_lowest(engine: &Engine, network: &Network, lane: &Lane, sent: &Sent, times: u64) -> Result<()> {
    let Some(step) = sent.steps.first().filter(|_| network.signers.contains_key(&lane.signer.0)) else {
        return Ok(());
    };
    let Some(newest) = sent.newest_of(step) else { return Ok(()) };
    let config = &network.chain.config;
    let heads = |seconds: u64| seconds.div_ceil(config.block_seconds.max(1)).max(1);
    if newest.sent_at.is_none() || network.heads_since(newest.tx_hash.0) < times * heads(config.bump_after_seconds) {
        return Ok(());
    }
    let mut tx = engine.db.read().await?;
    let op = operation::find(&mut tx, &step.operation_id).await?;
    drop(tx);
    let is_used = lane.chain_nonce_finalized.is_some_and(|used| newest.nonce < used);
    if is_used && op.blocked_reason.as_ref().is_some_and(|reason| reason.starts_with(wait::NONCE_UNEXPLAINED)) {
        return Ok(());
    }
    // A higher fee is no help for somebody who cannot pay the present one.
    if newest.last_answer.as_ref().is_some_and(|answer| answer.starts_with(attempt::UNFUNDED)) {
        return wait::show(engine, op, Some(submit::unfunded(lane))).await;
    }
    match raise(engine, network, newest, config.bump_percent).await {
        Raise::To(fees) => {
            wait::show(engine, op, None).await?;
            replace(engine, network, lane, step, newest, fees).await
        }
        Raise::AtCap(market) => {
            let waited = network.heads_at_cap(&lane.id, newest.tx_hash.0, op.submitted_at);
            if waited >= heads(config.stuck_after_seconds) {
                return give_up(engine, step, newest, market).await;
            }
            let above = (market.base_fee > config.max_fee_per_gas_cap()).then(|| network.above_cap(market.base_fee));
            wait::show(engine, op, above).await
        }
        Raise::Unknown(fault) => {
            tracing::info!(lane.id = %lane.id, lane.nonce = newest.nonce, "the fee is looked at again later: {fault}");
            Ok(())
        }
    }
}

/// Whether a transaction can get a higher fee.
#[derive(Debug)]
pub enum Raise {
    /// Fees with which every node accepts a replacement.
    To(Fees),
    /// The fee cap leaves no room.
    AtCap(Market),
    /// The market cannot be asked now. This is no verdict.
    Unknown(Fault),
}

/// The fees of a replacement of the newest attempt that pays at least so much more.
pub async fn raise(engine: &Engine, network: &Network, newest: &Attempt, percent: u64) -> Raise {
    let config = &network.chain.config;
    let old =
        Fees { max_fee_per_gas: newest.max_fee_per_gas.0, max_priority_fee_per_gas: newest.max_priority_fee_per_gas.0 };
    let market = match network.market(engine.db.clock().now()).await {
        Ok(market) => market,
        Err(fault) => return Raise::Unknown(fault),
    };
    match fees::bump(old, percent, market.offer, config.max_fee_per_gas_cap()) {
        Bump::Raised(fees) => Raise::To(fees),
        Bump::AtCap => Raise::AtCap(market),
    }
}

/// The transaction of the newest attempt of a nonce, with other fees. Once a cancel is stored, the original must not get a better chance
/// than the cancel.
pub fn replacement(
    config: &ChainConfig,
    lane: &Lane,
    step: &Step,
    newest: &Attempt,
    fees: Fees,
) -> (Kind, Transaction) {
    let (nonce, gas_limit) = (newest.nonce.cast_unsigned(), newest.gas_limit.cast_unsigned());
    if newest.kind == Kind::Cancel {
        return (Kind::Cancel, Transaction::cancel(config.chain_id, lane.signer.0, nonce, gas_limit, fees));
    }
    let call = Transaction {
        chain_id: config.chain_id,
        nonce,
        to: Some(step.target.0),
        data: Bytes::from(step.calldata.clone()),
        value: U256::ZERO,
        gas_limit,
        max_fee_per_gas: fees.max_fee_per_gas,
        max_priority_fee_per_gas: fees.max_priority_fee_per_gas,
    };
    (Kind::Bump, call)
}

async fn replace(
    engine: &Engine,
    network: &Network,
    lane: &Lane,
    step: &Step,
    newest: &Attempt,
    fees: Fees,
) -> Result<()> {
    let (kind, transaction) = replacement(&network.chain.config, lane, step, newest, fees);
    store_and_send(engine, network, lane, newest, kind, &transaction, Point::Bump).await?;
    Ok(())
}

/// The result of a replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stored {
    /// The replacement is stored and was sent.
    Yes,
    /// Nothing was written, for this reason.
    No(String),
}

/// Stores a replacement of an attempt, and then sends it. If the step changed meanwhile, nothing is written.
pub async fn store_and_send(
    engine: &Engine,
    network: &Network,
    lane: &Lane,
    newest: &Attempt,
    kind: Kind,
    transaction: &Transaction,
    point: Point,
) -> Result<Stored> {
    if lane.mode == Mode::Quarantined {
        return Ok(Stored::No(format!("lane_quarantined: {}", lane.mode_reason.clone().unwrap_or_default())));
    }
    let anchor = lane_state::find(&mut engine.db.read().await?, &lane.id).await?.anchor;
    if let Some(doubt) = chain_identity::signing_refusal(network, &anchor).await {
        tracing::warn!(operation.id = %newest.operation_id, "a replacement was not signed: {doubt}");
        return Ok(Stored::No(doubt));
    }
    if kind == Kind::Bump {
        let mut tx = engine.db.read().await?;
        let op = operation::find(&mut tx, &newest.operation_id).await?;
        let steps = step::of_operation(&mut tx, &op.id).await?;
        let bumped = steps.iter().find(|step| step.position == newest.position);
        if let Some(why) = bumped.and_then(|step| submit::changed(&op, step)) {
            return Ok(Stored::No(format!("{}: {}", why.code, why.message)));
        }
    }
    // An allowance names a contract that it does not call. The signing policy needs that contract too.
    let named = transaction.to.into_iter().chain(spender(&transaction.data)).collect::<Vec<_>>();
    let gate = engine.gate(network, &named).await?;
    let signed = match submit::sign_one(network, &gate, lane.signer.0, transaction, U256::ZERO).await {
        Ok(signed) => signed,
        Err(Failure::Domain(error)) => return Err(error),
        Err(other) => {
            tracing::warn!(operation.id = %newest.operation_id, "a replacement was not signed: {other:?}");
            return Ok(Stored::No(format!("{other:?}")));
        }
    };
    let mut tx = engine.db.begin().await?;
    step::lock_row(&mut tx, &newest.operation_id, newest.position).await?;
    let op = operation::find(&mut tx, &newest.operation_id).await?;
    let steps = step::of_operation(&mut tx, &op.id).await?;
    let open = steps.iter().any(|s| s.position == newest.position && s.state == step::State::Signed);
    let all = attempt::of_operation(&mut tx, &op.id).await?;
    let last = all.iter().rfind(|a| a.position == newest.position && a.cycle == newest.cycle);
    if !open || last.is_none_or(|a| a.tx_hash != newest.tx_hash) {
        return Ok(Stored::No("the step changed meanwhile".to_owned()));
    }
    let number = newest.number + 1;
    let mut attempt = submit::new_attempt(engine, &op, newest.position, number, kind, &lane.id, transaction, &signed);
    attempt.cycle = newest.cycle;
    attempt::insert(&mut tx, std::slice::from_ref(&attempt)).await?;
    // Marked in this commit, so that a command whose answer was lost is not carried out twice.
    if kind == Kind::Cancel {
        command::complete(&mut tx, &op.id, command::Kind::Noop, "racing").await?;
    }
    if point == Point::SpeedUp {
        command::complete(&mut tx, &op.id, command::Kind::SpeedUp, "replaced").await?;
    }
    tx.commit(point).await?;
    tracing::info!(operation.id = %op.id, attempt.number = number, attempt.kind = %kind, tx.hash = %Hex(signed.hash), "replaced");
    send::send(engine, network, vec![&attempt]).await?;
    Ok(Stored::Yes)
}

/// Asks for a person when the fee has been at its cap for so many blocks. The transaction stays valid: it is sent again, and counts if it is
/// included.
async fn give_up(engine: &Engine, step: &Step, newest: &Attempt, market: Market) -> Result<()> {
    let mut tx = engine.db.begin().await?;
    let mut op = operation::find(&mut tx, &step.operation_id).await?;
    if op.status != Status::Submitted {
        return Ok(());
    }
    let message = format!(
        "Nonce {} is not included although its fee of {} wei cannot be raised below the cap; the chain's base fee is {} wei. Wait, raise the \
         cap and speed it up, or cancel it.",
        newest.nonce, newest.max_fee_per_gas, market.base_fee
    );
    op.set_problem(Some(Problem {
        stage: Stage::Tracking,
        code: STUCK.to_owned(),
        message: message.clone(),
        data: None,
    }));
    tracing::error!(operation.id = %op.id, "{message}");
    match operation::transition(&mut tx, &mut op, Move::GiveUp, "engine", &message).await {
        Err(Error::Stale { .. }) => return Ok(()),
        moved => moved?,
    }
    let stuck = Stuck { lane_id: &newest.lane_id, operation_id: &op.id, nonce: newest.nonce, code: STUCK };
    lane::report_stuck(&mut tx, &stuck).await?;
    tx.commit(Point::DeadLetter).await
}
