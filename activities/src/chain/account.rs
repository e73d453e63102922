//! Reads of one address: nonce, balance, code.
use alloy::primitives::{Address, Bytes, U64, U256};
use serde_json::json;

use crate::{
    chain::{Chain, Tag},
    fault::Fault,
    rpc::{Request, first},
};

impl Chain {
    /// The next nonce of the address at that height.
    pub async fn transaction_count(&self, address: Address, tag: Tag) -> Result<u64, Fault> {
        let count: U64 = self.read("eth_getTransactionCount", address, tag).await?;
        Ok(count.to())
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
