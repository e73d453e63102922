//! The check that the ledger has every event of a final receipt, before a verdict on it.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::{Address, B256};
use muniment_activities::chain::receipt::Receipt;
use muniment_activities::token::event::changes_ledger;
use muniment_domain::Result;
use muniment_domain::db::Tx;
use muniment_domain::id::OfferingId;
use muniment_domain::token_event::{self, TokenEvent};
use muniment_domain::token_read;

use crate::engine::{Engine, Network, ledger};

/// The events of some final receipts: the stored ones, and those that the commit of their verdicts stores.
#[derive(Default)]
pub struct Known {
    tokens: BTreeMap<Address, OfferingId>,
    /// By transaction and offering. A log counts once, although it can be several events.
    counts: BTreeMap<(B256, OfferingId), i64>,
    /// The tokens that are read again from their first block.
    forgotten: BTreeSet<OfferingId>,
}

impl Known {
    /// Events that are not stored yet.
    pub fn unstored(events: &[TokenEvent]) -> Self {
        let mut counts = BTreeMap::new();
        for event in events.iter().filter(|event| event.line == 0) {
            *counts.entry((event.tx_hash.0, event.offering_id.clone())).or_default() += 1;
        }
        Self { counts, ..Self::default() }
    }

    /// Reads the stored events of receipts, for all of them together.
    pub async fn read(&mut self, tx: &mut Tx, network: &Network, receipts: &[&Receipt]) -> Result<()> {
        let told: BTreeSet<Address> = receipts.iter().flat_map(|r| count_events(r).into_keys()).collect();
        let tokens = token_read::among(tx, network.id(), &told.into_iter().collect::<Vec<_>>()).await?;
        self.tokens.extend(tokens.into_iter().map(|token| (token.token_address.0, token.offering_id)));
        let ours = |r: &&&Receipt| r.logs.iter().any(|log| self.tokens.contains_key(&log.address));
        let hashes: Vec<B256> = receipts.iter().filter(ours).map(|receipt| receipt.tx_hash).collect();
        for (hash, id, count) in token_event::counts(tx, &hashes).await? {
            self.counts.insert((hash, id), count);
        }
        Ok(())
    }

    /// Whether the token of an offering is read again. Until then its ledger has the events of no receipt.
    pub fn is_forgotten(&self, offering_id: &OfferingId) -> bool {
        self.forgotten.contains(offering_id)
    }

    /// The offering of a token whose ledger lacks an event of a receipt.
    fn lacking(&self, receipt: &Receipt) -> Option<OfferingId> {
        count_events(receipt).into_iter().find_map(|(token, told)| {
            let offering_id = self.tokens.get(&token)?;
            let known = self.counts.get(&(receipt.tx_hash, offering_id.clone())).copied().unwrap_or_default();
            (known < told).then(|| offering_id.clone())
        })
    }
}

/// The number of ledger events in a receipt, for each contract.
fn count_events(receipt: &Receipt) -> BTreeMap<Address, i64> {
    let mut told = BTreeMap::new();
    for log in receipt.logs.iter().filter(|log| changes_ledger(log)) {
        *told.entry(log.address).or_default() += 1;
    }
    told
}

/// Whether the ledger has every event of a final receipt. If an endpoint hid one, its earlier answers are not trusted either: the token is
/// read again from its first block.
pub async fn has_read(engine: &Engine, known: &mut Known, receipt: &Receipt) -> Result<bool> {
    let Some(offering_id) = known.lacking(receipt) else { return Ok(true) };
    tracing::error!(tx.hash = %receipt.tx_hash, offering.id = offering_id.as_str(), "an endpoint hid events; the token is read again");
    ledger::forget(engine, &offering_id).await?;
    // The other receipts of the token wait as well, because their events were removed with the reset.
    known.counts.retain(|(_, id), _| *id != offering_id);
    known.forgotten.insert(offering_id);
    Ok(false)
}
