//! Events of a token as movements of its ledger.
use alloy::{
    primitives::{Address, B256, U256},
    sol_types::SolEvent,
};

use crate::{
    chain::{logs::ChainLog, receipt::Log},
    contract::bindings::token::PlatformSecurityToken7518::{
        AddressFrozen, AddressRecovered, AddressReinstated, AddressUnfrozen, Frozen, LockReleased, LocksCut,
        PartitionAdded, Paused, TokensLocked, TransferBatch, TransferRestricted, TransferRestrictionRemoved,
        TransferSingle, Unpaused,
    },
    fault::Fault,
};

/// What an event does to the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Units move. A mint has no sender, a burn has no recipient.
    Transfer,
    /// Units are locked until a time.
    Lock,
    /// The locked units decrease by this amount: those of one release time, or the latest ones.
    ReduceLock,
    /// The units frozen without end are set to this amount. They overlap the locked ones.
    FreezeUnits,
    /// An address is frozen.
    Freeze,
    /// An address is unfrozen.
    Unfreeze,
    /// A partition is restricted. Without a partition: the token is paused.
    Restrict,
    /// The restriction of a partition is lifted, or the pause of the token.
    Unrestrict,
    /// Everything of a lost wallet moves to another wallet. With the wallet itself as the other one, its recovery is taken back.
    Recover,
}

/// One movement of the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Movement {
    /// The kind of movement.
    pub change: Change,
    /// The partition, if it concerns one.
    pub partition: Option<i64>,
    /// The sender, or the account concerned.
    pub from: Option<Address>,
    /// The recipient.
    pub to: Option<Address>,
    /// The units.
    pub units: Option<u128>,
    /// The release time, in seconds since 1970.
    pub release_at: Option<i64>,
}

/// A movement with the number types of the event.
struct RawMovement {
    change: Change,
    partition: Option<U256>,
    from: Option<Address>,
    to: Option<Address>,
    units: Option<U256>,
    release_at: Option<U256>,
}

impl RawMovement {
    const fn new(change: Change) -> Self {
        Self { change, partition: None, from: None, to: None, units: None, release_at: None }
    }

    fn of(change: Change, account: Address) -> Self {
        Self { from: Some(account), ..Self::new(change) }
    }

