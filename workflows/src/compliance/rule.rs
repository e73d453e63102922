//! The rules, and one function that checks any of them. They read the ledger as of the chain's final block: enough to refuse what the token
//! would refuse, without asking it. The trial call before signing finds what is newer.

use chrono::TimeDelta;
use muniment_domain::db::Tx;
use muniment_domain::{Code, Error, Result, holding, operation, token, wallet_claim};

use super::context::{Subject, TokenContext};
use super::request::{AddressField, Terms};

/// A rule that a request must satisfy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The holder is an address that can hold units: not zero, no contract and no signer of the platform.
    HolderAllowed,
    /// The recipient can hold units, by the same rule.
    RecipientAllowed,
    /// The recipient is another address than the holder.
    RecipientDiffers,
    /// The token has the partition.
    PartitionExists,
    /// The quantity is a positive number that the token can store.
    QuantityValid,
    /// The lock ends in the future, at a time that the token can store.
    ReleaseTimeValid,
    /// No other operation on one of the subjects is unfinished, so that an unfreeze never overtakes a freeze.
    NoOperationInProgress,
    /// The same, but an operation that failed does not count: this one takes its subjects over (`takeover.rs`).
    OnlyFailedOperations,
    /// The holder was not recovered to another address.
    HolderNotRecovered,
    /// The recipient was not recovered to another address.
    RecipientNotRecovered,
    /// The holder is frozen.
    HolderFrozen,
    /// The recipient is not frozen.
    RecipientNotFrozen,
    /// The holder has the units.
    BalanceSuffices,
    /// The holder has the units, and they are not locked.
    UnlockedBalanceSuffices,
    /// The partition is restricted.
    PartitionRestricted,
    /// The holder was recovered to another address.
    HolderRecovered,
    /// The new release time is in the future and before the present one.
    ReleaseEarlier,
    /// The holder has units locked until exactly the release time.
    LockSuffices,
    /// The token is paused.
    TokenPaused,
}

impl TokenContext {
    /// Refuses a request that violates a rule.
    pub async fn check(&self, tx: &mut Tx, rule: Rule, terms: &Terms<'_>, subjects: &[Subject]) -> Result<()> {
        let (holder, recipient) = (terms.holder, terms.recipient);
        match rule {
            Rule::HolderAllowed => wallet_claim::check_address(tx, holder.0, holder.1).await,
            Rule::RecipientAllowed => wallet_claim::check_address(tx, recipient.0, recipient.1).await,
            Rule::RecipientDiffers => recipient_differs(terms),
            Rule::PartitionExists => self.partition_exists(tx, terms.partition).await,
            Rule::QuantityValid => self.units(terms.quantity).map(drop),
            Rule::ReleaseTimeValid => release_time_valid(tx, terms),
            Rule::NoOperationInProgress => self.no_operation_in_progress(tx, subjects, false).await,
            Rule::OnlyFailedOperations => self.no_operation_in_progress(tx, subjects, true).await,
            Rule::HolderNotRecovered => self.not_recovered(tx, holder).await,
            Rule::RecipientNotRecovered => self.not_recovered(tx, recipient).await,
            Rule::HolderFrozen => self.is_frozen(tx, holder).await,
            Rule::RecipientNotFrozen => self.is_not_frozen(tx, recipient).await,
            Rule::BalanceSuffices => self.balance_suffices(tx, terms).await,
            Rule::UnlockedBalanceSuffices => self.unlocked_balance_suffices(tx, terms).await,
            Rule::PartitionRestricted => self.is_restricted(tx, terms.partition).await,
            Rule::HolderRecovered => self.recovered(tx, holder).await,
            Rule::ReleaseEarlier => release_earlier(tx, terms),
            Rule::LockSuffices => self.lock_suffices(tx, terms).await,
            Rule::TokenPaused => self.is_paused(tx).await,
        }
    }

    /// Refuses a partition that the token does not have. Partitions are numbered from 1 without gaps.
    pub async fn partition_exists(&self, tx: &mut Tx, partition: u32) -> Result<()> {
        let count = token::partitions(tx, &self.offering).await?;
        if (1..=count).contains(&i64::from(partition)) {
            return Ok(());
        }
        let detail = format!("The token has no partition {partition}. Its partitions are 1 to {count}.");
        Err(Error::field("/partition", "partition_unknown", detail))
    }

    async fn no_operation_in_progress(&self, tx: &mut Tx, subjects: &[Subject], but_failed: bool) -> Result<()> {
        for subject in subjects {
            if let Some(id) = self.unfinished_operation(tx, *subject).await? {
                let other = operation::find(tx, &id).await?;
                if but_failed && other.needs_attention() {
                    continue;
                }
                let detail = format!(
                    "The operation {id} ({}) on the same subject is {}. Wait until it is finished.",
                    other.kind, other.status
                );
                return Err(Error::refused(Code::OperationInProgress, detail));
            }
        }
        Ok(())
    }

