//! The state of signers on their chain: nonces, balance and role, read in one batch.
use alloy::{
    primitives::{Address, Bytes, U64, U256},
    sol_types::SolCall,
};
use serde_json::json;

use crate::{
    chain::{Chain, Tag, simulate::At},
    contract::{bindings::registry::AgentRegistry::rolesOfCall, operation::read, registry::Roles},
    fault::Fault,
    rpc::{Answer, Request, required},
};

const COUNT: &str = "eth_getTransactionCount";
const BALANCE: &str = "eth_getBalance";

/// The state of a signer on its chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignerState {
    /// Next nonce at the newest block.
    pub latest: u64,
    /// Next nonce with the node's mempool.
    pub pending: u64,
    /// Next nonce at the final block.
    pub finalized: u64,
    /// Balance in wei.
    pub balance: U256,
    /// Its roles on the whole platform; none without a configured registry.
    pub roles: Option<Roles>,
}

impl Chain {
    /// The state of each signer; the final nonces are those at block `last`.
    pub async fn signer_states(&self, addresses: &[Address], last: u64) -> Result<Vec<SignerState>, Fault> {
        let registry = self.config.registry;
        let mut requests = Vec::new();
        for address in addresses {
            for tag in [Tag::Latest, Tag::Pending, Tag::Number(last)] {
                requests.push(Request::new(COUNT, json!([address, tag.param()])));
            }
            requests.push(Request::new(BALANCE, json!([address, Tag::Latest.param()])));
            if let Some(registry) = registry {
                requests.push(read(registry, &rolesOfCall { account: *address }).request("eth_call", At::Latest));
            }
        }
        let each = if registry.is_some() { 5 } else { 4 };
        self.ask(requests, |answers| answers.chunks(each).map(standing).collect()).await
    }
}

fn standing(answers: &[Answer]) -> Result<SignerState, Fault> {
    let answer = |index: usize| {
        answers.get(index).cloned().ok_or_else(|| Fault::Incomplete("the answer to a batch is incomplete".into()))
    };
    let count = |index| Ok::<u64, Fault>(required::<U64>(COUNT, answer(index)?)?.to());
    let roles = match answers.get(4) {
        None => None,
        Some(answer) => {
            let data: Bytes = required("eth_call", answer.clone())?;
            let decoded = rolesOfCall::abi_decode_returns_validate(&data);
            let word = decoded.map_err(|error| Fault::Malformed(format!("rolesOf returned {error}")))?;
            Some(Roles(word.saturating_to()))
        }
    };
    Ok(SignerState {
        latest: count(0)?,
        pending: count(1)?,
        finalized: count(2)?,
        balance: required(BALANCE, answer(3)?)?,
        roles,
    })
}