    /// A transfer. The zero address stands for no account.
    fn transfer(from: Address, to: Address, partition: U256, units: U256) -> Self {
        let account = |address: Address| (!address.is_zero()).then_some(address);
        Self {
            from: account(from),
            to: account(to),
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

/// The movements of one event of a token; none for an event that does not change the ledger.
pub fn read(log: &ChainLog) -> Result<Vec<Movement>, Fault> {
    let unreadable = |why: String| Fault::Malformed(format!("event {} of {}: {why}", log.log_index, log.tx_hash));
    let small = |value: U256| i64::try_from(value).map_err(|_| unreadable(format!("{value} is too large")));
    let units = |value: U256| u128::try_from(value).map_err(|_| unreadable(format!("{value} units are too many")));
    let movement = |line: RawMovement| {
        Ok(Movement {
            change: line.change,
            partition: line.partition.map(small).transpose()?,
            from: line.from,
            to: line.to,
            units: line.units.map(units).transpose()?,
            release_at: line.release_at.map(small).transpose()?,
        })
    };
    raw_movements(log).map_err(|e| unreadable(e.to_string()))?.into_iter().map(movement).collect()
}

/// Whether `read` returns a movement for an event of a token.
pub fn changes_ledger(log: &Log) -> bool {
    match log.topics.first() {
        // An empty batch moves nothing.
        Some(&TransferBatch::SIGNATURE_HASH) => {
            TransferBatch::decode_raw_log_validate(&log.topics, &log.data).is_ok_and(|event| !event.ids.is_empty())
        }
        Some(topic) => TOPICS.contains(topic),
        None => false,
    }
}

/// The events that can change the ledger.
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
    Paused::SIGNATURE_HASH,
    Unpaused::SIGNATURE_HASH,
    AddressRecovered::SIGNATURE_HASH,
    LockReleased::SIGNATURE_HASH,
    AddressReinstated::SIGNATURE_HASH,
];

fn raw_movements(log: &ChainLog) -> alloy::sol_types::Result<Vec<RawMovement>> {
    let one = |line: RawMovement| Ok(vec![line]);
    match log.topics.first() {
        Some(&TransferSingle::SIGNATURE_HASH) => {
            let e: TransferSingle = decoded(log)?;
            one(RawMovement::transfer(e.from, e.to, e.id, e.value))
        }
        Some(&TransferBatch::SIGNATURE_HASH) => {
            let e: TransferBatch = decoded(log)?;
            Ok(e.ids
                .iter()
                .zip(&e.values)
                .map(|(id, value)| RawMovement::transfer(e.from, e.to, *id, *value))
                .collect())
        }
        Some(&TokensLocked::SIGNATURE_HASH) => {
            let e: TokensLocked = decoded(log)?;
            one(RawMovement {
                release_at: Some(e.releaseTime),
                ..RawMovement::units(Change::Lock, e.account, e.id, e.amount)
            })
        }
        Some(&LocksCut::SIGNATURE_HASH) => {
            let e: LocksCut = decoded(log)?;
            one(RawMovement::units(Change::ReduceLock, e.holder, e.partition, e.units))
        }
        Some(&Frozen::SIGNATURE_HASH) => {
            let e: Frozen = decoded(log)?;
            one(RawMovement::units(Change::FreezeUnits, e.account, e.tokenId, e.amount))
        }
        Some(&AddressFrozen::SIGNATURE_HASH) => {
            one(RawMovement::of(Change::Freeze, decoded::<AddressFrozen>(log)?.account))
        }
        Some(&AddressUnfrozen::SIGNATURE_HASH) => {
            one(RawMovement::of(Change::Unfreeze, decoded::<AddressUnfrozen>(log)?.account))
        }
        Some(&TransferRestricted::SIGNATURE_HASH) => {
            one(RawMovement::partition(Change::Restrict, decoded::<TransferRestricted>(log)?.id))
        }
        Some(&TransferRestrictionRemoved::SIGNATURE_HASH) => {
            one(RawMovement::partition(Change::Unrestrict, decoded::<TransferRestrictionRemoved>(log)?.id))
        }
        Some(&Paused::SIGNATURE_HASH) => one(RawMovement::new(Change::Restrict)),
        Some(&Unpaused::SIGNATURE_HASH) => one(RawMovement::new(Change::Unrestrict)),
        Some(&PartitionAdded::SIGNATURE_HASH) => {
            let e: PartitionAdded = decoded(log)?;
            // A new partition can start restricted.
            one(RawMovement::partition(if e.restricted { Change::Restrict } else { Change::Unrestrict }, e.partition))
        }
        Some(&AddressRecovered::SIGNATURE_HASH) => {
            let e: AddressRecovered = decoded(log)?;
            one(RawMovement { to: Some(e.replacement), ..RawMovement::of(Change::Recover, e.lost) })
        }
        Some(&LockReleased::SIGNATURE_HASH) => {
            let e: LockReleased = decoded(log)?;
            let moved = |change, release| RawMovement {
                release_at: Some(release),
                ..RawMovement::units(change, e.account, e.partition, e.units)
            };
            let earlier = (!e.newReleaseAt.is_zero()).then(|| moved(Change::Lock, e.newReleaseAt));
            Ok([Some(moved(Change::ReduceLock, e.releaseAt)), earlier].into_iter().flatten().collect())
        }
        Some(&AddressReinstated::SIGNATURE_HASH) => {
            let account = decoded::<AddressReinstated>(log)?.account;
            one(RawMovement { to: Some(account), ..RawMovement::of(Change::Recover, account) })
        }
        _ => Ok(Vec::new()),
    }
}

fn decoded<E: SolEvent>(log: &ChainLog) -> alloy::sol_types::Result<E> {
    E::decode_raw_log_validate(&log.topics, &log.data)
}
