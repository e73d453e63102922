//! A client that repeats its requests under the same keys until everything is final.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{Installation, PATIENCE, Server};

/// The next thing that an offering lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lacks {
    Token,
    Mint,
    Finality,
    Nothing,
}

impl Installation {
    /// What the offering lacks until its whole mint is final.
    pub async fn lacks(&self, offering_id: &str) -> Lacks {
        let of = |what: &str| format!("{what} and offering_id = '{offering_id}'");
        if self.count(&format!("offerings where token_status = 'deployed' and id = '{offering_id}'")).await == 0 {
            let asked = self.count(&of("operations where kind = 'deploy_token' and resolution is null")).await;
            return if asked == 0 { Lacks::Token } else { Lacks::Finality };
        }
        if self.count(&of("operations where kind = 'mint'")).await == 0 {
            return Lacks::Mint;
        }
        if self.count(&of("operations where status in ('pending', 'submitted')")).await > 0 {
            return Lacks::Finality;
        }
        Lacks::Nothing
    }

    /// Deploys and mints an offering through the server; returns false if the server ended first.
    pub async fn drive(&self, server: &mut Server, offering_id: &str) -> bool {
        let (client, body, start) = (server.client(), json!({ "offering_id": offering_id }), Instant::now());
        loop {
            if server.process.exited().is_some() {
                return false;
            }
            let path = match self.lacks(offering_id).await {
                Lacks::Token => Some(("/blockchain/deploy-token", "deploy")),
                Lacks::Mint => Some(("/blockchain/trigger-mint", "mint")),
                Lacks::Finality => None,
                Lacks::Nothing => return true,
            };
            if let Some((path, wish)) = path {
                // The idempotency key belongs to the request, so a repetition is recognised.
                _ = client.post(path, &format!("{wish}-{offering_id}"), body.clone()).await;
            }
            assert!(start.elapsed() < PATIENCE, "not final after {PATIENCE:?}\n{}", self.overview().await);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}
