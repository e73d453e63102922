//! The token of an offering and the status of its deployment.

use muniment_domain::offering::{Offering, TokenStatus};
use muniment_domain::operation::{self, Operation};
use muniment_domain::token::Token;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::field::address::Typed;
use crate::operation::predicted_address;

/// The standard that every token of the platform follows.
const STANDARD: &str = "ERC-7518";

/// The token deployment. The field names are those of the specification.
#[derive(Serialize, ToSchema)]
pub struct TokenDeployment {
    status: DeploymentStatus,
    /// The address of the token contract. Null until the deployment is final.
    #[serde(rename = "contractAddress")]
    contract_address: Option<Typed>,
    /// The chain id (EIP-155).
    #[serde(rename = "chainId")]
    #[schema(example = 31337)]
    chain_id: i64,
    /// The hash of the deployment transaction.
    #[serde(rename = "txHash")]
    #[schema(example = "0x7d1afa7b718fb893db30a3abc0cfc608aacfebb0f1a3c4d5e6f708192a3b4c5d")]
    tx_hash: Option<String>,
    /// The address that the token will have.
    #[schema(value_type = Option<Typed>)]
    predicted_address: Option<String>,
}

/// The status of the token deployment.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum DeploymentStatus {
    NotDeployed,
    Pending,
    Deploying,
    Failed,
    Deployed,
}

/// The data with which a portal can read the token itself.
#[derive(Serialize, ToSchema)]
pub struct Blockchain {
    #[schema(example = "Sepolia")]
    network: String,
    #[schema(example = 31337)]
    chain_id: i64,
    token_address: Option<Typed>,
    /// The token standard.
    #[schema(example = "ERC-7518")]
    standard: &'static str,
    /// The page of the token on a block explorer.
    explorer_url: Option<String>,
    /// The name of the token.
    #[schema(example = "Solar Park Alentejo")]
    token_name: Option<String>,
    /// The maximum supply in base units.
    supply_units: Option<String>,
    holder_cap: Option<i64>,
    /// The number of partitions.
    partition_count: Option<usize>,
}

/// How far it is.
pub fn token_deployment(o: &Offering, deployment: Option<&Operation>) -> TokenDeployment {
    TokenDeployment {
        status: deployment_status(o.token_status, deployment),
        contract_address: o.token_address.map(|address| Typed(address.0)),
        chain_id: o.chain_id,
        tx_hash: o.token_tx_hash.map(|hash| hash.to_string()),
        predicted_address: deployment.and_then(predicted_address),
    }
}

/// Where it is. What only the chain could say is null until it is deployed.
pub fn blockchain(app: &App, o: &Offering, token: Option<&Token>) -> Blockchain {
    let address = o.token_address.map(|address| Typed(address.0));
    let explorer = app.chain(o.chain_id).and_then(|chain| chain.explorer_url.clone());
    let page = |(url, address): (String, Typed)| format!("{url}/address/{}", address.0.to_checksum(None));
    Blockchain {
        network: app.network(o.chain_id),
        chain_id: o.chain_id,
        token_address: address,
        standard: STANDARD,
        explorer_url: explorer.zip(address).map(page),
        token_name: token.map(|token| token.name.clone()),
        supply_units: token.map(|token| token.supply_units.to_string()),
        holder_cap: token.and_then(|token| token.holder_cap),
        partition_count: token.and_then(|token| token.partitions.0.as_array().map(Vec::len)),
    }
}

// Only `deployed` is stored, by the commit that confirms it; how far a deployment is, its operation knows.
fn deployment_status(stored: TokenStatus, deployment: Option<&Operation>) -> DeploymentStatus {
    use operation::Status as Op;
    match (stored, deployment) {
        (TokenStatus::Deployed, _) => DeploymentStatus::Deployed,
        (_, Some(op)) => match op.status {
            Op::Pending => DeploymentStatus::Pending,
            Op::Submitted => DeploymentStatus::Deploying,
            Op::Failed | Op::DeadLetter if op.resolution.is_none() => DeploymentStatus::Failed,
            _ => DeploymentStatus::NotDeployed,
        },
        _ => DeploymentStatus::NotDeployed,
    }
}
