//! The payout tokens of the configuration, each with its payer.

use alloy_primitives::Address;
use muniment_activities::config::{ConfigError, PayoutTokenConfig};
use muniment_activities::payout::coin;
use muniment_domain::column::Hex;
use muniment_domain::payout_token::PayoutToken;

use crate::engine::{Network, StartError};

/// The payout tokens of a chain. A token with other decimals than in the configuration stops the start: its payouts could be a hundred
/// times too high.
pub async fn configured(network: &Network) -> Result<Vec<PayoutToken>, StartError> {
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

fn payer(network: &Network, named: &PayoutTokenConfig) -> Result<Address, StartError> {
    match (named.payer, network.signers.len()) {
        (Some(payer), _) => Ok(payer),
        (None, 1) => network.signers.keys().next().copied().ok_or_else(|| misfit(network, String::new())),
        (None, _) => Err(misfit(network, format!("{} needs a payer. Name one of the signers", named.symbol))),
    }
}

fn misfit(network: &Network, why: String) -> StartError {
    StartError::Config(ConfigError { chain: network.chain.config.key.clone(), key: "payout_tokens", why })
}
