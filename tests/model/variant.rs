//! The protocol, and the ways to break it that others have shipped.

/// How the engine of a run behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// As designed.
    Sound,
    /// The bytes go out first, the commit follows.
    SendBeforeCommit,
    /// A fee bump goes out before its hash is stored.
    BumpSentBeforeStored,
    /// The nonce's counter and the attempt are two commits.
    CounterApart,
    /// The counter is added to without comparing it with what was signed for.
    CounterUncompared,
    /// The row is written without comparing it with what was read.
    RowUncompared,
    /// No receipt yet: sign again with a new nonce.
    NewNonceOnMissingReceipt,
    /// No receipt although the nonce is final: it must have failed.
    FailedOnMissingReceipt,
    /// The nonce is used up and no receipt is ours: it must have been a stranger.
    StrangerByCount,
    /// A receipt is believed as soon as it is seen.
    SettleBeforeFinal,
    /// A stored receipt is believed although its block was replaced.
    TrustOrphan,
    /// A final block that was walked without its receipts is never looked at again.
    SeenOnceOrNever,
    /// A cancel counts as done when it is committed.
    CancelIsFailure,
    /// A revert is called failed while the row still says that its nonce is open.
    FailedNotOver,
    /// The operator's retry signs anew while the old nonce is open.
    RetryWhileOpen,
    /// The operator's abandon does not ask whether the nonce is open.
    AbandonWhileOpen,
}

impl Variant {
    /// Whether stale writes are refused, and nothing is done with what is only held.
    pub fn compares(self) -> bool {
        let stale = [Self::SendBeforeCommit, Self::BumpSentBeforeStored, Self::RowUncompared];
        !stale.contains(&self) && ![Self::CounterApart, Self::CounterUncompared].contains(&self)
    }
}

/// What may happen in a run: the bounds that keep it finite.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub operations: usize,
    pub workers: usize,
    pub reorgs: u8,
    pub foreign: u8,
    pub bump: bool,
    pub cancel: bool,
    pub retry: bool,
}
