//! What the engine does: read, decide, and commit by comparing; and the operator's guarded moves.

use super::state::{Body, CYCLES, Held, Kind, NONCES, Receipt, Row, State, Status, View};
use super::variant::{Bounds, Variant};

/// Why a worker wants to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    Sign,
    Refuse,
    GiveUp,
    Settle,
    Bump,
    Cancel,
    Retry,
    MarkConfirmed,
    Abandon,
}

pub struct Engine {
    pub variant: Variant,
    pub bounds: Bounds,
}

/// What is finally known of a nonce.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Slot {
    Open,
    Effect,
    Reverted,
    Cancelled,
    Stranger,
}

impl Engine {
    fn is(&self, variant: Variant) -> bool {
        self.variant == variant
    }

    fn slot(&self, me: usize, row: &Row, nonce: u8, view: &View) -> Slot {
        let last = nonce < view.last;
        let believed = view.receipts[nonce as usize].filter(|_| last || self.is(Variant::SettleBeforeFinal));
        match believed {
            Some(Receipt { body, success, .. }) if row.knows(me, body) => match (body.serves(me), success) {
                (true, true) => Slot::Effect,
                (true, false) => Slot::Reverted,
                (false, _) => Slot::Cancelled,
            },
            Some(_) => Slot::Stranger,
            None if last && self.is(Variant::FailedOnMissingReceipt) => Slot::Reverted,
            None if last && self.is(Variant::StrangerByCount) => Slot::Stranger,
            // Absence is not information.
            None => Slot::Open,
        }
    }

