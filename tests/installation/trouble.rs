//! Operations in trouble, brought there through the interface.

use muniment_activities::registry::{self, Roles};
use muniment_domain::user::Role;
use serde_json::{Value, json};
use world::KEYS;

use super::server::Answer;
use super::{Installation, Server, data, signer_of};
use crate::foreign_key::send;

impl Installation {
    /// A key of somebody with this role, made before any process has the database open.
    pub async fn key_of(&self, role: Role, scopes: &str) -> String {
        data::key_of(&self.database.url(), role, scopes).await
    }

    /// Gives roles to one of the known keys, or takes them, in a block of their own: whoever asks the chain next is told so.
    pub async fn set_roles_of(&self, key: &str, roles: Roles) {
        let owner = signer_of(KEYS[0]);
        let call = registry::set_roles(owner, self.platform.registry, signer_of(key), roles);
        let nonce = self.anvil.rpc().number("eth_getTransactionCount", json!([owner, "latest"])).await;
        send(&self.anvil, KEYS[0], nonce, call.to.unwrap(), call.data).await;
        self.anvil.mine(1).await;
    }

    /// Gives roles to the platform's signer, or takes them.
    pub async fn set_roles(&self, roles: Roles) {
        self.set_roles_of(KEYS[1], roles).await;
    }

    /// Waits until the events of each token are read up to the block that made it: a deployment is confirmed a look earlier, and proves
    /// nothing to a person before.
    pub async fn all_read(&self) {
        self.until("every token is read", async || self.count("token_cursors where pace = 'new'").await == 0).await;
    }

    /// A few blocks, one after the other, until nothing is under way.
    pub async fn finalised(&self) {
        self.mined_until("all is final", async || {
            self.unfinished().await == 0
                && self.count("operation_steps where state in ('signed', 'included')").await == 0
        })
        .await;
    }

    /// What a person sets so that the first operation is stuck soon: no block comes, no fee may rise, and patience is short.
    pub fn impatient(&mut self) {
        for (key, value) in [("bump_after_seconds", "1"), ("bumps_max", "0"), ("stuck_after_seconds", "1")] {
            self.config.chain(key, value);
        }
    }

    /// A deployment whose bytes are out and that nobody mines: a dead letter with an open nonce.
    pub async fn stuck(&self, server: &Server) -> String {
        let id = server.deploy("deploy-stuck", &self.offerings[0]).await.text("/id");
        self.settled().await;
        assert_eq!(server.state(&id).await, ("dead_letter".to_owned(), "stuck".to_owned()));
        id
    }

    /// A deployed token, and the mint of it refused because the signer had lost its role.
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

    /// What a person does to an operation.
    pub async fn act(&self, key: &str, id: &str, act: &str, body: Value) -> Answer {
        self.post(&format!("/blockchain/operations/{id}/{act}"), key, body).await
    }

    /// The n-th of many retries with the same body, asked again.
    pub async fn retry_again(&self, id: &str, number: usize) -> Answer {
        self.act(&format!("retry-{number}"), id, "retry", json!({ "reason": "again" })).await
    }

    /// A retry.
    pub async fn retry(&self, key: &str, id: &str) -> Answer {
        self.act(key, id, "retry", json!({ "reason": "a test" })).await
    }
}
