//! Everything that can happen next: to the workers, on the wire and on the chain.

use super::engine::{Engine, Why};
use super::state::{Body, KINDS, Kind, NONCES, Receipt, State, Status};

/// One thing that happened, for the story of a counterexample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    Read {
        operation: usize,
        why: Why,
    },
    /// A commit of what was read, or its refusal.
    Commit {
        operation: u8,
        to: Status,
    },
    /// Committed, and the answer is lost: the worker still holds what it wanted to write.
    CommitUnheard {
        operation: u8,
        to: Status,
    },
    Crash,
    SendUncommitted {
        nonce: u8,
        body: Body,
    },
    Send {
        nonce: u8,
        body: Body,
    },
    Include {
        nonce: u8,
        body: Body,
        success: bool,
    },
    Finalise {
        nonce: u8,
    },
    Reorg {
        length: u8,
    },
    Follow,
    FollowWithoutReceipts,
}

/// Every successor, each with what led to it.
pub fn successors(engine: &Engine, state: &State, mut found: impl FnMut(Move, State)) {
    workers(engine, state, &mut found);
    wire(engine, state, &mut found);
    chain(state, &mut found);
    for (receipts, step) in [(true, Move::Follow), (false, Move::FollowWithoutReceipts)] {
        let mut next = *state;
        engine.follow(&mut next, receipts);
        found(step, next);
    }
}

fn workers(engine: &Engine, state: &State, found: &mut impl FnMut(Move, State)) {
    // Workers are sorted and idle ones come first, so one idle worker stands for all.
    let workers = 2 - engine.bounds.workers..2;
    if let Some(worker) = workers.clone().find(|worker| state.workers[*worker].is_none()) {
        for operation in 0..engine.bounds.operations {
            for (why, held) in engine.decide(operation, state) {
                let mut next = *state;
                next.workers[worker] = Some(held);
                found(Move::Read { operation, why }, next);
            }
        }
    }
    for worker in workers {
        let Some(held) = state.workers[worker] else { continue };
        let mut crashed = *state;
        crashed.workers[worker] = None;
        found(Move::Crash, crashed);
        let (operation, to) = (held.operation, held.new.status);
        let mut next = *state;
        next.workers[worker] = engine.commit(held, &mut next);
        found(Move::Commit { operation, to }, next);
        next.workers[worker] = Some(held);
        found(Move::CommitUnheard { operation, to }, next);
        if let Some((nonce, body)) = engine.sends_early(&held) {
            let mut next = *state;
            next.sent[nonce as usize] |= body.bit();
            found(Move::SendUncommitted { nonce, body }, next);
        }
    }
}

/// Any worker may send any committed bytes at any time, also one that should be dead by now.
fn wire(engine: &Engine, state: &State, found: &mut impl FnMut(Move, State)) {
    for (operation, row) in state.rows.iter().enumerate().take(engine.bounds.operations) {
        for (cycle, nonce) in row.slots.iter().enumerate() {
            // What is final is not sent any more, and would change nothing.
            let Some(nonce) = nonce.filter(|nonce| *nonce >= state.chain.last) else { continue };
            for kind in KINDS.into_iter().filter(|kind| row.attempts[cycle] & (1 << *kind as u8) != 0) {
                let body = Body::Ours { operation: operation as u8, cycle: cycle as u8, kind };
                let mut next = *state;
                next.sent[nonce as usize] |= body.bit();
                found(Move::Send { nonce, body }, next);
            }
        }
    }
}

fn chain(state: &State, found: &mut impl FnMut(Move, State)) {
    let chain = &state.chain;
    let nonce = chain.length;
    if (nonce as usize) < NONCES {
        let mut include = |body: Body, success, foreign_left| {
            let mut next = *state;
            next.chain.blocks[nonce as usize] = Some(Receipt { body, success, era: chain.era });
            next.chain.length += 1;
            next.chain.foreign_left = foreign_left;
            found(Move::Include { nonce, body, success }, next);
        };
        for body in Body::all().filter(|body| state.sent[nonce as usize] & body.bit() != 0) {
            include(body, true, chain.foreign_left);
            // A cancel is a transfer of nothing to ourselves: it cannot revert.
            if !matches!(body, Body::Ours { kind: Kind::Cancel, .. }) {
                include(body, false, chain.foreign_left);
            }
        }
        if let Some(left) = chain.foreign_left.checked_sub(1) {
            include(Body::Foreign, true, left);
        }
    }
    if chain.last < chain.length {
        let mut next = *state;
        next.chain.last += 1;
        found(Move::Finalise { nonce: chain.last }, next);
    }
    if let Some(left) = chain.reorgs_left.checked_sub(1) {
        for length in chain.last..chain.length {
            let mut next = *state;
            next.chain.blocks[length as usize..].fill(None);
            (next.chain.length, next.chain.era, next.chain.reorgs_left) = (length, chain.era + 1, left);
            found(Move::Reorg { length }, next);
        }
    }
}