    fn slots<'a>(&'a self, me: usize, row: &'a Row, view: &'a View) -> impl Iterator<Item = Slot> + 'a {
        row.slots.iter().flatten().map(move |nonce| self.slot(me, row, *nonce, view))
    }

    /// Every write that some worker or operator may want to make of an operation now.
    pub fn decide(&self, me: usize, state: &State) -> Vec<(Why, Held)> {
        let mut found = Vec::new();
        let row = state.rows[me];
        let mut want = |why, new: Row, counter| {
            let held = Held { operation: me as u8, old: row, new, counter, half: false };
            found.push((why, held));
        };
        match row.status {
            Status::Pending => {
                want(Why::Refuse, Row { status: Status::Failed, over: true, ..row }, None);
                want(Why::GiveUp, Row { status: Status::DeadLetter, over: true, ..row }, None);
                if (state.counter as usize) < NONCES {
                    want(Why::Sign, signed(row, state.counter), Some(state.counter));
                }
            }
            Status::Submitted => self.follow_up(me, &row, state, &mut want),
            Status::Confirmed => {}
            Status::Failed | Status::DeadLetter if row.abandoned => {}
            Status::Failed | Status::DeadLetter => self.operator(me, &row, state, &mut want),
        }
        found
    }

    fn follow_up(&self, me: usize, row: &Row, state: &State, want: &mut impl FnMut(Why, Row, Option<u8>)) {
        let nonce = row.slot().expect("what is submitted was signed");
        match self.slot(me, row, nonce, &state.view) {
            Slot::Effect => want(Why::Settle, Row { status: Status::Confirmed, ..*row }, None),
            Slot::Reverted | Slot::Cancelled => {
                let over = !self.is(Variant::FailedNotOver);
                want(Why::Settle, Row { status: Status::Failed, over, ..*row }, None);
            }
            Slot::Stranger => want(Why::Settle, Row { status: Status::DeadLetter, over: true, ..*row }, None),
            Slot::Open => {
                // Fee cap and age are spent: shown with its nonce open, so nothing is claimed to be over.
                want(Why::GiveUp, Row { status: Status::DeadLetter, over: false, ..*row }, None);
                self.replace(row, want);
                let again = self.is(Variant::NewNonceOnMissingReceipt) && (row.cycle as usize) + 1 < CYCLES;
                if again && (state.counter as usize) < NONCES {
                    let next = Row { cycle: row.cycle + 1, ..*row };
                    want(Why::Sign, signed(next, state.counter), Some(state.counter));
                }
            }
        }
    }

    /// A new attempt on the same nonce. After a cancel nothing but the cancel is replaced.
    fn replace(&self, row: &Row, want: &mut impl FnMut(Why, Row, Option<u8>)) {
        if self.bounds.bump && !row.has(Kind::Bump) && !row.has(Kind::Cancel) {
            want(Why::Bump, with(*row, Kind::Bump), None);
        }
        if self.bounds.cancel && !row.has(Kind::Cancel) {
            let mut cancelled = with(*row, Kind::Cancel);
            if self.is(Variant::CancelIsFailure) {
                (cancelled.status, cancelled.over) = (Status::Failed, true);
            }
            want(Why::Cancel, cancelled, None);
        }
    }

    /// The guards G, V and A, on what is final.
    fn operator(&self, me: usize, row: &Row, state: &State, want: &mut impl FnMut(Why, Row, Option<u8>)) {
        let effect = self.slots(me, row, &state.view).any(|slot| slot == Slot::Effect);
        let open = self.slots(me, row, &state.view).any(|slot| slot == Slot::Open);
        if effect {
            let confirmed = Row { status: Status::Confirmed, over: false, ..*row };
            want(Why::MarkConfirmed, confirmed, None);
            return;
        }
        if !open || self.is(Variant::AbandonWhileOpen) {
            want(Why::Abandon, Row { abandoned: true, over: true, ..*row }, None);
        }
        if open && row.slot().is_some() {
            self.replace(row, want);
            // The same nonce again: nothing new is signed for another one.
            want(Why::Retry, Row { status: Status::Submitted, over: false, ..*row }, None);
        }
        let next = if row.slot().is_some() { row.cycle + 1 } else { row.cycle };
        let anew = self.bounds.retry && (next as usize) < CYCLES;
        if anew && (!open || self.is(Variant::RetryWhileOpen)) {
            want(Why::Retry, Row { status: Status::Pending, over: false, cycle: next, ..*row }, None);
        }
    }

    /// The commit: everything or nothing, if all is still as it was read. What is left in memory is returned.
    pub fn commit(&self, held: Held, state: &mut State) -> Option<Held> {
        let row = &mut state.rows[held.operation as usize];
        let same_row = *row == held.old || self.is(Variant::RowUncompared);
        if let Some(counter) = held.counter.filter(|_| !held.half) {
            let same_counter = counter == state.counter || self.is(Variant::CounterUncompared);
            if !same_row || !same_counter {
                return None;
            }
            state.counter = state.counter.max(counter + 1);
            if self.is(Variant::CounterApart) {
                return Some(Held { half: true, ..held });
            }
        }
        if same_row {
            *row = held.new;
        }
        None
    }

    /// The bytes that a broken engine sends from memory.
    pub fn sends_early(&self, held: &Held) -> Option<(u8, Body)> {
        let (operation, cycle) = (held.operation, held.new.cycle);
        let kinds = held.new.attempts[cycle as usize] & !held.old.attempts[cycle as usize];
        let kind = match self.variant {
            Variant::SendBeforeCommit if kinds & 1 << Kind::Original as u8 != 0 => Kind::Original,
            Variant::BumpSentBeforeStored if kinds & 1 << Kind::Bump as u8 != 0 => Kind::Bump,
            _ => return None,
        };
        Some((held.new.slot()?, Body::Ours { operation, cycle, kind }))
    }

    /// The follower: what it has stored of blocks that are no more is dropped; receipts may be withheld from it.
    pub fn follow(&self, state: &mut State, receipts: bool) {
        let State { view, chain, .. } = state;
        for (nonce, (stored, canonical)) in view.receipts.iter_mut().zip(&chain.blocks).enumerate() {
            let passed = self.is(Variant::SeenOnceOrNever) && nonce < view.last as usize && stored.is_none();
            if receipts && !passed {
                *stored = canonical.or(stored.filter(|_| self.is(Variant::TrustOrphan)));
            } else if !passed && stored != canonical && !self.is(Variant::TrustOrphan) {
                *stored = None;
            }
        }
        view.last = chain.last;
    }
}

fn signed(row: Row, nonce: u8) -> Row {
    let mut new = with(row, Kind::Original);
    new.slots[new.cycle as usize] = Some(nonce);
    new.status = Status::Submitted;
    new
}

fn with(mut row: Row, kind: Kind) -> Row {
    row.attempts[row.cycle as usize] |= 1 << kind as u8;
    row
}