    async fn not_recovered(&self, tx: &mut Tx, (pointer, address): AddressField) -> Result<()> {
        let Some(successor) = holding::successor(tx, &self.offering.id, address).await? else { return Ok(()) };
        let (address, successor) = (address.to_checksum(None), successor.to_checksum(None));
        let detail = format!("{address} was recovered to {successor} and stays frozen permanently.");
        Err(Error::field(pointer, "address_retired", detail))
    }

    async fn recovered(&self, tx: &mut Tx, (pointer, address): AddressField) -> Result<()> {
        if holding::successor(tx, &self.offering.id, address).await?.is_some() {
            return Ok(());
        }
        let detail = format!("{} was not recovered, so there is nothing to take back.", address.to_checksum(None));
        Err(Error::field(pointer, "address_not_recovered", detail))
    }

    async fn is_frozen(&self, tx: &mut Tx, (pointer, address): AddressField) -> Result<()> {
        if holding::is_frozen(tx, &self.offering.id, address).await? {
            return Ok(());
        }
        let address = address.to_checksum(None);
        let detail = format!("{address} is not frozen. Freeze it first (POST /blockchain/freeze).");
        Err(Error::field(pointer, "address_not_frozen", detail))
    }

    async fn is_not_frozen(&self, tx: &mut Tx, (pointer, address): AddressField) -> Result<()> {
        if !holding::is_frozen(tx, &self.offering.id, address).await? {
            return Ok(());
        }
        let detail = format!("{} is frozen and cannot receive units.", address.to_checksum(None));
        Err(Error::field(pointer, "address_frozen", detail))
    }

    async fn balance_suffices(&self, tx: &mut Tx, terms: &Terms<'_>) -> Result<()> {
        let (balance, _) = self.balance(tx, terms).await?;
        self.suffices(terms, balance, "are held")
    }

    async fn unlocked_balance_suffices(&self, tx: &mut Tx, terms: &Terms<'_>) -> Result<()> {
        let (balance, locked) = self.balance(tx, terms).await?;
        self.suffices(terms, balance.saturating_sub(locked), "are held and not locked")
    }

    async fn lock_suffices(&self, tx: &mut Tx, terms: &Terms<'_>) -> Result<()> {
        let (holder, partition) = (terms.holder.1, i64::from(terms.partition));
        let until = terms.release_at.timestamp();
        let locked = holding::locked_until(tx, &self.offering.id, holder, partition, until).await?;
        self.suffices(terms, locked, "are locked until exactly this time")
    }

    /// The holder's units in the partition: all of them, and the locked part.
    async fn balance(&self, tx: &mut Tx, terms: &Terms<'_>) -> Result<(u128, u128)> {
        let holding = holding::find(tx, &self.offering.id, terms.holder.1, terms.partition.into()).await?;
        Ok(holding.map_or((0, 0), |h| (h.balance.0, h.locked.0)))
    }

    fn suffices(&self, terms: &Terms<'_>, available: u128, which: &str) -> Result<()> {
        let requested = self.units(terms.quantity)?;
        if requested <= available {
            return Ok(());
        }
        let (requested, available) = (self.quantity(requested), self.quantity(available));
        let detail = format!("{requested} units were requested, but only {available} {which}.");
        Err(Error::field("/quantity", "insufficient_balance", detail))
    }

    async fn is_restricted(&self, tx: &mut Tx, partition: u32) -> Result<()> {
        if holding::is_restricted(tx, &self.offering.id, partition.into()).await? {
            return Ok(());
        }
        Err(Error::refused(Code::InvalidState, format!("Partition {partition} is not restricted.")))
    }

    async fn is_paused(&self, tx: &mut Tx) -> Result<()> {
        if holding::is_paused(tx, &self.offering.id).await? {
            return Ok(());
        }
        Err(Error::refused(Code::InvalidState, "The token is not paused."))
    }
}

fn release_earlier(tx: &Tx, terms: &Terms<'_>) -> Result<()> {
    match terms.new_release_at {
        Some(at) if at <= tx.now() => {
            Err(Error::field("/new_release_at", "below_minimum", "Leave the new time out to release the units now."))
        }
        Some(at) if at >= terms.release_at => Err(Error::field(
            "/new_release_at",
            "above_maximum",
            "A lock can only be brought forward. Lock the units again to extend it.",
        )),
        _ => Ok(()),
    }
}

fn recipient_differs(terms: &Terms<'_>) -> Result<()> {
    if terms.holder.1 != terms.recipient.1 {
        return Ok(());
    }
    let detail = "The sender and the recipient are the same address. Name another recipient.";
    Err(Error::field(terms.recipient.0, "address_forbidden", detail))
}

fn release_time_valid(tx: &Tx, terms: &Terms<'_>) -> Result<()> {
    if terms.release_at <= tx.now() {
        return Err(Error::field("/release_at", "below_minimum", "A lock must end in the future."));
    }
    // A day less: the block that includes the lock can be older than this clock.
    if terms.release_at > tx.now() + TimeDelta::days(token::LOCK_DAYS_MAX - 1) {
        return Err(Error::field("/release_at", "above_maximum", "A lock can last 20 years at most."));
    }
    Ok(())
}
