//! Who pays, and in what: the coins of the configuration, each with the signer whose balance they are taken from.

use muniment_activities::coin;
use muniment_activities::config::{ConfigError, PayoutTokenConfig};
use muniment_domain::column::Hex;
use muniment_domain::db::Tx;
use muniment_domain::lane::{self, Lane};
use muniment_domain::payout_token::PayoutToken;
use muniment_domain::{Code, Error, Result};

use crate::engine::{Network, StartError};

/// The coins of a chain as its configuration names them. One whose contract says something else stops the start: a wrong count of
/// decimals would pay a hundred times too much.
pub async fn coins(network: &Network) -> Result<Vec<PayoutToken>, StartError> {
    let mut coins = Vec::new();
    for named in &network.chain.config.payout_tokens {
        if named.payer.is_none() && network.signers.is_empty() {
            continue;
        }
        let told = coin::decimals(&network.chain, named.address);
        let told = told.await.map_err(|fault| StartError::Chain { chain_id: network.id(), fault })?;
        if told != named.decimals {
            let why =
                format!("{} has {told} decimals on the chain, {} in the configuration", named.symbol, named.decimals);
            return Err(misfit(network, why));
        }
        coins.push(PayoutToken {
            chain_id: network.id(),
            address: Hex(named.address),
            symbol: named.symbol.clone(),
            decimals: i64::from(named.decimals),
            payer: Hex(payer(network, named)?),
        });
    }
    Ok(coins)
}

fn payer(network: &Network, named: &PayoutTokenConfig) -> Result<alloy_primitives::Address, StartError> {
    match (named.payer, network.signers.len()) {
        (Some(payer), _) => Ok(payer),
        (None, 1) => network.signers.keys().next().copied().ok_or_else(|| misfit(network, String::new())),
        (None, _) => Err(misfit(network, format!("{} needs a payer: name one of the signers", named.symbol))),
    }
}

fn misfit(network: &Network, why: String) -> StartError {
    StartError::Config(ConfigError { chain: network.chain.config.key.clone(), key: "payout_tokens", why })
}

/// The lane of the payer: what moves its money is signed by its key and no other.
pub async fn lane_of(tx: &mut Tx, chain_id: i64, payer: alloy_primitives::Address) -> Result<Lane> {
    let mut lanes = lane::of_chain(tx, chain_id).await?.into_iter();
    lanes.find(|lane| lane.signer.0 == payer).ok_or_else(|| {
        let payer = payer.to_checksum(None);
        Error::refused(
            Code::InvalidState,
            format!("The payer {payer} is no signer of chain {chain_id} yet: start a worker that has its key."),
        )
    })
}
