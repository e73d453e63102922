//! Reads of one address: nonce, balance, code.
use alloy::primitives::{Address, B256, Bytes, U64, U256};
use futures::future::join_all;
use serde::de::IgnoredAny;
use serde_json::json;

use crate::{
    chain::{Chain, Tag},
    fault::Fault,
    rpc::{Answer, Request, endpoint::Endpoint, first, optional, required},
};

const COUNT: &str = "eth_getTransactionCount";
const RECEIPT: &str = "eth_getTransactionReceipt";

/// What the endpoints together show about a nonce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NonceUse {
    /// Too few endpoints show that it is used.
    Open,
    /// An endpoint has this transaction of ours in a block.
    Ours(B256),
    /// Enough endpoints show that it is used, and none that answers has one of our transactions: none of them can ever be included.
    NotOurs,
}

/// The transaction counts that the endpoints show for one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// The highest that any of them shows.
    pub highest: u64,
    /// The highest that as many show as the quorum requires. None if fewer answer.
    pub agreed: Option<u64>,
}

impl Counts {
    /// The quorum's, or else the highest: a lane that stops without need is better than one that signs used nonces.
    pub fn believed(self) -> u64 {
        self.agreed.unwrap_or(self.highest)
    }
}

impl Chain {
    /// The next nonce of the address at that height, as one endpoint has it.
    pub async fn transaction_count(&self, address: Address, tag: Tag) -> Result<u64, Fault> {
        let count: U64 = self.read(COUNT, address, tag).await?;
        Ok(count.to())
    }

    /// The next nonce of the address at that height, as all endpoints have it: one of them alone is no reason to stop a lane.
    pub async fn transaction_counts(&self, address: Address, tag: Tag) -> Result<Counts, Fault> {
        let quorum = self.quorum();
        if quorum < 2 {
            let count = self.transaction_count(address, tag).await?;
            return Ok(Counts { highest: count, agreed: Some(count) });
        }
        let requests = |_: &Endpoint| vec![Request::new(COUNT, json!([address, tag.param()]))];
        let read = |answers: Vec<Answer>| first::<U64>(COUNT, answers);
        let endpoints = self.candidates();
        let asked = join_all(endpoints.iter().map(|endpoint| self.ask_one(endpoint, &requests, &read))).await;
        let mut counts: Vec<u64> = asked.into_iter().flatten().map(|count| count.to()).collect();
        counts.sort_unstable_by(|one, other| other.cmp(one));
        let highest = *counts.first().ok_or_else(|| Fault::Incomplete(format!("{COUNT}: no endpoint answers")))?;
        Ok(Counts { highest, agreed: counts.get(quorum - 1).copied() })
    }

    /// What all endpoints show about a nonce at the height of a final block. Enough are as many as the quorum requires, and two where there
    /// are two.
    pub async fn nonce_use(&self, address: Address, nonce: u64, hashes: &[B256], block: u64) -> NonceUse {
        let requests = |_: &Endpoint| {
            let receipts = hashes.iter().map(|hash| Request::new(RECEIPT, json!([hash])));
            std::iter::once(Request::new(COUNT, json!([address, Tag::Number(block).param()]))).chain(receipts).collect()
        };
        let read = |answers: Vec<Answer>| {
            let mut answers = answers.into_iter();
            let count = answers.next().ok_or_else(|| Fault::Incomplete("no answer".into()))?;
            let count: U64 = required(COUNT, count)?;
            for (answer, hash) in answers.zip(hashes) {
                if optional::<IgnoredAny>(RECEIPT, answer)?.is_some() {
                    return Ok((count.to::<u64>(), Some(*hash)));
                }
            }
            Ok((count.to::<u64>(), None))
        };
        let endpoints = self.candidates();
        let asked = join_all(endpoints.iter().map(|endpoint| self.ask_one(endpoint, &requests, &read))).await;
        let shown: Vec<(u64, Option<B256>)> = asked.into_iter().flatten().collect();
        if let Some(hash) = shown.iter().find_map(|(_, ours)| *ours) {
            return NonceUse::Ours(hash);
        }
        let needed = self.quorum().max(self.endpoints().len().min(2));
        let used = shown.iter().filter(|(count, _)| *count > nonce).count();
        if used >= needed { NonceUse::NotOurs } else { NonceUse::Open }
    }

    /// The balance of the address in wei.
    pub async fn balance(&self, address: Address, tag: Tag) -> Result<U256, Fault> {
        self.read("eth_getBalance", address, tag).await
    }

    /// The code at the address; empty where there is no contract.
    pub async fn code(&self, address: Address, tag: Tag) -> Result<Bytes, Fault> {
        self.read("eth_getCode", address, tag).await
    }

    async fn read<T>(&self, method: &'static str, address: Address, tag: Tag) -> Result<T, Fault>
    where
        T: serde::de::DeserializeOwned,
    {
        let request = Request::new(method, json!([address, tag.param()]));
        self.ask(vec![request], |answers| first(method, answers)).await
    }
}
