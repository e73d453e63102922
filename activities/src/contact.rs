//! Who stands behind an endpoint: its chain id and its first block, asked before anything it says is believed.
use alloy::primitives::{B256, U64};
use serde::Deserialize;
use serde_json::json;

use crate::{
    chain::{Chain, together},
    endpoint::Endpoint,
    fault::Fault,
    rpc::{self, Request},
};

/// What the endpoints say about who they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contact {
    /// The chain id.
    pub chain_id: u64,
    /// The hash of block 0, which tells two development chains of one id apart.
    pub genesis: B256,
    /// The endpoints that answered, redacted.
    pub answered: Vec<String>,
    /// The endpoints that did not, each with the reason.
    pub silent: Vec<(String, Fault)>,
}

#[derive(Deserialize)]
struct Genesis {
    hash: B256,
}

impl Chain {
    /// Pins the genesis hash stored at first contact: an endpoint with another one is not used.
    pub fn expect_genesis(&self, genesis: B256) -> Result<(), Fault> {
        let found = *self.genesis.get_or_init(|| genesis);
        if found == genesis {
            return Ok(());
        }
        let label = self.endpoints().first().map_or("the chain", |endpoint| &endpoint.redaction.label);
        Err(wrong(label, format!("genesis {genesis}"), format!("genesis {found}")))
    }

    /// Asks every endpoint who it is; those that are down are skipped as long as one answers.
    pub async fn contact(&self) -> Result<Contact, Fault> {
        let asked = self.endpoints().iter().map(|endpoint| self.verify(endpoint));
        let mut contact =
            Contact { chain_id: self.config.chain_id, genesis: B256::ZERO, answered: Vec::new(), silent: Vec::new() };
        for (endpoint, found) in self.endpoints().iter().zip(futures::future::join_all(asked).await) {
            let label = endpoint.redaction.label.clone();
            match found {
                Ok(genesis) => {
                    contact.genesis = genesis;
                    contact.answered.push(label);
                }
                // A wrong chain is a mistake in the configuration: it is said at once, not worked around.
                Err(fault @ Fault::WrongChain { .. }) => return Err(fault),
                Err(fault) => contact.silent.push((label, fault)),
            }
        }
        match contact.answered.is_empty() {
            true => Err(together(contact.silent.into_iter().map(|(_, fault)| fault).collect())),
            false => Ok(contact),
        }
    }

    /// Makes sure that the right chain stands behind the endpoint before it is believed.
    pub(crate) async fn verified(&self, endpoint: &Endpoint) -> Result<(), Fault> {
        match endpoint.wrong_chain() {
            Some(fault) => Err(fault),
            None if endpoint.is_verified() => Ok(()),
            None => self.verify(endpoint).await.map(|_| ()),
        }
    }

    async fn verify(&self, endpoint: &Endpoint) -> Result<B256, Fault> {
        let requests =
            [Request::new("eth_chainId", json!([])), Request::new("eth_getBlockByNumber", json!(["0x0", false]))];
        let mut answers = self.post(endpoint, &requests).await?.into_iter();
        let (Some(id), Some(genesis)) = (answers.next(), answers.next()) else {
            return Err(Fault::Malformed("a batch of two came back shorter".into()));
        };
        let label = &endpoint.redaction.label;
        let found: u64 = rpc::required::<U64>("eth_chainId", id)?.to();
        let expected = self.config.chain_id;
        if found != expected {
            let fault = wrong(label, format!("chain id {expected}"), format!("chain id {found}"));
            endpoint.judged(Some(fault.clone()));
            return Err(fault);
        }
        let genesis = rpc::required::<Genesis>("eth_getBlockByNumber", genesis)?.hash;
        let first = *self.genesis.get_or_init(|| genesis);
        if first != genesis {
            let fault = wrong(label, format!("genesis {first}"), format!("genesis {genesis}"));
            endpoint.judged(Some(fault.clone()));
            return Err(fault);
        }
        endpoint.judged(None);
        Ok(genesis)
    }
}

fn wrong(endpoint: &str, expected: String, found: String) -> Fault {
    Fault::WrongChain { endpoint: endpoint.to_owned(), expected, found }
}
