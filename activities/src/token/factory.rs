//! The `TokenFactory`: one token for each offering, at an address that is known before deployment.
use alloy::{
    primitives::{Address, B256, U256, hex, keccak256},
    sol_types::{SolCall, SolEvent},
};
use serde::{Deserialize, Serialize};

use crate::{
    chain::{
        Chain,
        logs::LogFilter,
        receipt::Receipt,
        simulate::{At, Call},
    },
    contract::{
        bindings::{
            factory::{IPlatformSecurityToken7518, TokenFactory},
            token::PlatformSecurityToken7518::{TokenInitialized, offeringIdCall, tokenSymbolCall},
        },
        operation::{MissingEffect, events, payload_hash, view},
    },
    fault::Fault,
};

/// The terms with which an offering's token is deployed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deployment {
    /// keccak256 of the id of the offering.
    pub offering_id: B256,
    /// The symbol, 1 to 31 bytes.
    pub symbol: String,
    /// The cap over all partitions in units, at most 96 bits.
    #[serde(with = "crate::contract::decimal")]
    pub total_cap: u128,
    /// 1 to 32 partitions; the n-th becomes partition n.
    pub partitions: Vec<PartitionTerms>,
}

/// The terms of one partition at deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionTerms {
    /// The cap of the partition in units.
    #[serde(with = "crate::contract::decimal")]
    pub cap: u128,
    /// Whether the partition starts restricted: no voluntary transfers.
    pub restricted: bool,
    /// Whether transfers consult the Rule 144 module.
    pub rule144: bool,
}

/// The id of an offering on the chain.
pub fn offering_id(text: &str) -> B256 {
    keccak256(text)
}

/// The call that deploys the token of an offering with its caps and partitions.
pub fn deploy_token(from: Address, factory: Address, deployment: &Deployment) -> Call {
    let terms = |terms: &PartitionTerms| IPlatformSecurityToken7518::PartitionTerms {
        cap: U256::from(terms.cap),
        restricted: terms.restricted,
        rule144: terms.rule144,
    };
    let call = TokenFactory::deployTokenCall {
        offeringId: deployment.offering_id,
        symbol: deployment.symbol.clone(),
        totalCap: U256::from(deployment.total_cap),
        partitions: deployment.partitions.iter().map(terms).collect(),
    };
    Call { from, to: Some(factory), data: call.abi_encode().into() }
}

/// The address of an offering's token: an EIP-1167 clone with the offering id appended to its code, created by CREATE2
/// with the offering id as salt.
pub fn predict_token(factory: Address, implementation: Address, offering_id: B256) -> Address {
    let mut code = Vec::with_capacity(87);
    // The deployed length is 45 bytes of proxy and 32 bytes of argument.
    code.extend(hex!("61004d3d81600a3d39f3363d3d373d3d3d363d73"));
    code.extend(implementation);
    code.extend(hex!("5af43d82803e903d91602b57fd5bf3"));
    code.extend(offering_id);
    factory.create2(offering_id, keccak256(code))
}

/// Returns the token's address if the receipt shows its deployment with these parameters, now or earlier.
pub fn deploy_effect(receipt: &Receipt, factory: Address, deployment: &Deployment) -> Result<Address, MissingEffect> {
    let id = deployment.offering_id;
    let payload = payload_hash(&deploy_token(receipt.from, factory, deployment).data);
    let mut deployed = events::<TokenFactory::TokenDeployed>(receipt, factory).filter(|event| event.offeringId == id);
    match deployed.next() {
        // This transaction created the token, so its own event must show our terms.
        Some(event) if event.payloadHash == payload && event.created => {
            initialised(receipt, event.token, deployment)?;
            Ok(event.token)
        }
        // A repeated deployment: the factory found the token with the same terms.
        Some(event) if event.payloadHash == payload => Ok(event.token),
        Some(event) => Err(MissingEffect(format!(
            "offering {id} was deployed with the payload {}, not {payload}",
            event.payloadHash
        ))),
        None => Err(MissingEffect(format!("the factory {factory} has no event for offering {id}"))),
    }
}

/// The tokens that the factory deployed in these blocks, each with the id of its offering.
pub async fn deployed_tokens(
    chain: &Chain,
    factory: Address,
    blocks: (u64, u64),
) -> Result<Vec<(Address, B256)>, Fault> {
    let filter = LogFilter {
        from_block: blocks.0,
        to_block: Some(blocks.1),
        addresses: vec![factory],
        topics: vec![vec![TokenFactory::TokenDeployed::SIGNATURE_HASH]],
    };
    let logs = chain.logs(&filter).await?;
    let tokens = logs.iter().filter(|log| log.address == factory).filter_map(|log| {
        let event = TokenFactory::TokenDeployed::decode_raw_log_validate(log.topics.iter().copied(), &log.data).ok()?;
        Some((event.token, event.offeringId))
    });
    Ok(tokens.collect())
}

/// Checks that the new token's own event in this receipt shows this offering and these terms.
fn initialised(receipt: &Receipt, token: Address, deployment: &Deployment) -> Result<(), MissingEffect> {
    let Some(own) = events::<TokenInitialized>(receipt, token).next() else {
        return Err(MissingEffect(format!("{token} has no event of its initialisation")));
    };
    let is = (own.offeringId, own.symbol.as_str(), own.totalCap, own.partitions);
    let count = U256::from(deployment.partitions.len());
    let wanted = (deployment.offering_id, deployment.symbol.as_str(), U256::from(deployment.total_cap), count);
    if is == wanted { Ok(()) } else { Err(MissingEffect(format!("{token} is {is:?}, not {wanted:?}"))) }
}

/// Whether this transaction created the token. A repeated deployment finds the existing token instead.
pub fn was_created_in(receipt: &Receipt, token: Address) -> bool {
    events::<TokenInitialized>(receipt, token).next().is_some()
}

/// The offering id and the symbol that the token reports.
pub async fn identity(chain: &Chain, token: Address) -> Result<(B256, String), Fault> {
    let offering = view(chain, token, &offeringIdCall {}, At::Latest).await?;
    Ok((offering, view(chain, token, &tokenSymbolCall {}, At::Latest).await?))
}

/// The deployed token of the offering, and the hash of the call that deployed it.
pub async fn token_of(
    chain: &Chain,
    factory: Address,
    offering_id: B256,
    at: At,
) -> Result<Option<(Address, B256)>, Fault> {
    let token = view(chain, factory, &TokenFactory::tokenOfCall { offeringId: offering_id }, at).await?;
    if token.is_zero() {
        return Ok(None);
    }
    let payload = view(chain, factory, &TokenFactory::payloadHashOfCall { offeringId: offering_id }, at).await?;
    Ok(Some((token, payload)))
}

/// The implementation that all tokens of the factory are clones of.
pub async fn implementation(chain: &Chain, factory: Address) -> Result<Address, Fault> {
    view(chain, factory, &TokenFactory::implementationCall {}, At::Latest).await
}

/// The registry that the factory checks roles in.
pub async fn registry(chain: &Chain, factory: Address) -> Result<Address, Fault> {
    view(chain, factory, &TokenFactory::agentRegistryCall {}, At::Latest).await
}
