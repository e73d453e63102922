//! What the index knows of a holder, as of its final block: enough to refuse what the chain would refuse, without asking it.

use alloy_primitives::Address;
use muniment_domain::db::Tx;
use muniment_domain::holding::{self, Holding};
use muniment_domain::{Error, Result};

use super::Ground;

impl Ground {
    /// The holding of an address in a partition, if it ever had one.
    async fn holding(&self, tx: &mut Tx, address: Address, partition: u32) -> Result<Option<Holding>> {
        holding::find(tx, &self.offering.id, address, i64::from(partition)).await
    }

    /// Units of an address in a partition: all, and those that are locked.
    pub async fn held(&self, tx: &mut Tx, address: Address, partition: u32) -> Result<(u128, u128)> {
        let holding = self.holding(tx, address, partition).await?;
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
}
