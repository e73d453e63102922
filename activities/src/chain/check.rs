//! Checks that an endpoint serves the right chain, by chain id and block 0, before its answers are used.
use alloy::primitives::{B256, U64};
use serde::Deserialize;
use serde_json::json;

use crate::{
    chain::{Chain, combined},
    fault::Fault,
    rpc::{self, Request, endpoint::Endpoint},
};

/// The result of the check of all endpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainCheck {
    /// The chain id.
    pub chain_id: u64,
    /// The hash of block 0; it tells two development chains with the same id apart.
    pub genesis: B256,
    /// Endpoints that answered, redacted.
    pub answered: Vec<String>,
    /// Endpoints that did not answer, each with the reason.
    pub failed: Vec<(String, Fault)>,
}

#[derive(Deserialize)]
struct Genesis {
    hash: B256,
}

impl Chain {
    /// Sets the genesis hash stored at first contact. An endpoint with another genesis is not used.
    pub fn expect_genesis(&self, genesis: B256) -> Result<(), Fault> {
        let found = *self.genesis.get_or_init(|| genesis);
        if found == genesis {
            return Ok(());
        }
        let label = self.endpoints().first().map_or("the chain", |endpoint| &endpoint.redaction.label);
        Err(wrong_chain(label, format!("genesis {genesis}"), format!("genesis {found}")))
    }

    /// Checks every endpoint. Endpoints that are down are skipped as long as one answers.
    pub async fn check_endpoints(&self) -> Result<ChainCheck, Fault> {
        let asked = self.endpoints().iter().map(|endpoint| self.verify(endpoint));
        let mut contact = ChainCheck {
            chain_id: self.config.chain_id,
            genesis: B256::ZERO,
            answered: Vec::new(),
            failed: Vec::new(),
        };
        for (endpoint, found) in self.endpoints().iter().zip(futures::future::join_all(asked).await) {
            let label = endpoint.redaction.label.clone();
            match found {
                Ok(genesis) => {
                    contact.genesis = genesis;
                    contact.answered.push(label);
                }
                // A wrong chain is a mistake in the configuration: report it, do not work around it.
                Err(fault @ Fault::WrongChain { .. }) => return Err(fault),
                Err(fault) => contact.failed.push((label, fault)),
            }
        }
        match contact.answered.is_empty() {
            true => Err(combined(contact.failed.into_iter().map(|(_, fault)| fault).collect())),
            false => Ok(contact),
        }
    }

    /// Checks the endpoint once, before its first answer is used and after every outage.
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
            return Err(Fault::Malformed("the answer to a batch of two is incomplete".into()));
        };
        let label = &endpoint.redaction.label;
        let found: u64 = rpc::required::<U64>("eth_chainId", id)?.to();
        let expected = self.config.chain_id;
        if found != expected {
            let fault = wrong_chain(label, format!("chain id {expected}"), format!("chain id {found}"));
            endpoint.set_wrong_chain(Some(fault.clone()));
            return Err(fault);
        }
        // The first header that hashes to its own hash shows that those of this chain do.
        if let Ok(text) = &genesis {
            self.proofs.roots(text)?;
        }
        let genesis = rpc::required::<Genesis>("eth_getBlockByNumber", genesis)?.hash;
        // The first endpoint that answers sets the genesis for all others.
        let first = *self.genesis.get_or_init(|| genesis);
        if first != genesis {
            let fault = wrong_chain(label, format!("genesis {first}"), format!("genesis {genesis}"));
            endpoint.set_wrong_chain(Some(fault.clone()));
            return Err(fault);
        }
        endpoint.set_wrong_chain(None);
        Ok(genesis)
    }
}

fn wrong_chain(endpoint: &str, expected: String, found: String) -> Fault {
    Fault::WrongChain { endpoint: endpoint.to_owned(), expected, found }
}
