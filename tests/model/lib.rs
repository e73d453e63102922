//! The engine's protocol, every interleaving of it: an operation takes effect at most once, and nothing is
//! said to be final before it is.
//!
//! Two workers and an operator read, decide and commit; any of them may crash between two commits or never
//! hear that a commit succeeded; what was sent may be taken late, never or after a cancel; a transaction may
//! revert, a block may be replaced before it is final, receipts may be withheld, and somebody else may use
//! the key. Receipts of final blocks are taken to be true: that several endpoints agree on them is
//! another test's promise. The contract's own bitmap of executed operations is left out on purpose: the
//! protocol must hold without it.

#![cfg(test)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failing test names its line")]
#![allow(missing_docs, reason = "the names of tests are their sentences")]

mod engine;
mod invariant;
mod moves;
mod search;
mod state;
mod variant;

use invariant::Promise;
use search::{Search, jam, search};
use state::{Body, Kind, Receipt, Status};
use variant::{Bounds, Variant};

/// One operation and everything that can happen to it.
const ONE: Bounds = Bounds { operations: 1, workers: 2, reorgs: 2, foreign: 1, bump: true, cancel: true, retry: true };
/// Two operations in one lane. What concerns a single nonce is left to `ONE`: what remains is what the
/// two can do to each other, once through a second cycle and once through a cancel.
const TWO: Bounds = Bounds { operations: 2, reorgs: 1, bump: false, cancel: false, ..ONE };
const TWO_CANCELLED: Bounds = Bounds { cancel: true, retry: false, ..TWO };

/// As few moves as two operations can have.
const SMALL: Bounds = Bounds { workers: 1, reorgs: 0, foreign: 0, cancel: false, bump: false, retry: false, ..TWO };

fn report(what: &str, search: &Search) {
    println!("{what}: {} states, {} moves", search.states, search.moves);
    if let Some(broken) = &search.broken {
        println!("  broken: {}\n    {}", broken.promise, broken.story.join("\n    "));
    }
}

fn must_hold(what: &str, search: &Search) {
    report(what, search);
    assert!(search.broken.is_none(), "the protocol is broken, see above");
}

#[test]
fn one_operation_keeps_every_promise() {
    must_hold("one operation", &search(Variant::Sound, ONE, invariant::ALL));
}

#[test]
fn two_operations_of_a_lane_keep_every_promise() {
    must_hold("two operations, retried", &search(Variant::Sound, TWO, invariant::ALL));
}

#[test]
fn two_operations_of_a_lane_keep_every_promise_when_cancelled() {
    must_hold("two operations, cancelled", &search(Variant::Sound, TWO_CANCELLED, invariant::ALL));
}

#[test]
fn from_every_state_an_end_can_be_reached() {
    must_hold("one operation", &jam(Variant::Sound, ONE));
    must_hold("two operations", &jam(Variant::Sound, Bounds { retry: true, foreign: 1, ..SMALL }));
}

/// A broken protocol, and the promise that it breaks: what the search is worth.
const BROKEN: &[(Variant, Bounds, Promise)] = &[
    (Variant::SendBeforeCommit, Bounds { workers: 1, ..TWO }, invariant::ONCE),
    (Variant::SendBeforeCommit, ONE, invariant::COMMITTED_FIRST),
    (Variant::BumpSentBeforeStored, ONE, invariant::OVER_IS_OVER),
    (Variant::BumpSentBeforeStored, ONE, invariant::COMMITTED_FIRST),
    (Variant::CounterApart, ONE, invariant::NO_GAP),
    (Variant::CounterUncompared, TWO, invariant::ONE_OWNER),
    (Variant::RowUncompared, ONE, invariant::ONCE),
    (Variant::RowUncompared, ONE, invariant::CONFIRMED_FOR_GOOD),
    (Variant::NewNonceOnMissingReceipt, ONE, invariant::ONCE),
    (Variant::FailedOnMissingReceipt, ONE, invariant::OVER_IS_OVER),
    (Variant::StrangerByCount, ONE, invariant::OVER_IS_OVER),
    (Variant::SettleBeforeFinal, ONE, invariant::CONFIRMED_IS_FINAL),
    (Variant::TrustOrphan, ONE, invariant::CONFIRMED_IS_FINAL),
    (Variant::CancelIsFailure, ONE, invariant::OVER_IS_OVER),
    (Variant::RetryWhileOpen, ONE, invariant::ONCE),
    (Variant::RetryWhileOpen, ONE, invariant::OLD_SLOT_FIRST),
    (Variant::AbandonWhileOpen, ONE, invariant::OVER_IS_OVER),
    (Variant::FailedNotOver, ONE, invariant::FAILED_IS_OVER),
];

#[test]
fn each_broken_protocol_is_caught() {
    for (variant, bounds, promise) in BROKEN {
        let search = search(*variant, *bounds, &[*promise]);
        report(&format!("{variant:?}"), &search);
        assert!(search.broken.is_some(), "{variant:?} was not caught breaking: {}", promise.0);
    }
    let caught = |promise: &Promise| BROKEN.iter().any(|(_, _, broken)| broken.0 == promise.0);
    let untested: Vec<_> = invariant::ALL.iter().filter(|promise| !caught(promise)).map(|(name, _)| name).collect();
    assert!(untested.is_empty(), "no broken protocol shows that these can fail: {untested:?}");
}

#[test]
fn a_lane_jams_when_its_counter_is_written_apart() {
    let search = jam(Variant::CounterApart, SMALL);
    report("CounterApart", &search);
    assert!(search.broken.is_some(), "a lost nonce must jam the lane");
}

#[test]
fn a_lane_jams_when_a_missed_block_is_never_read_again() {
    let search = jam(Variant::SeenOnceOrNever, SMALL);
    report("SeenOnceOrNever", &search);
    assert!(search.broken.is_some(), "a missed inclusion must leave its operation open for ever");
}

#[test]
fn what_can_happen_does_happen() {
    let never: &[Promise] = &[
        ("confirmed in its second cycle", |_, s| s.rows[0].cycle == 0 || s.rows[0].status != Status::Confirmed),
        ("failed because it was cancelled", |_, s| {
            let cancel = |receipt: Receipt| matches!(receipt.body, Body::Ours { kind: Kind::Cancel, .. });
            s.rows[0].status != Status::Failed || !s.chain.canonical().any(cancel)
        }),
        ("a dead letter with its nonce open", |_, s| s.rows[0].status != Status::DeadLetter || s.rows[0].over),
        ("abandoned after a stranger took its nonce", |_, s| {
            let taken = s.rows[0].slots[0].and_then(|nonce| s.chain.blocks[nonce as usize]);
            !s.rows[0].abandoned || taken.is_none_or(|receipt| receipt.body != Body::Foreign)
        }),
        ("a bump included after a reorg", |before, s| {
            let bump = |receipt: Receipt| matches!(receipt.body, Body::Ours { kind: Kind::Bump, .. });
            before.chain.reorgs_left != 0 || !s.chain.canonical().any(bump)
        }),
        ("a cancel that lost against its original", |_, s| {
            !s.rows[0].has(Kind::Cancel) || s.rows[0].status != Status::Confirmed
        }),
    ];
    for promise in never {
        let search = search(Variant::Sound, ONE, &[*promise]);
        report(promise.0, &search);
        assert!(search.broken.is_some(), "never happens: {}", promise.0);
    }
}
