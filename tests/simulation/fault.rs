//! What can go wrong, and how often it did while work was in flight.

use std::sync::atomic::{AtomicU64, Ordering};

use muniment_domain::point::{Point, When};

macro_rules! faults {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {
        /// A kind of fault.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Fault { $($(#[$doc])* $name),+ }

        impl Fault {
            pub const ALL: &'static [Fault] = &[$(Fault::$name),+];
        }
    };
}

faults! {
    /// No endpoint answers, for a while.
    Outage,
    /// One endpoint does not.
    EndpointDown,
    /// The request never arrives.
    LostRequest,
    /// The request is served, and its answer lost.
    LostResponse,
    /// The request is served twice.
    Duplicated,
    /// The answer is no answer.
    Garbage,
    /// Null where there is something.
    NullAnswer,
    /// Too many calls.
    RateLimited,
    /// An endpoint stays where it was, on a branch that may be gone.
    Stale,
    /// A receipt with another outcome or without its events.
    ForgedReceipt,
    /// A receipt without its events, that of a success.
    NoLogs,
    /// The receipt of a transaction whose block was replaced.
    OrphanReceipt,
    /// A block without one of its transactions.
    ShortBody,
    /// A newest block far above every other.
    FalseHead,
    /// Some of the newest blocks are missing for the length of one answer.
    Jitter,
    /// An endpoint calls its newest block final.
    FalseFinality,
    /// Another chain id.
    WrongChain,
    /// Another hash than that of what was sent.
    OtherHash,
    /// A node takes a transaction and tells nobody.
    Swallowed,
    /// Every pool is emptied.
    PoolEvicted,
    /// Not in this block.
    Delayed,
    /// A transaction that everybody had forgotten is mined.
    Resurfaced,
    /// One of several attempts on a nonce is mined.
    ReplacedByBump,
    /// Executed, and refused by the contract.
    Reverted,
    /// A block with a transaction is replaced.
    Reorg,
    /// And the transaction is not in any pool afterwards.
    ReorgLost,
    /// The base fee jumps above what was offered.
    Spike,
    /// The base fee stays above every cap until all faults stop.
    Dear,
    /// The signer has no money.
    Unfunded,
    /// A stranger uses the signer's key.
    ForeignNonce,
    /// An agent executes our very operation with a key of their own.
    AgentExecutes,
    /// A block in which an agent executed our operation is replaced.
    AgentReorg,
    /// An agent executes something else under our operation id.
    AgentConflicts,
    /// The queue's tables are emptied.
    QueueEmptied,
    /// The same wake, for both workers.
    WakeDoubled,
    /// The process ends in the middle of a question to the chain.
    Killed,
    /// The process ends between two calls of the database.
    KilledBetweenCalls,
    /// The other worker or a person makes a whole move in the middle of this one's, at a question to the chain.
    Interleaved,
    /// The same, between two calls of the database.
    BetweenCalls,
    /// The move in the middle waited for a row that this one had locked.
    WaitedForLock,
    /// A commit fails, or its answer is lost, in a process that goes on.
    CommitFailed,
    /// A node never answers, and the move is given up.
    Hung,
    /// A connection to the database never answers, and the move is given up.
    HalfOpen,
    /// The task of a lane ends, and with it what waited there.
    LaneEnded,
    /// More wakes than the intake has places for.
    Overflow,
    /// The chain moves in the middle of a move.
    ChainMoved,
    /// The clock leaps.
    ClockJump,
    /// The clock is set back.
    ClockBack,
    /// More blocks pass at once than are walked one by one.
    LongGap,
    /// The same, after blocks that were already followed are replaced.
    LongGapAfterReorg,
    /// Each process has a key that the other does not have.
    KeysApart,
    /// A process starts without a key that it had.
    KeyTaken,
    /// A person's answer is lost, and they ask again.
    AskedAgain,
    /// Nobody came until nothing but people could go on.
    NobodyCame,
}

/// How often each fault hit, in one run.
#[derive(Clone)]
pub struct Hits(Vec<u64>);

impl Default for Hits {
    fn default() -> Self {
        Self(vec![0; Fault::ALL.len()])
    }
}

impl Hits {
    pub fn add(&mut self, fault: Fault) {
        self.0[fault as usize] += 1;
    }
}

const FAULTS: usize = Fault::ALL.len();
const POINTS: usize = Point::ALL.len();

/// How often each fault and each crash hit, over all runs.
pub struct Totals {
    faults: [AtomicU64; FAULTS],
    crashes: [[AtomicU64; 2]; POINTS],
}

/// Faults that only a server has: an embedded database has one writer.
const ON_SERVER: &[Fault] = &[Fault::WaitedForLock];

/// Writes that no life of the simulation comes to; processes are ended around them in `tests/crash.rs` and the files that it names.
const ELSEWHERE: &[Point] = &[
    Point::SpeedUp,
    Point::Command,
    Point::Approval,
    Point::Reconcile,
    Point::Account,
    Point::Snapshot,
    Point::Timer,
    Point::FanOut,
    Point::Claim,
    Point::Deliver,
    Point::Chain,
];

impl Totals {
    pub const fn new() -> Self {
        Self {
            faults: [const { AtomicU64::new(0) }; FAULTS],
            crashes: [const { [const { AtomicU64::new(0) }; 2] }; POINTS],
        }
    }

    pub fn add(&self, hits: &Hits, crashes: &[(Point, When)]) {
        for (total, hit) in self.faults.iter().zip(&hits.0) {
            total.fetch_add(*hit, Ordering::Relaxed);
        }
        for (point, when) in crashes {
            self.crashes[*point as usize][*when as usize].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The crashes that never happened.
    pub fn missed_crashes(&self) -> Vec<(Point, When)> {
        let all = Point::ALL.iter().filter(|point| !ELSEWHERE.contains(point));
        let all = all.flat_map(|point| [(*point, When::Before), (*point, When::After)]);
        all.filter(|crash| !self.has_crashed(*crash)).collect()
    }

    /// Whether a process ended there.
    pub fn has_crashed(&self, (point, when): (Point, When)) -> bool {
        self.crashes[point as usize][when as usize].load(Ordering::Relaxed) > 0
    }

    /// How often a fault hit.
    pub fn count(&self, fault: Fault) -> u64 {
        self.faults[fault as usize].load(Ordering::Relaxed)
    }

    /// The table, and what never happened.
    pub fn report(&self) -> (String, Vec<String>) {
        let (mut lines, mut never) = (Vec::new(), Vec::new());
        let mut line = |name: String, count: u64| {
            if count == 0 {
                never.push(name.clone());
            }
            lines.push(format!("{count:>10}  {name}"));
        };
        let known = Fault::ALL.iter().zip(&self.faults).filter(|(fault, _)| !ON_SERVER.contains(fault));
        for (fault, count) in known {
            line(format!("{fault:?}"), count.load(Ordering::Relaxed));
        }
        let met = Point::ALL.iter().zip(&self.crashes).filter(|(point, _)| !ELSEWHERE.contains(point));
        for (point, counts) in met {
            for (when, count) in [When::Before, When::After].iter().zip(counts) {
                line(format!("crash at {point} {when:?}"), count.load(Ordering::Relaxed));
            }
        }
        (lines.join("\n"), never)
    }
}
