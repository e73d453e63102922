//! The state of the signers on their chain, read from time to time so that no API request waits for a node.

use std::collections::BTreeMap;
use std::iter;

use alloy_primitives::Address;
use chrono::DateTime;
use muniment_activities::contract::batch_read::{Agent, BatchReader};
use muniment_activities::contract::registry::Roles;
use muniment_activities::fault::Fault;
use muniment_activities::signer::state::SignerState;
use muniment_activities::token::factory;
use muniment_domain::chain::Endpoint;
use muniment_domain::lane::{self, ChainState, Granted};
use muniment_domain::point::Point;
use muniment_domain::{Result, chain, offering};

use crate::engine::{Engine, Network};

/// Reads the state once. If the chain does not answer, the last state stays, with its time.
pub async fn observe(engine: &Engine, network: &Network) -> Result<()> {
    let mut tx = engine.db.read().await?;
    let Some(cursor) = chain::find(&mut tx, network.id()).await? else { return Ok(()) };
    let lanes = lane::of_chain(&mut tx, network.id()).await?;
    drop(tx);
    let addresses: Vec<_> = lanes.iter().map(|lane| lane.signer.0).collect();
    let asked = async {
        let standings = network.chain.signer_states(&addresses, cursor.final_number.cast_unsigned()).await?;
        let limited = limited(network, &cursor, &addresses, &standings).await?;
        Ok::<_, Fault>((standings, limited))
    };
    let asked = asked.await;
    let mut tx = engine.db.begin().await?;
    chain::record_endpoints(&mut tx, network.id(), &endpoints(network)).await?;
    let (standings, limited) = match asked {
        Ok(seen) => seen,
        Err(fault) => {
            tracing::info!(chain.id = network.id(), "the signers are read again later: {fault}");
            return tx.commit(Point::Housekeeping).await;
        }
    };
    let low = network.chain.config.low_balance();
    let mut offerings = BTreeMap::new();
    if !limited.is_empty() {
        let ids = offering::ids_of_chain(&mut tx, network.id()).await?;
        offerings.extend(ids.into_iter().map(|id| (factory::offering_id(&id), id)));
    }
    for (lane, standing) in lanes.iter().zip(standings) {
        let of_offerings = limited.iter().filter(|(agent, _)| agent.account == lane.signer.0);
        let known =
            of_offerings.filter_map(|(agent, roles)| Some((offerings.get(&agent.offering_id)?.clone(), roles.0)));
        let granted = |platform: Roles| {
            let everywhere = Granted { offering_id: None, roles: platform.0 };
            let limited = known.map(|(id, roles)| Granted { offering_id: Some(id), roles });
            iter::once(everywhere).chain(limited).collect()
        };
        let seen = ChainState {
            latest: standing.latest.cast_signed(),
            pending: standing.pending.cast_signed(),
            finalized: standing.finalized.cast_signed(),
            balance: standing.balance,
            roles: standing.roles.map(granted),
        };
        lane::record_chain_state(&mut tx, lane, &seen).await?;
        // Told once, when it falls below the limit: while it can still pay.
        if standing.balance < low && lane.balance_wei.is_none_or(|before| before.0 >= low) {
            lane::report_low_funds(&mut tx, &lane.id).await?;
        }
    }
    tx.commit(Point::Housekeeping).await
}

/// The endpoints as this process knows them now.
fn endpoints(network: &Network) -> Vec<Endpoint> {
    let seen = network.chain.health().into_iter().map(|health| Endpoint {
        since: (health.since_milliseconds > 0)
            .then(|| DateTime::from_timestamp_millis(health.since_milliseconds.cast_signed()))
            .flatten(),
        name: health.endpoint,
        up: health.up,
        latency_milliseconds: health.latency_milliseconds.map(u64::cast_signed),
        head: health.head.map(u64::cast_signed),
        trouble: health
            .wrong_chain
            .or(health.distrusted)
            .or(health.last_error.filter(|_| !health.up).map(str::to_owned)),
    });
    seen.collect()
}

/// The roles of signers that count for one offering only. Not read while every signer has all roles on the whole platform.
async fn limited(
    network: &Network,
    cursor: &chain::Chain,
    signers: &[Address],
    standings: &[SignerState],
) -> Result<Vec<(Agent, Roles)>, Fault> {
    let Some(registry) = network.chain.config.registry else { return Ok(Vec::new()) };
    if standings.iter().all(|standing| standing.roles == Some(Roles::ALL)) {
        return Ok(Vec::new());
    }
    let mut reader = BatchReader::new(&network.chain, registry, cursor.final_hash.0);
    let mut agents = reader.agents(cursor.final_number.cast_unsigned()).await?;
    agents.retain(|agent| !agent.offering_id.is_zero() && signers.contains(&agent.account));
    let roles = reader.roles(&agents).await?;
    Ok(agents.into_iter().zip(roles).filter(|(_, roles)| *roles != Roles(0)).collect())
}

/// Stores which endpoints are not trusted, when that changed. Returns whether it did.
pub async fn name_endpoints(engine: &Engine, network: &Network, cursor: &chain::Chain) -> Result<bool> {
    let warning = network.chain.endpoint_warning();
    if warning.is_some() == cursor.endpoint_warning.is_some() {
        return Ok(false);
    }
    let mut tx = engine.db.begin().await?;
    chain::set_endpoint_warning(&mut tx, cursor.chain_id, warning.as_deref()).await?;
    tx.commit(Point::Mode).await?;
    Ok(true)
}
