//! A chain whose blocks come by the test's word, and what waits for them.

use serde_json::{Value, json};
use world::KEYS;

use super::{Installation, signer_of};

impl Installation {
    /// No block comes any more but by the test's word.
    pub async fn hold_blocks(&self) {
        self.anvil.rpc().call("evm_setIntervalMining", json!([0])).await;
        self.anvil.rpc().call("evm_setAutomine", json!([false])).await;
    }

    /// Waits for something of the chain's doing, a block at a time.
    pub async fn mined_until(&self, what: &str, condition: impl AsyncFn() -> bool) {
        self.until(what, async || {
            self.anvil.mine(1).await;
            condition().await
        })
        .await;
    }

    /// How many transactions of the platform the node would take into blocks one after the other: a later nonce alone says nothing.
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

    /// Waits until a block would take everything that the platform has signed, which is so much at least.
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
