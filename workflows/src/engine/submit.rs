//! Signing and storing. Nonces are taken in the commit that stores the bytes signed for them, and only stored bytes are sent.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::{Address, Bytes, U256};
use futures::future::{BoxFuture, FutureExt};
use muniment_activities::contract::operation::payload_hash;
use muniment_activities::payout::calldata::spender;
use muniment_activities::signer::policy::{Permit, PolicyGate};
use muniment_activities::signer::transaction::{Signed, Transaction};
use muniment_domain::attempt::{self, Attempt, Kind};
use muniment_domain::column::{Dec, Hex};
use muniment_domain::db::Tx;
use muniment_domain::id::{LaneId, OperationId};
use muniment_domain::lane::{self, Lane, Mode};
use muniment_domain::lane_state::{self, LaneState};
use muniment_domain::operation::{self, Move, Operation, Problem, Stage, Status};
use muniment_domain::point::Point;
use muniment_domain::step::{self, State, Step};
use muniment_domain::{Error, Result};

use crate::engine::blocks::FOR_SIGNATURES;
use crate::engine::commits::{Patience, Writes};
use crate::engine::failure::Failure;
use crate::engine::payout_limit::{self, Day};
use crate::engine::prepare::{NO_SIGNER, Prepared};
use crate::engine::queue;
use crate::engine::record::{self, When};
use crate::engine::{Engine, Network};
use crate::engine::{chain_identity, send};

/// Attempts to commit when another process takes nonces of the lane at the same time.
const RACES_MAX: usize = 8;
/// How long the signatures of a lane wait for those of others, while the node has other transactions of the lane.
const FOR_OTHERS: Duration = Duration::from_millis(8);
/// Time limit of one signature, so that a key on a slow disk does not block the lane. Signing is computation by local keys: done in parallel,
/// it would not be faster for one lane, and the lanes sign side by side.
const SIGN_SECONDS: u64 = 10;

/// Signs prepared steps of one lane in one commit, as far as the node may have more of its transactions, and sends them. Returns the steps
/// that do not fit.
pub async fn submit(
    engine: &Engine,
    network: &Network,
    lane_id: &LaneId,
    batch: Vec<Prepared>,
) -> Result<Vec<Prepared>> {
    let state = lane_state::find(&mut engine.db.read().await?, lane_id).await?;
    let stored = store(engine, network, state, 0, network.in_flight_max(), batch).await?;
    send::send(engine, network, stored.attempts.iter().collect()).await?;
    Ok(stored.rest)
}

/// What a lane has stored.
#[derive(Default)]
pub struct Stored {
    /// The attempts to send.
    pub attempts: Vec<Attempt>,
    /// The steps that do not fit.
    pub rest: Vec<Prepared>,
}

impl Stored {
    fn nothing(rest: Vec<Prepared>) -> Self {
        Self { rest, ..Self::default() }
    }
}

