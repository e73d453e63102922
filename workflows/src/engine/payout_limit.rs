//! The daily payout limit. The sum signed today is in the database and is updated in the commit of the signed transaction, so it holds
//! across processes and restarts, and two processes cannot use the same room. A replacement adds nothing.

use std::collections::BTreeMap;

use alloy_primitives::{Address, U256};
use muniment_activities::payout::calldata;
use muniment_domain::db::Tx;
use muniment_domain::{Result, clock, payout_day};

use crate::engine::prepare::Prepared;
use crate::engine::{Engine, Network};

/// The payouts signed today, by asset.
#[derive(Debug, Default)]
pub struct Day {
    chain_id: i64,
    day: i64,
    read: BTreeMap<Address, U256>,
    now: BTreeMap<Address, U256>,
}

/// Reads today's sums, if the batch contains a payout.
pub async fn today(engine: &Engine, network: &Network, batch: &[Prepared]) -> Result<Day> {
    if !batch.iter().any(|prepared| payment_of(&prepared.step.calldata).is_some()) {
        return Ok(Day::default());
    }
    let day = clock::day(engine.db.clock().now());
    let mut tx = engine.db.read().await?;
    let sums = payout_day::of(&mut tx, network.id(), day).await?;
    let read: BTreeMap<Address, U256> = sums.into_iter().map(|(asset, signed)| (asset.0, signed.0)).collect();
    Ok(Day { chain_id: network.id(), day, now: read.clone(), read })
}

impl Day {
    /// Today's sum for the asset of a call, without this call.
    pub fn spent(&self, calldata: &[u8]) -> U256 {
        payment_of(calldata).and_then(|(asset, _)| self.now.get(&asset).copied()).unwrap_or_default()
    }

    /// Adds a signed call.
    pub fn add(&mut self, calldata: &[u8]) {
        if let Some((asset, amount)) = payment_of(calldata) {
            let sum = self.now.entry(asset).or_default();
            *sum = sum.saturating_add(amount);
        }
    }

    /// Writes the sums, if they have not changed since they were read.
    pub async fn write(&self, tx: &mut Tx) -> Result<()> {
        for (asset, sum) in &self.now {
            let read = self.read.get(asset);
            if read != Some(sum) {
                payout_day::set_sum(tx, self.chain_id, *asset, self.day, read.copied(), *sum).await?;
            }
        }
        Ok(())
    }
}

/// The asset and the amount of a call. If its arguments cannot be read, the signing policy refuses it.
fn payment_of(calldata: &[u8]) -> Option<(Address, U256)> {
    calldata::money_moved(calldata).ok().flatten()
}
