//! How a signer stands on its chain: its counts, its money and its role, asked in one batch.
use alloy::{
    primitives::{Address, Bytes, U64, U256},
    sol_types::SolCall,
};
use serde_json::json;

use crate::{
    bindings::registry::AgentRegistry::isAgentCall,
    chain::{Chain, Tag},
    fault::Fault,
    operation::read,
    rpc::{Answer, Request, required},
    simulate::At,
};

const COUNT: &str = "eth_getTransactionCount";
const BALANCE: &str = "eth_getBalance";

/// What the chain says about a signer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The next nonce at the newest block.
    pub latest: u64,
    /// The next nonce with the node's own pool.
    pub pending: u64,
    /// The next nonce at the final block.
    pub finalized: u64,
    /// Its wei.
    pub balance: U256,
    /// Whether the registry holds it for an agent; none where no registry is configured.
    pub is_agent: Option<bool>,
}

impl Chain {
    /// The standing of each address; the final counts are those of this block.
    pub async fn standings(&self, addresses: &[Address], last: u64) -> Result<Vec<Standing>, Fault> {
        let registry = self.config.registry;
        let mut requests = Vec::new();
        for address in addresses {
            for tag in [Tag::Latest, Tag::Pending, Tag::Number(last)] {
                requests.push(Request::new(COUNT, json!([address, tag.param()])));
            }
            requests.push(Request::new(BALANCE, json!([address, Tag::Latest.param()])));
            if let Some(registry) = registry {
                requests.push(read(registry, &isAgentCall { account: *address }).request("eth_call", At::Latest));
            }
        }
        let each = if registry.is_some() { 5 } else { 4 };
        self.ask(requests, |answers| answers.chunks(each).map(standing).collect()).await
    }
}

fn standing(answers: &[Answer]) -> Result<Standing, Fault> {
    let answer =
        |index: usize| answers.get(index).cloned().ok_or_else(|| Fault::Incomplete("a batch came back shorter".into()));
    let count = |index| Ok::<u64, Fault>(required::<U64>(COUNT, answer(index)?)?.to());
    let is_agent = match answers.get(4) {
        None => None,
        Some(answer) => {
            let data: Bytes = required("eth_call", answer.clone())?;
            let decoded = isAgentCall::abi_decode_returns_validate(&data);
            Some(decoded.map_err(|error| Fault::Malformed(format!("isAgent answered {error}")))?)
        }
    };
    Ok(Standing {
        latest: count(0)?,
        pending: count(1)?,
        finalized: count(2)?,
        balance: required(BALANCE, answer(3)?)?,
        is_agent,
    })
}
