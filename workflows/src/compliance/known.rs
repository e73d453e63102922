//! What the books say of a holder or a partition, as of the final block up to which the token is read: enough to refuse what the chain
//! would refuse, without asking it. What is newer shows when the call is tried, before anything is signed.

use alloy_primitives::Address;
use muniment_domain::db::Tx;
use muniment_domain::{Code, Error, Result, holding, token};

use super::Ground;

impl Ground {
    /// Refuses a partition that the token does not have. Partitions are dense from 1.
    pub async fn partition(&self, tx: &mut Tx, partition: u32) -> Result<()> {
        let count = token::partitions(tx, &self.offering).await?;
        if (1..=count).contains(&i64::from(partition)) {
            return Ok(());
        }
        let detail = format!("The token has no partition {partition}; there are 1 to {count}.");
        Err(Error::field("/partition", "partition_unknown", detail))
    }

    /// Units of an address in a partition: all, and those that are locked.
    pub async fn held(&self, tx: &mut Tx, address: Address, partition: u32) -> Result<(u128, u128)> {
        let holding = holding::find(tx, &self.offering.id, address, i64::from(partition)).await?;
        Ok(holding.map_or((0, 0), |h| (h.balance.0, h.locked.0)))
    }

    /// Refuses more units than there are.
    pub fn enough(&self, asked: u128, there: u128, which: &str) -> Result<()> {
        if asked <= there {
            return Ok(());
        }
        let (asked, there) = (self.quantity(asked), self.quantity(there));
        let detail = format!("{asked} units were named, {there} {which}.");
        Err(Error::field("/quantity", "insufficient_balance", detail))
    }

    /// Refuses a wallet that holds units already: nothing can be recovered to it.
    pub async fn empty(&self, tx: &mut Tx, address: Address) -> Result<()> {
        if !holding::holds(tx, &self.offering.id, address).await? {
            return Ok(());
        }
        let detail = format!("{} holds units already; a recovery needs an empty wallet.", address.to_checksum(None));
        Err(Error::field("/new_address", "wallet_not_empty", detail))
    }

    /// Whether an address is frozen.
    pub async fn frozen(&self, tx: &mut Tx, address: Address) -> Result<bool> {
        holding::is_frozen(tx, &self.offering.id, address).await
    }

    /// Refuses an address that was recovered to another one: it stays frozen for ever.
    pub async fn living(&self, tx: &mut Tx, pointer: &'static str, address: Address) -> Result<()> {
        let Some(successor) = holding::successor(tx, &self.offering.id, address).await? else { return Ok(()) };
        let (address, successor) = (address.to_checksum(None), successor.to_checksum(None));
        let detail = format!("{address} was recovered to {successor} and stays frozen for ever.");
        Err(Error::field(pointer, "address_retired", detail))
    }

    /// Refuses to free a partition that is free.
    pub async fn restricted(&self, tx: &mut Tx, partition: u32) -> Result<()> {
        if holding::is_restricted(tx, &self.offering.id, i64::from(partition)).await? {
            return Ok(());
        }
        Err(Error::refused(Code::InvalidState, format!("Partition {partition} is not restricted.")))
    }
}
