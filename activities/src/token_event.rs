//! What the logs of a token say to its books.
use alloy::{
    primitives::{Address, B256, U256},
    sol_types::SolEvent,
};

use crate::{
    bindings::token::PlatformSecurityToken7518::{
        AddressFrozen, AddressRecovered, AddressUnfrozen, Frozen, LocksCut, PartitionAdded, TokensLocked,
        TransferBatch, TransferRestricted, TransferRestrictionRemoved, TransferSingle,
    },
    fault::Fault,
    logs::PlacedLog,
    receipt::Log,
};

/// What a log does to the books.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Units move; from nobody when they are issued, to nobody when they are burnt.
    Transfer,
    /// Units are locked until a time.
    Lock,
    /// So many units less are locked.
    Cut,
    /// Exactly so many units are locked without end.
    Hold,
    /// An address is frozen.
    Freeze,
    /// It is not any more.
    Unfreeze,
    /// A partition is restricted.
    Restrict,
    /// It is not any more.
    Unrestrict,
    /// Everything of a lost wallet belongs to another one.
    Recover,
}

/// One movement that a log tells of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Movement {
    /// What it is.
    pub change: Change,
    /// The partition, where it concerns one.
    pub partition: Option<i64>,
    /// Whose units, or who.
    pub from: Option<Address>,
    /// Who gets them.
    pub to: Option<Address>,
    /// How many.
    pub units: Option<u128>,
    /// Until when, in seconds since 1970.
    pub release_at: Option<i64>,
}

/// The same as the log has it.
struct Line {
    change: Change,
    partition: Option<U256>,
    from: Option<Address>,
    to: Option<Address>,
    units: Option<U256>,
    release_at: Option<U256>,
}

impl Line {
    const fn new(change: Change) -> Self {
        Self { change, partition: None, from: None, to: None, units: None, release_at: None }
    }

    fn of(change: Change, account: Address) -> Self {
        Self { from: Some(account), ..Self::new(change) }
    }

    /// Units that move; the zero address is nobody.
    fn transfer(from: Address, to: Address, partition: U256, units: U256) -> Self {
        let somebody = |address: Address| (!address.is_zero()).then_some(address);
        Self {
            from: somebody(from),
            to: somebody(to),
            partition: Some(partition),
            units: Some(units),
            ..Self::new(Change::Transfer)
        }
    }

    fn units(change: Change, holder: Address, partition: U256, units: U256) -> Self {
        Self { partition: Some(partition), units: Some(units), ..Self::of(change, holder) }
    }

    fn partition(change: Change, partition: U256) -> Self {
        Self { partition: Some(partition), ..Self::new(change) }
    }
}

/// The movements that one log of a token tells of; none for a log that moves no book.
pub fn read(log: &PlacedLog) -> Result<Vec<Movement>, Fault> {
    let unreadable = |why: String| Fault::Malformed(format!("event {} of {}: {why}", log.log_index, log.tx_hash));
    let small = |value: U256| i64::try_from(value).map_err(|_| unreadable(format!("{value} is too large")));
    let units = |value: U256| u128::try_from(value).map_err(|_| unreadable(format!("{value} units are too many")));
    let movement = |line: Line| {
        Ok(Movement {
            change: line.change,
            partition: line.partition.map(small).transpose()?,
            from: line.from,
            to: line.to,
            units: line.units.map(units).transpose()?,
            release_at: line.release_at.map(small).transpose()?,
        })
    };
    lines(log).map_err(|e| unreadable(e.to_string()))?.into_iter().map(movement).collect()
}

/// Whether a log of a token is one that `read` has a line for.
pub fn moves_books(log: &Log) -> bool {
    match log.topics.first() {
        // One that moves nothing has no line.
        Some(&TransferBatch::SIGNATURE_HASH) => {
            TransferBatch::decode_raw_log_validate(&log.topics, &log.data).is_ok_and(|event| !event.ids.is_empty())
        }
        Some(topic) => TOPICS.contains(topic),
        None => false,
    }
}

/// The events that can move a book.
pub const TOPICS: &[B256] = &[
    TransferBatch::SIGNATURE_HASH,
    TransferSingle::SIGNATURE_HASH,
    TokensLocked::SIGNATURE_HASH,
    LocksCut::SIGNATURE_HASH,
    Frozen::SIGNATURE_HASH,
    AddressFrozen::SIGNATURE_HASH,
    AddressUnfrozen::SIGNATURE_HASH,
    TransferRestricted::SIGNATURE_HASH,
    TransferRestrictionRemoved::SIGNATURE_HASH,
    PartitionAdded::SIGNATURE_HASH,
    AddressRecovered::SIGNATURE_HASH,
];

fn lines(log: &PlacedLog) -> alloy::sol_types::Result<Vec<Line>> {
    let one = |line: Line| Ok(vec![line]);
    match log.topics.first() {
        Some(&TransferSingle::SIGNATURE_HASH) => {
            let e: TransferSingle = decoded(log)?;
            one(Line::transfer(e.from, e.to, e.id, e.value))
        }
        Some(&TransferBatch::SIGNATURE_HASH) => {
            let e: TransferBatch = decoded(log)?;
            Ok(e.ids.iter().zip(&e.values).map(|(id, value)| Line::transfer(e.from, e.to, *id, *value)).collect())
        }
        Some(&TokensLocked::SIGNATURE_HASH) => {
            let e: TokensLocked = decoded(log)?;
            one(Line { release_at: Some(e.releaseTime), ..Line::units(Change::Lock, e.account, e.id, e.amount) })
        }
        Some(&LocksCut::SIGNATURE_HASH) => {
            let e: LocksCut = decoded(log)?;
            one(Line::units(Change::Cut, e.holder, e.partition, e.units))
        }
        Some(&Frozen::SIGNATURE_HASH) => {
            let e: Frozen = decoded(log)?;
            one(Line::units(Change::Hold, e.account, e.tokenId, e.amount))
        }
        Some(&AddressFrozen::SIGNATURE_HASH) => one(Line::of(Change::Freeze, decoded::<AddressFrozen>(log)?.account)),
        Some(&AddressUnfrozen::SIGNATURE_HASH) => {
            one(Line::of(Change::Unfreeze, decoded::<AddressUnfrozen>(log)?.account))
        }
        Some(&TransferRestricted::SIGNATURE_HASH) => {
            one(Line::partition(Change::Restrict, decoded::<TransferRestricted>(log)?.id))
        }
        Some(&TransferRestrictionRemoved::SIGNATURE_HASH) => {
            one(Line::partition(Change::Unrestrict, decoded::<TransferRestrictionRemoved>(log)?.id))
        }
        Some(&PartitionAdded::SIGNATURE_HASH) => {
            let e: PartitionAdded = decoded(log)?;
            one(Line::partition(if e.restricted { Change::Restrict } else { Change::Unrestrict }, e.partition))
        }
        Some(&AddressRecovered::SIGNATURE_HASH) => {
            let e: AddressRecovered = decoded(log)?;
            one(Line { to: Some(e.replacement), ..Line::of(Change::Recover, e.lost) })
        }
        _ => Ok(Vec::new()),
    }
}

fn decoded<E: SolEvent>(log: &PlacedLog) -> alloy::sol_types::Result<E> {
    E::decode_raw_log_validate(&log.topics, &log.data)
}
