//! Failed and stuck operations, produced through the API.

use alloy::primitives::{Address, B256, Bytes};
use muniment_activities::contract::registry::{self, Roles};
use muniment_domain::user::Role;
use serde_json::{Value, json};
use world::KEYS;

use super::server::Answer;
use super::{Installation, Server, data, signer_of};
use crate::foreign_key::send;

impl Installation {
    /// Creates an API key of a new person with this role, before any process has the database open.
    pub async fn key_of(&self, role: Role, scopes: &str) -> String {
        data::key_of(&self.database.url(), role, scopes).await
    }

    /// Sends a call with a known key, past the platform, whether it will succeed or revert; returns its hash.
    pub async fn sent_as(&self, key: &str, to: Address, data: Bytes) -> String {
        let count = json!([signer_of(key), "latest"]);
        let nonce = self.anvil.rpc().number("eth_getTransactionCount", count).await;
        send(&self.anvil, key, nonce, to, data).await
    }

    /// Sets the roles of a known key in a block of its own, so that the next read sees them.
    pub async fn set_roles_of(&self, key: &str, roles: Roles) {
        let owner = signer_of(KEYS[0]);
        let call = registry::set_roles(owner, self.platform.registry, signer_of(key), roles);
        self.sent_as(KEYS[0], call.to.unwrap(), call.data).await;
        self.anvil.mine(1).await;
    }

    /// Sets the roles of a known key for one offering.
    pub async fn set_roles_for(&self, offering: B256, key: &str, roles: Roles) {
        let owner = signer_of(KEYS[0]);
        let call = registry::set_roles_for(owner, self.platform.registry, offering, signer_of(key), roles);
        self.sent_as(KEYS[0], call.to.unwrap(), call.data).await;
        self.anvil.mine(1).await;
    }

    /// Sets the roles of the platform's signer.
    pub async fn set_roles(&self, roles: Roles) {
        self.set_roles_of(KEYS[1], roles).await;
    }

    /// Waits until the events of each token are read up to the block that made it. A deployment is confirmed one poll earlier, and a
    /// confirmation proof needs the events.
    pub async fn all_read(&self) {
        self.until("every token is read", async || self.count("token_cursors where pace = 'new'").await == 0).await;
    }

    /// Mines single blocks until no operation is unfinished.
    pub async fn finalised(&self) {
        self.mined_until("all is final", async || {
            self.unfinished().await == 0
                && self.count("operation_steps where state in ('signed', 'included')").await == 0
        })
        .await;
    }

    /// Configures short limits, so that the first operation is stuck soon: a bump has no room below the cap, a cancel has.
    pub fn impatient(&mut self) {
        for (key, value) in [("bump_after_seconds", "1"), ("bump_percent", "40000"), ("stuck_after_seconds", "1")] {
            self.config.chain(key, value);
        }
    }

    /// Mines blocks whose base fee is above what the sent transactions offer, until no operation is unfinished. The next block is cheap
    /// and can include them.
    pub async fn outbid(&self) {
        self.until("everything is sent", async || {
            self.count("operations where status = 'pending'").await == 0
                && self.count("attempts where open and sends = 0").await == 0
        })
        .await;
        self.until("no operation is unfinished", async || {
            self.mine_above_offers().await;
            self.unfinished().await == 0
        })
        .await;
        self.anvil.set_base_fee(1).await;
        // A node drops what a block could not include for its fee. It gets it again.
        self.all_in_pool(1).await;
    }

    /// Mines one block whose base fee is above what every sent transaction offers, so that it includes none of them.
    pub async fn mine_above_offers(&self) {
        let mut highest = None;
        // An offer may be raised at any time: what was raised before the fee was set is read once more.
        loop {
            let offers = self.rows("select max_fee_per_gas from attempts where open").await.concat();
            let now = offers.iter().map(|offer| offer.parse::<u64>().unwrap()).max().unwrap_or_default();
            if highest.replace(now) == Some(now) {
                break;
            }
            self.anvil.set_base_fee(50_000_000_000.max(now + 1)).await;
        }
        self.anvil.mine(1).await;
    }

    /// Makes a dead letter with an open nonce: a deployment that is sent and never included.
    pub async fn stuck(&self, server: &Server) -> String {
        let id = server.deploy("deploy-stuck", &self.offerings[0]).await.text("/id");
        self.outbid().await;
        assert_eq!(server.state(&id).await, ("dead_letter".to_owned(), "stuck".to_owned()));
        id
    }

    /// Deploys a token and makes its mint fail, because the signer lost its role.
    pub async fn mint_refused(&self, server: &Server, offering: usize) -> String {
        let offering = &self.offerings[offering];
        server.deploy(&format!("deploy-{offering}"), offering).await;
        self.settled().await;
        self.set_roles(Roles(0)).await;
        let id = server.mint(&format!("mint-{offering}"), offering).await.text("/operations/0/id");
        self.settled().await;
        self.all_read().await;
        assert_eq!(server.state(&id).await, ("failed".to_owned(), "reverts".to_owned()));
        id
    }
}

impl Server {
    /// Status and error code of an operation.
    pub async fn state(&self, id: &str) -> (String, String) {
        let shown = self.get(&format!("/blockchain/operations/{id}")).await;
        (shown.text("/status"), shown.text("/error/code"))
    }

    /// Performs an operator's move on an operation.
    pub async fn act(&self, key: &str, id: &str, act: &str, body: Value) -> Answer {
        self.post(&format!("/blockchain/operations/{id}/{act}"), key, body).await
    }

    /// Repeats one of many retries with the same key and body.
    pub async fn retry_again(&self, id: &str, number: usize) -> Answer {
        self.act(&format!("retry-{number}"), id, "retry", json!({ "reason": "again" })).await
    }

    /// Requests a retry.
    pub async fn retry(&self, key: &str, id: &str) -> Answer {
        self.act(key, id, "retry", json!({ "reason": "a test" })).await
    }
}
