//! Test-controlled blocks, and waits for them.

use serde_json::{Value, json};
use world::KEYS;

use super::{Installation, signer_of};

impl Installation {
    /// Stops mining; from now on only the test makes blocks.
    pub async fn stop_blocks(&self) {
        self.anvil.rpc().call("evm_setIntervalMining", json!([0])).await;
        self.anvil.rpc().call("evm_setAutomine", json!([false])).await;
    }

    /// Resumes mining: a block with each transaction, and one a second.
    pub async fn resume_blocks(&self) {
        self.anvil.rpc().call("evm_setAutomine", json!([true])).await;
        self.anvil.rpc().call("evm_setIntervalMining", json!([1])).await;
    }

    /// Mines one block at a time until the condition holds.
    pub async fn mined_until(&self, what: &str, condition: impl AsyncFn() -> bool) {
        self.until(what, async || {
            self.anvil.mine(1).await;
            condition().await
        })
        .await;
    }

    /// Waits until the newest block is followed. A trial call is made at the followed head, not at the newest block.
    pub async fn followed(&self) {
        let newest = self.anvil.rpc().number("eth_blockNumber", json!([])).await;
        let followed = format!("chains where head_number >= {newest}");
        self.until("the newest block is followed", async || self.count(&followed).await == 1).await;
    }

    /// Mines until no operation is pending or submitted.
    pub async fn mined_until_settled(&self) {
        self.mined_until("no operation is unfinished", async || self.unfinished().await == 0).await;
    }

    /// Waits until a transaction is in a block, successful or reverted; returns its receipt.
    pub async fn included(&self, hash: &str) -> Value {
        let receipt = async || self.anvil.rpc().call("eth_getTransactionReceipt", json!([hash])).await;
        self.until("it is in a block", async || !receipt().await.is_null()).await;
        receipt().await
    }

    /// Waits until a successful transaction is in a block; returns its block.
    pub async fn mined(&self, hash: &str) -> u64 {
        let receipt = self.included(hash).await;
        assert_eq!(receipt["status"], "0x1", "{receipt}");
        u64::from_str_radix(receipt["blockNumber"].as_str().unwrap().trim_start_matches("0x"), 16).unwrap()
    }

    /// Waits until the tokens are read up to a transaction's block: it is final and in the ledger.
    pub async fn read_up_to(&self, hash: &str) {
        let read = format!("token_reads where block_number >= {}", self.mined(hash).await);
        self.until("it is final here", async || self.count(&read).await == 1).await;
    }

    /// Counts the platform's transactions in the pool that the node can include without a nonce gap.
    pub async fn in_pool(&self) -> u64 {
        let (rpc, signer) = (self.anvil.rpc(), signer_of(KEYS[1]));
        let next = rpc.number("eth_getTransactionCount", json!([signer, "latest"])).await;
        let pool = rpc.call("txpool_content", json!([])).await;
        let of_signer = |part: &Value| {
            let mut by_address = part.as_object().into_iter().flatten();
            let own = by_address.find(|(address, _)| address.eq_ignore_ascii_case(&signer.to_string()));
            own.map(|(_, transactions)| transactions.clone())
        };
        let parts = [of_signer(&pool["pending"]), of_signer(&pool["queued"])];
        let has = |nonce: u64| parts.iter().flatten().any(|txs| txs.get(nonce.to_string()).is_some());
        (next..).take_while(|nonce| has(*nonce)).count() as u64
    }

    /// Waits until the next block can include everything that the platform signed, and at least this many.
    pub async fn all_in_pool(&self, at_least: u64) {
        let signed =
            async || self.rows("select cast(next_nonce as text) from lanes").await[0][0].parse::<u64>().unwrap();
        let mined =
            async || self.anvil.rpc().number("eth_getTransactionCount", json!([signer_of(KEYS[1]), "latest"])).await;
        self.until("everything that was signed is in the pool", async || {
            let waiting = self.in_pool().await;
            waiting >= at_least && mined().await + waiting == signed().await
        })
        .await;
    }
}
