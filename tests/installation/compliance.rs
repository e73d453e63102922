//! A token with holders, and compliance requests about it.

use alloy::primitives::Address;
use serde_json::{Value, json};

use super::server::{Answer, Server};
use super::{Installation, data::wallet};

impl Installation {
    /// Deploys and mints the first offering through the server, and returns its token.
    pub async fn minted(&self, server: &Server) -> Address {
        let offering = &self.offerings[0];
        assert_eq!(server.deploy("deploy", offering).await.status, 202);
        self.settled().await;
        assert_eq!(server.mint("mint", offering).await.status, 202);
        self.settled().await;
        let [token] = self.tokens_of(offering).await.try_into().unwrap();
        token.address
    }

    /// The body of a request about the first offering, with additional fields.
    pub fn about(&self, fields: Value) -> Value {
        let mut body = json!({ "offering_id": self.offerings[0], "reason_code": "sanctions" });
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        body
    }

    /// Requests a freeze of a numbered holder's wallet.
    pub async fn freeze(&self, server: &Server, key: &str, holder: usize) -> Answer {
        let body = self.about(json!({ "address": wallet(holder).to_checksum(None) }));
        server.post("/blockchain/freeze", key, body).await
    }

    /// Sets the mode of every lane.
    pub async fn lanes(&self, mode: &str) {
        self.write(&format!("update lanes set mode = '{mode}'")).await;
    }
}
