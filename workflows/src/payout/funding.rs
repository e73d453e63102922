//! The funding check before a payout: does the payer have enough of the coin, the allowance and the gas? The chain is asked with no
//! database transaction open. The answer guarantees nothing, but it avoids a list of pages that would fail one by one.

use alloy_primitives::{Address, U256};
use muniment_activities::chain::Tag;
use muniment_activities::chain::gas::GasModel;
use muniment_activities::chain::simulate::At;
use muniment_activities::fault::Fault;
use muniment_activities::payout::coin;
use muniment_domain::contract::{self, Kind as ContractKind};
use muniment_domain::db::Tx;
use muniment_domain::distribution::{Distribution, Method};
use muniment_domain::id::DistributionId;
use muniment_domain::{Code, Error, Result, money, payout_token};

use crate::engine::{Engine, Network};
use crate::payout;

/// Decimals between wei and the chain's native coin.
const WEI_DECIMALS: u32 = 18;

/// The funds that a payout needs.
struct RequiredFunds {
    d: Distribution,
    /// Units of the coin.
    units: u128,
    gas: u128,
    /// The contract that pulls, if the ledger shows its allowance. Without it the payout grants the allowance first.
    allowed: Option<Address>,
}

/// The payer's funds at the newest block.
struct AvailableFunds {
    balance: U256,
    allowance: Option<U256>,
    wei: U256,
    wei_needed: U256,
}

/// Refuses a payout that could not be executed now, or that the payer cannot fund.
pub async fn check(engine: &Engine, distribution_id: &DistributionId) -> Result<()> {
    let mut tx = engine.db.read().await?;
    let need = required_funds(&mut tx, engine.settings.payout_page_holders, distribution_id).await?;
    drop(tx);
    let chain_id = need.d.chain_id;
    let unknown = || Error::refused(Code::UnknownChain, format!("The chain {chain_id} is not configured here."));
    let network = engine.network(chain_id).ok_or_else(unknown)?;
    let found = available_funds(engine, network, &need).await;
    let found = found.map_err(|fault| Error::refused(Code::ChainUnavailable, fault.to_string()))?;
    let missing = missing(&need, &found);
    if missing.is_empty() {
        return Ok(());
    }
    let payer = need.d.funding_wallet.0.to_checksum(None);
    let detail = format!("The payer {payer} {}. Fund the payer, then execute again.", missing.join(", and "));
    Err(Error::refused(Code::PayerUnfunded, detail))
}

async fn required_funds(tx: &mut Tx, page_holders: usize, id: &DistributionId) -> Result<RequiredFunds> {
    let (d, list) = payout::due(tx, id).await?;
    let (contract, before) = match d.method {
        Method::DirectPayout => (d.token_address.0, 0),
        // The declaration of the list is one more transaction.
        Method::Distributor => (contract::only(tx, d.chain_id, ContractKind::Distributor).await?, 1),
    };
    let is_allowed = payout_token::is_allowed(tx, d.chain_id, d.payout_token.0, d.funding_wallet.0, contract).await?;
    let pages = list.len().div_ceil(page_holders.clamp(1, payout::LINES_MAX)) + before + usize::from(!is_allowed);
    Ok(RequiredFunds {
        units: list.iter().map(|e| d.units(e.net)).sum(),
        gas: GasModel::PAYOUT_PAGE.of_pages(pages, list.len()),
        allowed: is_allowed.then_some(contract),
        d,
    })
}

async fn available_funds(engine: &Engine, network: &Network, need: &RequiredFunds) -> Result<AvailableFunds, Fault> {
    let (chain, asset, payer) = (&network.chain, need.d.payout_token.0, need.d.funding_wallet.0);
    let allowance = match need.allowed {
        Some(spender) => Some(coin::allowance(chain, asset, payer, spender, At::Latest).await?),
        None => None,
    };
    let price = network.fees(engine.db.clock().now()).await?.max_fee_per_gas;
    Ok(AvailableFunds {
        balance: coin::balance_of(chain, asset, payer, At::Latest).await?,
        allowance,
        wei: chain.balance(payer, Tag::Latest).await?,
        wei_needed: U256::from(need.gas) * U256::from(price),
    })
}

/// The missing funds, each as the predicate of a sentence about the payer.
fn missing(need: &RequiredFunds, found: &AvailableFunds) -> Vec<String> {
    let (units, decimals) = (U256::from(need.units), u32::try_from(need.d.payout_decimals).unwrap_or(0));
    let of_coin = |amount: U256| format!("{} {}", text(amount, decimals), need.d.payout_symbol);
    let mut missing = Vec::new();
    if found.balance < units {
        let gap = units - found.balance;
        missing.push(format!(
            "has {} of the {} to be paid, so {} are missing",
            of_coin(found.balance),
            of_coin(units),
            of_coin(gap)
        ));
    }
    if let (Some(contract), Some(allowance)) = (need.allowed, found.allowance)
        && allowance < units
    {
        missing.push(format!(
            "allows {} to pull {} of the {} to be paid, so {} are missing",
            contract.to_checksum(None),
            of_coin(allowance),
            of_coin(units),
            of_coin(units - allowance)
        ));
    }
    if found.wei < found.wei_needed {
        missing.push(format!(
            "has {} for gas, which can cost up to {}",
            text(found.wei, WEI_DECIMALS),
            text(found.wei_needed, WEI_DECIMALS)
        ));
    }
    missing
}

fn text(amount: U256, decimals: u32) -> String {
    money::quantity(amount.saturating_to(), decimals)
}
