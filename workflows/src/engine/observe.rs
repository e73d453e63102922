//! The state of the signers on their chain, read from time to time so that no API request waits for a node.

use muniment_domain::lane::{self, ChainState};
use muniment_domain::point::Point;
use muniment_domain::{Result, chain};

use crate::engine::{Engine, Network};

/// Reads the state once. If the chain does not answer, the last state stays, with its time.
pub async fn observe(engine: &Engine, network: &Network) -> Result<()> {
    let mut tx = engine.db.read().await?;
    let Some(cursor) = chain::find(&mut tx, network.id()).await? else { return Ok(()) };
    let lanes = lane::of_chain(&mut tx, network.id()).await?;
    drop(tx);
    let addresses: Vec<_> = lanes.iter().map(|lane| lane.signer.0).collect();
    let standings = match network.chain.signer_states(&addresses, cursor.final_number.cast_unsigned()).await {
        Ok(standings) => standings,
        Err(fault) => {
            tracing::info!(chain.id = network.id(), "the signers are read again later: {fault}");
            return Ok(());
        }
    };
    let mut tx = engine.db.begin().await?;
    for (lane, standing) in lanes.iter().zip(standings) {
        let seen = ChainState {
            latest: standing.latest.cast_signed(),
            pending: standing.pending.cast_signed(),
            finalized: standing.finalized.cast_signed(),
            balance: standing.balance,
            is_agent: standing.is_agent,
        };
        lane::record_chain_state(&mut tx, &lane.id, &seen).await?;
    }
    tx.commit(Point::Housekeeping).await
}

/// Stores which endpoints are not trusted, when that changed.
pub async fn name_endpoints(engine: &Engine, network: &Network, cursor: &chain::Chain) -> Result<()> {
    let warning = network.chain.endpoint_warning();
    if warning.is_some() == cursor.endpoint_warning.is_some() {
        return Ok(());
    }
    let mut tx = engine.db.begin().await?;
    chain::set_endpoint_warning(&mut tx, cursor.chain_id, warning.as_deref()).await?;
    tx.commit(Point::Mode).await
}
