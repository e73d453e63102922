//! The safety of a lane: if the chain knows more transactions of a key than the database, nothing is signed with it until a person decides.

use muniment_activities::chain::Tag;
use muniment_domain::chain::{self, ForeignTransaction};
use muniment_domain::db::Tx;
use muniment_domain::id::LaneId;
use muniment_domain::lane::{self, Lane, Mode};
use muniment_domain::point::Point;
use muniment_domain::{Result, event};
use serde_json::json;

use crate::engine::{Engine, Network};

/// Compares the chain's transaction count with the lane's next nonce. A higher count means a restored database, or a key in other hands.
pub async fn check(engine: &Engine, network: &Network, lane_id: &LaneId) -> Result<()> {
    let mut tx = engine.db.read().await?;
    let lane = lane::find(&mut tx, lane_id).await?;
    drop(tx);
    let Ok(counts) = network.chain.transaction_counts(lane.signer.0, Tag::Latest).await else { return Ok(()) };
    let count = counts.believed();
    if count.cast_signed() <= lane.next_nonce || lane.mode == Mode::Quarantined {
        return Ok(());
    }
    let mut tx = engine.db.begin().await?;
    quarantine_if_ahead(&mut tx, &lane, count).await?;
    tx.commit(Point::Mode).await
}

/// Quarantines a lane if the chain has more transactions of its key than this database knows.
pub async fn quarantine_if_ahead(tx: &mut Tx, lane: &Lane, count: u64) -> Result<()> {
    if count.cast_signed() <= lane.next_nonce || lane.mode == Mode::Quarantined {
        return Ok(());
    }
    let reason = format!(
        "The chain has {count} transactions of {}, but this database knows only {}. Either it was restored from an older backup, or somebody \
         else uses the key.",
        lane.signer.0, lane.next_nonce
    );
    quarantine(tx, lane, &reason).await
}

/// Checks every lane, at start.
pub async fn check_all(engine: &Engine, network: &Network) -> Result<()> {
    let mut tx = engine.db.read().await?;
    let lanes = lane::of_chain(&mut tx, network.id()).await?;
    drop(tx);
    for lane in &lanes {
        check(engine, network, &lane.id).await?;
    }
    Ok(())
}

async fn quarantine(tx: &mut Tx, lane: &Lane, reason: &str) -> Result<()> {
    tracing::error!(lane.id = %lane.id, lane.signer = %lane.signer, "quarantined: {reason}");
    lane::set_mode(tx, lane, Mode::Quarantined, reason, lane.next_nonce).await
}

/// Stores a foreign transaction as proof, and quarantines its lane.
pub async fn note_foreign(tx: &mut Tx, foreign: &ForeignTransaction) -> Result<()> {
    if !chain::add_foreign(tx, foreign).await? {
        return Ok(());
    }
    let data =
        json!({ "signer": foreign.signer.to_string(), "nonce": foreign.nonce, "tx_hash": foreign.tx_hash.to_string() });
    event::write(tx, "lane.foreign_transaction", "chain", &foreign.chain_id.to_string(), foreign.nonce, data).await?;
    let lanes = lane::of_chain(tx, foreign.chain_id).await?;
    let Some(lane) = lanes.iter().find(|l| l.signer == foreign.signer && l.mode != Mode::Quarantined) else {
        return Ok(());
    };
    let reason = format!(
        "The transaction {} with nonce {} of {} was not signed by this database. Either somebody else uses the key, or the database was \
         restored from an older backup.",
        foreign.tx_hash, foreign.nonce, foreign.signer.0
    );
    quarantine(tx, lane, &reason).await
}