/// Signs and stores prepared steps of a lane in this state, of which the next commit of the follower includes so many, until this number of
/// its steps is signed and not included.
pub async fn store(
    engine: &Engine,
    network: &Network,
    mut state: LaneState,
    mut coming: i64,
    signed_max: i64,
    mut batch: Vec<Prepared>,
) -> Result<Stored> {
    for race in 0..RACES_MAX {
        if race > 0 {
            // The follower's commit has ended by now.
            coming = 0;
            state = lane_state::find(&mut engine.db.read().await?, &state.lane.id).await?;
        }
        let LaneState { lane, in_flight, unfunded, anchor, .. } = state.clone();
        if lane.mode != Mode::Active || unfunded {
            drop_moved(engine, &mut batch).await?;
            postpone(engine, batch, &stopped(&lane, unfunded)).await?;
            return Ok(Stored::default());
        }
        let room = signed_max.saturating_sub(in_flight - coming).max(0);
        let most = usize::try_from(room).unwrap_or(0).min(engine.settings.sign_batch.max(1));
        if most == 0 || batch.is_empty() {
            drop_moved(engine, &mut batch).await?;
            return Ok(Stored::nothing(batch));
        }
        // Side by side, because the lane stands still until the last of them is answered.
        let (gate, day, doubt) = futures::join!(
            gate(engine, network, &batch),
            payout_limit::today(engine, network, &batch),
            chain_identity::signing_refusal(network, &anchor),
        );
        let (gate, mut day) = (gate?, day?);
        // The commit compares the versions. Only after it has failed is it worth a statement to find out whose is another.
        if race > 0 {
            drop_moved(engine, &mut batch).await?;
        }
        if let Some(doubt) = doubt {
            postpone(engine, batch, &doubt).await?;
            return Ok(Stored::default());
        }
        let rest = batch.split_off(batch.len().min(most));
        if batch.is_empty() {
            return Ok(Stored::nothing(rest));
        }
        let (signed, refused) = sign(engine, network, &lane, &gate, batch, &mut day).await?;
        for (prepared, failure) in refused {
            fail(engine, prepared.op, failure).await?;
        }
        if signed.is_empty() {
            return Ok(Stored::nothing(rest));
        }
        let signed = Arc::new(Signatures { lane, signed, day });
        let patience = patience(network, coming > 0, in_flight > 0);
        match engine.commit(network.id(), Point::Sign, patience, signed.clone()).await {
            Ok(()) => {
                release(engine, network, &signed.signed).await?;
                let attempts = signed.signed.iter().map(|(_, attempt)| attempt.clone()).collect();
                return Ok(Stored { attempts, rest });
            }
            // Nothing was written and nothing was sent, so the signed transactions can be dropped and their nonces used again.
            Err(Error::Stale { .. }) => {
                batch = signed.signed.iter().map(|(prepared, _)| prepared.clone()).collect();
                batch.extend(rest);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(Stored::nothing(batch))
}

/// How long the signatures of a lane wait: for the follower and the other lanes in the room of the same blocks, or for other lanes.
fn patience(network: &Network, has_coming_room: bool, is_busy: bool) -> Patience {
    match network.room.announced() {
        lanes if has_coming_room && lanes > 0 => Patience::until(lanes + 1, FOR_SIGNATURES),
        _ if is_busy && network.signers.len() > 1 => FOR_OTHERS.into(),
        _ => Patience::NONE,
    }
}

/// What these operations waited for has ended, or they would not have been signed: all others that wait for it go on.
async fn release(engine: &Engine, network: &Network, signed: &SignedBatch) -> Result<()> {
    let causes = signed.iter().filter_map(|(prepared, _)| prepared.op.blocked_reason.as_deref());
    let causes: BTreeSet<&str> = causes.filter(|cause| *cause != operation::WAITS_FOR_LANE).collect();
    if causes.is_empty() {
        return Ok(());
    }
    for cause in causes {
        loop {
            let mut tx = engine.db.begin().await?;
            let released = queue::release(&mut tx, network.id(), cause).await?;
            if released == 0 {
                break;
            }
            tracing::info!(chain.id = network.id(), "{released} operations go on");
            tx.commit(Point::Sweep).await?;
            network.room.look_again();
            if released < queue::RELEASED_PER_COMMIT.cast_unsigned() {
                break;
            }
        }
    }
    Ok(())
}

fn stopped(lane: &Lane, unfunded: bool) -> String {
    if unfunded {
        return self::unfunded(lane);
    }
    format!("lane_{}: {}", lane.mode, lane.mode_reason.clone().unwrap_or_default())
}

/// The reason of a lane whose signer cannot pay.
pub fn unfunded(lane: &Lane) -> String {
    format!("signer_unfunded: the account {} cannot pay for its next transaction; fund it", lane.signer.0)
}

/// Drops operations that changed since their preparation: they would waste their nonces.
async fn drop_moved(engine: &Engine, batch: &mut Vec<Prepared>) -> Result<()> {
    if batch.is_empty() {
        return Ok(());
    }
    let ids: Vec<&OperationId> = batch.iter().map(|prepared| &prepared.op.id).collect();
    let versions = operation::versions(&mut engine.db.read().await?, &ids).await?;
    let mut now: HashMap<OperationId, i64> = versions.into_iter().collect();
    // Removed from the map, so that an operation that was prepared twice is signed once.
    batch.retain(|prepared| now.remove(&prepared.op.id) == Some(prepared.op.version));
    Ok(())
}

/// Keeps operations in their status, with the reason and the next time.
pub async fn postpone(engine: &Engine, batch: Vec<Prepared>, reason: &str) -> Result<()> {
    let ops = batch.into_iter().map(|prepared| prepared.op).collect();
    record::wait(engine, ops, reason, When::Now).await
}

async fn fail(engine: &Engine, op: Operation, failure: Failure) -> Result<()> {
    match record::failure(engine, op, failure).await {
        Err(Error::Stale { .. }) => Ok(()),
        recorded => recorded,
    }
}

type SignedBatch = Vec<(Prepared, Attempt)>;

/// The signing policy for the calls of these steps.
async fn gate(engine: &Engine, network: &Network, batch: &[Prepared]) -> Result<PolicyGate> {
    // An allowance names a contract that it does not call. The signing policy needs that contract too.
    let named = |p: &Prepared| [Some(p.step.target.0), spender(&p.step.calldata)];
    let targets: BTreeSet<Address> = batch.iter().flat_map(named).flatten().collect();
    engine.gate(network, &targets.into_iter().collect::<Vec<_>>()).await
}

/// Signs for the lane's next nonces, in order. A step that cannot be signed is skipped, and the later ones get its nonce.
async fn sign(
    engine: &Engine,
    network: &Network,
    lane: &Lane,
    gate: &PolicyGate,
    batch: Vec<Prepared>,
    day: &mut Day,
) -> Result<(SignedBatch, Vec<(Prepared, Failure)>)> {
    let (mut signed, mut refused) = (Vec::with_capacity(batch.len()), Vec::new());
    for prepared in batch {
        if let Some(why) = changed(&prepared.op, &prepared.step) {
            refused.push((prepared, Failure::Dead(why)));
            continue;
        }
        let nonce = lane.next_nonce + i64::try_from(signed.len()).unwrap_or(i64::MAX);
        let transaction = Transaction {
            chain_id: network.chain.config.chain_id,
            nonce: nonce.cast_unsigned(),
            to: Some(prepared.step.target.0),
            data: Bytes::from(prepared.step.calldata.clone()),
            value: U256::ZERO,
            gas_limit: prepared.gas_limit,
            max_fee_per_gas: prepared.fees.max_fee_per_gas,
            max_priority_fee_per_gas: prepared.fees.max_priority_fee_per_gas,
        };
        match sign_one(network, gate, lane.signer.0, &transaction, day.spent(&transaction.data)).await {
            Ok(bytes) => {
                day.add(&transaction.data);
                let (op, position) = (&prepared.op, prepared.step.position);
                let attempt = new_attempt(engine, op, position, 1, Kind::Original, &lane.id, &transaction, &bytes);
                signed.push((prepared, attempt));
            }
            Err(failure) => refused.push((prepared, failure)),
        }
    }
    Ok((signed, refused))
}

/// Compares the rows with their hashes from the acceptance. A call or a payload that was changed since is not signed.
pub fn changed(op: &Operation, step: &Step) -> Option<Problem> {
    let data = Bytes::from(step.calldata.clone());
    let is_ours = step.payload_hash.is_none_or(|hash| hash.0 == payload_hash(&data));
    if is_ours && op.has_accepted_payload() {
        return None;
    }
    let what = if is_ours { "payload".to_owned() } else { format!("call of step {}", step.position) };
    tracing::error!(operation.id = %op.id, "the {what} was changed outside the platform");
    Some(Problem {
        stage: Stage::Preflight,
        code: "payload_changed".to_owned(),
        message: format!("The {what} differs from the accepted one: the hashes do not match. It was not signed."),
        data: None,
    })
}

/// Checks the signing policy and the daily payout limit, then signs.
pub async fn sign_one(
    network: &Network,
    gate: &PolicyGate,
    signer: Address,
    transaction: &Transaction,
    spent: U256,
) -> Result<Signed, Failure> {
    let permit: Permit = gate
        .check(signer, transaction, spent)
        .map_err(|refusal| Failure::refuse(Stage::Preflight, refusal.code(), refusal.to_string(), None))?;
    let key = network
        .signers
        .get(&signer)
        .ok_or_else(|| Failure::Blocked(format!("{NO_SIGNER}: this process does not have the key")))?;
    match tokio::time::timeout(Duration::from_secs(SIGN_SECONDS), key.sign(&permit)).await {
        Ok(Ok(signed)) => Ok(signed),
        Ok(Err(fault)) => Err(Failure::Blocked(format!("signer_down: {fault}"))),
        Err(_) => Err(Failure::Blocked(format!("signer_down: no signature within {SIGN_SECONDS} s"))),
    }
}

/// A new attempt, ready to be stored.
#[allow(clippy::too_many_arguments)] // Each is a column of the row.
pub fn new_attempt(
    engine: &Engine,
    op: &Operation,
    position: i64,
    number: i64,
    kind: Kind,
    lane_id: &LaneId,
    transaction: &Transaction,
    signed: &Signed,
) -> Attempt {
    Attempt {
        chain_id: op.chain_id,
        tx_hash: Hex(signed.hash),
        operation_id: op.id.clone(),
        position,
        cycle: op.cycle,
        number,
        kind,
        lane_id: lane_id.to_owned(),
        nonce: transaction.nonce.cast_signed(),
        raw: signed.raw.to_vec(),
        gas_limit: transaction.gas_limit.cast_signed(),
        max_fee_per_gas: Dec(transaction.max_fee_per_gas),
        max_priority_fee_per_gas: Dec(transaction.max_priority_fee_per_gas),
        open: true,
        signed_at: engine.db.clock().now(),
        sent_at: None,
        sends: 0,
        last_answer: None,
        block_number: None,
        block_hash: None,
        receipt: None,
        receipt_text: None,
    }
}

/// What a lane has signed, ready to be stored: nonces, signed transactions and statuses.
struct Signatures {
    lane: Lane,
    signed: SignedBatch,
    day: Day,
}

impl Writes for Signatures {
    fn write<'a>(&'a self, tx: &'a mut Tx) -> BoxFuture<'a, Result<()>> {
        self.store(tx).boxed()
    }
}

impl Signatures {
    async fn store(&self, tx: &mut Tx) -> Result<()> {
        let Self { lane, signed, day } = self;
        lane::take_nonces(tx, &lane.id, lane.next_nonce, i64::try_from(signed.len()).unwrap_or(i64::MAX)).await?;
        let (mut steps, mut first, mut later) = (Vec::with_capacity(signed.len()), Vec::new(), Vec::new());
        for (prepared, attempt) in signed {
            let (mut op, mut step) = (prepared.op.clone(), prepared.step.clone());
            step.state = State::Signed;
            step.lane_id = Some(lane.id.clone());
            step.nonce = Some(attempt.nonce);
            step.gas_limit = Some(attempt.gas_limit);
            step.signed_at = Some(attempt.signed_at);
            steps.push(step);
            op.lane_id = Some(lane.id.clone());
            op.next_action_at = None;
            op.blocked_reason = None;
            op.set_problem(None);
            if op.status == Status::Pending { first.push(op) } else { later.push(op) }
        }
        step::save_all(tx, &steps, State::Unsigned).await?;
        attempt::insert(tx, &signed.iter().map(|(_, attempt)| attempt.clone()).collect::<Vec<_>>()).await?;
        let nonces: HashMap<&OperationId, i64> = signed.iter().map(|(p, attempt)| (&p.op.id, attempt.nonce)).collect();
        let reason = |op: &Operation| {
            format!("signed with nonce {} of {}", nonces.get(&op.id).copied().unwrap_or_default(), lane.signer.0)
        };
        operation::transition_all(tx, &mut first, Move::Sign, "engine", reason).await?;
        operation::save_all(tx, &mut later).await?;
        day.write(tx).await
    }
}
