//! Accepting the new history of a halted chain: its final block vanished because the chain was rewound or its finality broke. Two admins
//! decide it. The engine finds the last block that both histories have, and begins there again. What was confirmed above it is sent again
//! with the same nonces, and shown until it is final once more. What was adopted was not signed here: it is shown, and not sent.

use alloy_primitives::B256;
use muniment_domain::chain::{self, Chain};
use muniment_domain::chain_history;
use muniment_domain::db::Tx;
use muniment_domain::{Code, Error, Result};
use serde::{Deserialize, Serialize};

use crate::approval_request::About;
use crate::engine::{Engine, Network, queue};

/// A request to accept the new history of a chain.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    /// The chain.
    pub chain_id: i64,
    /// The final block that vanished.
    pub final_number: i64,
    /// Its hash.
    pub final_hash: String,
    /// The last block of both histories. The approval covers exactly this.
    pub ancestor_number: i64,
    /// Its hash.
    pub ancestor_hash: String,
    /// The reason.
    pub reason: String,
}

impl Request {
    /// What the approval shows.
    pub fn about(&self) -> About {
        About {
            subject_type: "chain",
            subject_id: self.chain_id.to_string(),
            offering_id: None,
            amount: None,
            reason: Some(self.reason.clone()),
            live_key: format!("accept_history:{}", self.chain_id),
        }
    }
}

/// A halted chain with the last block of both histories.
#[derive(Clone, Debug)]
pub struct Examined {
    chain: Chain,
    ancestor: (i64, B256),
}

impl Examined {
    /// The request that covers this finding.
    pub fn request(&self, reason: &str) -> Request {
        Request {
            chain_id: self.chain.chain_id,
            final_number: self.chain.final_number,
            final_hash: self.chain.final_hash.to_string(),
            ancestor_number: self.ancestor.0,
            ancestor_hash: self.ancestor.1.to_string(),
            reason: reason.to_owned(),
        }
    }
}

/// The part of the check that needs only the database.
pub async fn check(tx: &mut Tx, r: &Request) -> Result<()> {
    let chain = halted(tx, r.chain_id).await?;
    if (chain.final_number, chain.final_hash.to_string()) == (r.final_number, r.final_hash.clone()) {
        return Ok(());
    }
    Err(Error::refused(Code::SnapshotMismatch, "The chain has another final block now. Request it again."))
}

/// Finds the last block that the database knows and the endpoints agree on, with no database transaction open.
pub async fn examine(engine: &Engine, chain_id: i64) -> Result<Examined> {
    let mut tx = engine.db.read().await?;
    let chain = halted(&mut tx, chain_id).await?;
    let mut known = chain_history::known_blocks(&mut tx, chain_id).await?;
    drop(tx);
    let unknown = || Error::refused(Code::UnknownChain, format!("Chain {chain_id} is not configured here."));
    let network = engine.network(chain_id).ok_or_else(unknown)?;
    if agreed_hash(network, chain.final_number).await? == chain.final_hash.0 {
        let detail =
            "The endpoints show the known final block again. Clear the halt with `muniment admin chain clear`.";
        return Err(Error::refused(Code::InvalidState, detail));
    }
    known.retain(|(number, _)| *number < chain.final_number);
    // Two histories part once, so the blocks that both have come first.
    let (mut low, mut high) = (0, known.len());
    while low < high {
        let middle = low + (high - low) / 2;
        let (number, hash) = known[middle];
        if agreed_hash(network, number).await? == hash.0 { low = middle + 1 } else { high = middle }
    }
    let ancestor = low.checked_sub(1).map_or((0, chain.genesis_hash), |last| known[last]);
    if ancestor.0 == 0 && agreed_hash(network, 0).await? != chain.genesis_hash.0 {
        return Err(Error::refused(
            Code::InvalidState,
            "The endpoints show another first block: this is another chain.",
        ));
    }
    Ok(Examined { chain, ancestor: (ancestor.0, ancestor.1.0) })
}

/// Repeats the search after the approval. It must find what was approved.
pub async fn examine_agreed(engine: &Engine, r: &Request) -> Result<Examined> {
    check(&mut engine.db.read().await?, r).await?;
    let examined = examine(engine, r.chain_id).await?;
    if (examined.ancestor.0, examined.ancestor.1.to_string()) == (r.ancestor_number, r.ancestor_hash.clone()) {
        return Ok(examined);
    }
    let detail = "The last common block differs from the approved one. Request it again.";
    Err(Error::refused(Code::SnapshotMismatch, detail))
}

/// Accepts the new history, if the chain's cursor has not changed.
pub async fn write(tx: &mut Tx, examined: Examined, actor: &str, reason: &str) -> Result<()> {
    let Examined { chain, ancestor } = examined;
    let replaced = chain_history::accept(tx, &chain, ancestor, actor, reason).await?;
    queue::release(tx, chain.chain_id, "chain_halted").await?;
    tracing::error!(
        chain.id = chain.chain_id,
        chain.ancestor = ancestor.0,
        "the new history was accepted: {} confirmed operations lost their blocks, {} nonces are free",
        replaced.operations.len(),
        replaced.gaps.len()
    );
    Ok(())
}

async fn halted(tx: &mut Tx, chain_id: i64) -> Result<Chain> {
    let found = chain::find(tx, chain_id).await?;
    let found = found.ok_or_else(|| Error::refused(Code::NotFound, format!("There is no chain {chain_id}.")))?;
    if found.halted_reason.is_none() {
        return Err(Error::refused(Code::InvalidState, "The chain is not halted, so its history stands."));
    }
    Ok(found)
}

/// The hash of the block at a height, on which the endpoints agree.
async fn agreed_hash(network: &Network, number: i64) -> Result<B256> {
    let header = network.chain.agreed_header(number.cast_unsigned()).await;
    let silent = || {
        Error::refused(
            Code::ChainUnavailable,
            format!("The endpoints do not agree on block {number} yet. Try again later."),
        )
    };
    header.map(|header| header.hash).ok_or_else(silent)
}
