//! Two writers that read the same rows before either of them wrote. Whatever each of them does, one is taken, the other one is refused as
//! stale, and the row has changed once. The rest of the engine rarely lets two meet, so no life shows a guard that is missing.

use alloy::primitives::{Address, B256};
use muniment_domain::chain::{self, Chain};
use muniment_domain::clock::Clock;
use muniment_domain::db::{Db, Tx};
use muniment_domain::id::Ids;
use muniment_domain::lane::{self, Lane, Mode};
use muniment_domain::operation::{self, Kind, Move, NewOperation, NewStep, Operation};
use muniment_domain::point::Point;
use muniment_domain::step::{self, Outcome, State, Step};
use muniment_domain::{Error, Result, migrate};
use serde_json::json;
use world::Seed;

use crate::stage::CHAIN;

/// The rows as both writers read them.
struct Rows {
    operation: Operation,
    step: Step,
    lane: Lane,
    chain: Chain,
}

/// What a writer does. Any two of a kind exclude each other.
#[derive(Clone, Copy, Debug)]
enum Write {
    SaveOperation,
    SaveOperations,
    MoveOperation(Move),
    MoveOperations(Move),
    SaveStep(State),
    SaveSteps(State),
    WithdrawInclusion,
    TakeNonces(i64),
    StopLane(Mode),
    AdvanceChain(i64),
    HaltChain,
}

impl Write {
    /// A write of one of the four kinds, to rows in which it is possible.
    fn draw(seed: &mut Seed, kind: u64) -> Self {
        let by = *seed.pick(&[Move::Sign, Move::Adopt, Move::Fail, Move::GiveUp]);
        let state = *seed.pick(&[State::Unsigned, State::Signed, State::Final]);
        let amount = 1 + seed.below(4).cast_signed();
        match (kind, seed.below(4)) {
            (0, 0) => Self::SaveOperation,
            (0, 1) => Self::SaveOperations,
            (0, 2) => Self::MoveOperation(by),
            (0, _) => Self::MoveOperations(by),
            (1, 0) => Self::WithdrawInclusion,
            (1, 1) => Self::SaveStep(state),
            (1, _) => Self::SaveSteps(state),
            (2, 0 | 1) => Self::TakeNonces(amount),
            (2, _) => Self::StopLane(*seed.pick(&[Mode::Paused, Mode::Quarantined])),
            (_, 0) => Self::HaltChain,
            _ => Self::AdvanceChain(amount),
        }
    }

    async fn write(self, db: &Db, read: &Rows) -> Result<()> {
        let mut tx = db.begin().await?;
        self.apply(&mut tx, read).await?;
        tx.commit(Point::Housekeeping).await
    }

    async fn apply(self, tx: &mut Tx, read: &Rows) -> Result<()> {
        let (mut op, step, lane, chain) = (read.operation.clone(), &read.step, &read.lane, &read.chain);
        match self {
            Self::SaveOperation => operation::save(tx, &mut op).await,
            Self::SaveOperations => operation::save_all(tx, &mut [op]).await,
            Self::MoveOperation(by) => operation::transition(tx, &mut op, by, "engine", "a reason").await,
            Self::MoveOperations(by) => {
                operation::transition_all(tx, &mut [op], by, "engine", |_| "a reason".to_owned()).await
            }
            Self::SaveStep(state) => step::save(tx, &moved(step, state), step.state).await,
            Self::SaveSteps(state) => step::save_all(tx, &[moved(step, state)], step.state).await,
            Self::WithdrawInclusion => step::withdraw_inclusion(tx, step).await,
            Self::TakeNonces(count) => lane::take_nonces(tx, &lane.id, lane.next_nonce, count).await,
            Self::StopLane(mode) => lane::set_mode(tx, lane, mode, "a reason", lane.next_nonce).await,
            Self::AdvanceChain(blocks) => {
                let head = (chain.head_number + blocks, B256::repeat_byte(1));
                chain::advance(tx, chain, head, (chain.final_number, chain.final_hash.0)).await
            }
            Self::HaltChain => chain::halt(tx, chain, "a reason").await,
        }
    }
}

/// The step in another state, which is final by a success.
fn moved(step: &Step, state: State) -> Step {
    Step { state, outcome: (state == State::Final).then_some(Outcome::Success), ..step.clone() }
}

/// New rows: an operation whose step is included, an active lane, and a chain that is followed.
async fn rows(db: &Db, number: u64) -> Result<Rows> {
    let chain_id = CHAIN + number.cast_signed();
    let mut tx = db.begin().await?;
    chain::insert(&mut tx, chain_id, B256::ZERO, (9, B256::ZERO), (5, B256::ZERO)).await?;
    let lane = lane::ensure(&mut tx, chain_id, Address::ZERO, 7).await?;
    let chain = chain::find(&mut tx, chain_id).await?.expect("it was inserted");
    let step =
        NewStep { name: "mintPage", target: Address::ZERO, calldata: vec![1], op_number: None, payload_hash: None };
    let new = NewOperation {
        kind: Kind::Mint,
        subject_type: "offering",
        subject_id: format!("off_{number}"),
        offering_id: None,
        batch: None,
        chain_id,
        lane_id: None,
        payload: json!({}),
        live_key: None,
        requested_by: "usr_operator".to_owned(),
        request_id: None,
        idempotency_key: None,
        steps: vec![step],
    };
    let operation = operation::insert(&mut tx, new).await?;
    let mut step = step::of_operation(&mut tx, &operation.id).await?.remove(0);
    (step.state, step.block_number) = (State::Included, Some(8));
    (step.lane_id, step.nonce) = (Some(lane.id.clone()), Some(6));
    step::save(&mut tx, &step, State::Unsigned).await?;
    tx.commit(Point::Housekeeping).await?;
    Ok(Rows { operation, step, lane, chain })
}

/// One row is written by two writers beside each other; an error says what went wrong.
async fn meet(db: &Db, number: u64) -> std::result::Result<(), String> {
    let read = rows(db, number).await.map_err(|error| error.to_string())?;
    let mut seed = Seed::new(number);
    let kind = seed.below(4);
    let (one, other) = (Write::draw(&mut seed, kind), Write::draw(&mut seed, kind));
    let (first, second) = tokio::join!(one.write(db, &read), other.write(db, &read));
    match (&first, &second) {
        (Ok(()), Err(Error::Stale { .. })) | (Err(Error::Stale { .. }), Ok(())) => Ok(()),
        _ => Err(format!("seed {number}: {one:?} was {first:?}, {other:?} was {second:?}")),
    }
}

/// Lets the writers of so many seeds meet.
pub async fn meet_all(url: &str, seeds: u64) -> std::result::Result<(), String> {
    let db = Db::open(url, 4, Clock::System, Ids::Random).await.map_err(|error| error.to_string())?;
    migrate::run(&db).await.map_err(|error| error.to_string())?;
    for number in 0..seeds {
        meet(&db, number).await?;
    }
    Ok(())
}
