//! What there is: the rows, the chain, and what each worker holds in memory.
//!
//! Everything durable grows or is compared as a whole, so a compare of contents stands for the
//! compare of versions: it lets through at least as much.

/// Cycles of an operation: the first, and one retry.
pub const CYCLES: usize = 2;
/// Places in the lane that a run can reach: each cycle of two operations, and a stranger's.
pub const NONCES: usize = 5;
pub const OPERATIONS: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Status {
    Pending,
    Submitted,
    Confirmed,
    Failed,
    DeadLetter,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    Original,
    Bump,
    Cancel,
}

pub const KINDS: [Kind; 3] = [Kind::Original, Kind::Bump, Kind::Cancel];

/// A transaction of our signer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Body {
    Ours {
        operation: u8,
        cycle: u8,
        kind: Kind,
    },
    /// Signed with our key by somebody else.
    Foreign,
}

impl Body {
    /// Its bit in the set of what was sent for a nonce.
    pub fn bit(self) -> u16 {
        match self {
            Self::Ours { operation, cycle, kind } => 1 << (operation * 6 + cycle * 3 + kind as u8),
            Self::Foreign => 0,
        }
    }

    /// Our own transactions.
    pub fn all() -> impl Iterator<Item = Self> {
        let places = (0..OPERATIONS as u8).flat_map(|operation| (0..CYCLES as u8).map(move |cycle| (operation, cycle)));
        places.flat_map(|(operation, cycle)| KINDS.map(|kind| Self::Ours { operation, cycle, kind }))
    }

    /// Whether its success is this operation's effect.
    pub fn serves(self, wanted: usize) -> bool {
        matches!(self, Self::Ours { operation, kind, .. } if operation as usize == wanted && kind != Kind::Cancel)
    }
}

/// A transaction in a block. The era tells one block at a height from the one that replaced it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Receipt {
    pub body: Body,
    pub success: bool,
    pub era: u8,
}

/// An operation as it is stored, with the attempts of each cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Row {
    pub status: Status,
    /// The row tells the operator that nothing of it can take effect any more.
    pub over: bool,
    pub abandoned: bool,
    pub cycle: u8,
    /// The nonce of each cycle, once one was signed.
    pub slots: [Option<u8>; CYCLES],
    /// The kinds of attempts committed in each cycle, as bits.
    pub attempts: [u8; CYCLES],
}

impl Row {
    pub const NEW: Self = Self {
        status: Status::Pending,
        over: false,
        abandoned: false,
        cycle: 0,
        slots: [None; CYCLES],
        attempts: [0; CYCLES],
    };

    pub fn slot(&self) -> Option<u8> {
        self.slots[self.cycle as usize]
    }

    pub fn has(&self, kind: Kind) -> bool {
        self.attempts[self.cycle as usize] & (1 << kind as u8) != 0
    }

    /// Whether these bytes are stored as an attempt of this row.
    pub fn knows(&self, me: usize, body: Body) -> bool {
        match body {
            Body::Ours { operation, cycle, kind } => {
                operation as usize == me && self.attempts[cycle as usize] & (1 << kind as u8) != 0
            }
            Body::Foreign => false,
        }
    }
}

/// What the follower has stored of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct View {
    pub receipts: [Option<Receipt>; NONCES],
    /// Nonces below are final.
    pub last: u8,
}

/// The chain itself, as far as our signer is concerned: one transaction a nonce, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Chain {
    pub blocks: [Option<Receipt>; NONCES],
    pub length: u8,
    pub last: u8,
    pub era: u8,
    pub reorgs_left: u8,
    pub foreign_left: u8,
}

impl Chain {
    pub fn canonical(&self) -> impl Iterator<Item = Receipt> + '_ {
        self.blocks[..self.length as usize].iter().flatten().copied()
    }
}

/// What a worker has read and decided, and not yet committed. A crash forgets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Held {
    pub operation: u8,
    pub old: Row,
    pub new: Row,
    /// The lane's counter as it was read, where a nonce is taken.
    pub counter: Option<u8>,
    /// Broken variants only: the counter is written, the row is not.
    pub half: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State {
    pub rows: [Row; OPERATIONS],
    pub counter: u8,
    pub view: View,
    pub chain: Chain,
    /// Everything that ever went out, by nonce. Once sent, bytes may sit in somebody's pool for ever;
    /// that they are lost, evicted or doubled is the chain's freedom to take them late or never.
    pub sent: [u16; NONCES],
    pub workers: [Option<Held>; 2],
}

impl State {
    pub fn start(reorgs_left: u8, foreign_left: u8) -> Self {
        let chain = Chain { blocks: [None; NONCES], length: 0, last: 0, era: 0, reorgs_left, foreign_left };
        Self {
            rows: [Row::NEW; OPERATIONS],
            counter: 0,
            view: View { receipts: [None; NONCES], last: 0 },
            chain,
            sent: [0; NONCES],
            workers: [None; 2],
        }
    }

    /// One state for all that differ in nothing that can still matter.
    pub fn normal(mut self, compared: bool) -> Self {
        let (rows, counter) = (self.rows, self.counter);
        if compared {
            // A write that was read from an older row can only be refused: as if the worker had crashed.
            let fresh = |held: &Held| {
                held.old == rows[held.operation as usize] && held.counter.is_none_or(|read| read == counter)
            };
            self.workers = self.workers.map(|held| held.filter(fresh));
        }
        // Workers are alike, who is who does not matter.
        self.workers.sort_unstable();
        // Bytes for a nonce that is final cannot be taken any more.
        self.sent[..self.chain.last as usize].fill(0);
        self.forget_eras();
        self
    }

    /// Eras only tell stored receipts from those of blocks that replaced theirs.
    fn forget_eras(&mut self) {
        let mut pairs = self.view.receipts.iter().zip(&self.chain.blocks);
        if pairs.all(|(stored, canonical)| stored.is_none() || stored == canonical) {
            let receipts = self.view.receipts.iter_mut().chain(&mut self.chain.blocks);
            receipts.flatten().for_each(|receipt| receipt.era = 0);
            self.chain.era = 0;
        }
    }
}
