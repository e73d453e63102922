//! What must hold in every state and at every step.

use super::state::{Body, Row, State, Status};

/// A promise by its name: whether a step from one state to the next keeps it.
pub type Promise = (&'static str, fn(&State, &State) -> bool);

pub const ONCE: Promise = ("an effect happens at most once", |_, state| each(state, |me, _| effects(state, me) <= 1));

pub const CONFIRMED_IS_FINAL: Promise = ("confirmed means that the effect is final", |_, state| {
    each(state, |me, row| row.status != Status::Confirmed || effects_final(state, me) == 1)
});

pub const CONFIRMED_FOR_GOOD: Promise = ("confirmed is never left", |before, state| {
    each(before, |me, row| row.status != Status::Confirmed || state.rows[me].status == Status::Confirmed)
});

/// A dead letter whose nonce is open, or whose late success is proposed to the operator, says neither.
pub const OVER_IS_OVER: Promise = ("what is said to be over has no effect and never will", |_, state| {
    each(state, |me, row| !row.over || dead(state, me, row))
});

pub const FAILED_IS_OVER: Promise =
    ("failed is always over", |_, state| each(state, |_, row| row.status != Status::Failed || row.over));

pub const NO_GAP: Promise =
    ("no nonce is left out", |_, state| (0..state.counter).all(|nonce| owners(state, nonce) > 0));

pub const ONE_OWNER: Promise =
    ("a nonce has one owner", |_, state| (0..state.counter).all(|nonce| owners(state, nonce) <= 1));

pub const COMMITTED_FIRST: Promise = ("only committed bytes are sent", |_, state| {
    state.sent.iter().enumerate().all(|(nonce, sent)| {
        Body::all().filter(|body| sent & body.bit() != 0).all(|body| committed(state, nonce as u8, body))
    })
});

pub const OLD_SLOT_FIRST: Promise =
    ("a new cycle waits until the old nonce is finally taken without effect", |_, state| {
        each(state, |me, row| row.cycle == 0 || row.slots[0].is_none_or(|nonce| taken(state, me, nonce)))
    });

/// The first five are what the world outside sees, the others how the engine keeps them.
pub const ALL: &[Promise] = &[
    ONCE,
    CONFIRMED_IS_FINAL,
    CONFIRMED_FOR_GOOD,
    OVER_IS_OVER,
    FAILED_IS_OVER,
    NO_GAP,
    ONE_OWNER,
    COMMITTED_FIRST,
    OLD_SLOT_FIRST,
];

/// Every operation has come to its end and no signed bytes are open: where every run must be able to arrive.
pub fn at_rest(state: &State) -> bool {
    let ended = |row: &Row| row.status == Status::Confirmed || row.over;
    let open = state.rows.iter().flat_map(|row| row.slots).flatten().any(|nonce| nonce >= state.chain.last);
    state.rows.iter().all(ended) && !open
}

fn each(state: &State, holds: impl Fn(usize, &Row) -> bool) -> bool {
    state.rows.iter().enumerate().all(|(me, row)| holds(me, row))
}

fn effects(state: &State, me: usize) -> usize {
    state.chain.canonical().filter(|receipt| receipt.success && receipt.body.serves(me)).count()
}

fn effects_final(state: &State, me: usize) -> usize {
    let last = state.chain.canonical().take(state.chain.last as usize);
    last.filter(|receipt| receipt.success && receipt.body.serves(me)).count()
}

/// The nonce is final and did not serve this operation.
fn taken(state: &State, me: usize, nonce: u8) -> bool {
    let block = state.chain.blocks[nonce as usize].filter(|_| nonce < state.chain.last);
    block.is_some_and(|receipt| !(receipt.success && receipt.body.serves(me)))
}

/// Whatever was signed or sent for it can never be included again.
fn dead(state: &State, me: usize, row: &Row) -> bool {
    let sent = state.sent.iter().enumerate();
    let sent = sent.filter(|(_, bits)| Body::all().any(|body| body.serves(me) && *bits & body.bit() != 0));
    let mut nonces = row.slots.iter().flatten().copied().chain(sent.map(|(nonce, _)| nonce as u8));
    effects(state, me) == 0 && nonces.all(|nonce| taken(state, me, nonce))
}

fn owners(state: &State, nonce: u8) -> usize {
    state.rows.iter().flat_map(|row| row.slots).filter(|slot| *slot == Some(nonce)).count()
}

fn committed(state: &State, nonce: u8, body: Body) -> bool {
    let Body::Ours { operation, cycle, .. } = body else { return false };
    let row = &state.rows[operation as usize];
    row.knows(operation as usize, body) && row.slots[cycle as usize] == Some(nonce)
}
