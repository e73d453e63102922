//! Sends signed transactions. Whatever the answer, the transaction can be on the chain.
use alloy::primitives::{B256, Bytes, keccak256};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    chain::Chain,
    rpc::{
        Answer, Request,
        classify::{SendClass, classify_send},
        endpoint::Endpoint,
    },
};

/// The answer to one signed transaction. No answer decides a status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SendResult {
    /// A mempool accepted it.
    Accepted(B256),
    /// A mempool or a block already has it.
    AlreadyKnown,
    /// Every endpoint that answered refused it.
    Refused(SendRefusal),
    /// No answer, or an answer that does not match the transaction.
    Unknown(String),
}

/// Why a transaction was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendRefusal {
    /// The class of the text.
    pub class: SendClass,
    /// The text of the node.
    pub text: String,
}

impl SendResult {
    /// The best answer of several endpoints has the highest weight: one endpoint that accepted it is enough.
    fn weight(&self) -> u8 {
        match self {
            SendResult::Accepted(_) => 3,
            SendResult::AlreadyKnown => 2,
            SendResult::Refused(_) => 1,
            SendResult::Unknown(_) => 0,
        }
    }
}

impl Chain {
    /// Sends the transactions in this order, lowest nonce first, in one batch. Returns one answer for each.
    ///
    /// The same bytes are the same transaction everywhere, so another endpoint may get them too: after a failure always,
    /// with `broadcast_all` in any case.
    pub async fn send(&self, raws: &[Bytes]) -> Vec<SendResult> {
        self.send_with(raws, self.config.broadcast_all).await
    }

    /// Sends the transactions to every endpoint: one that took them and keeps them to itself must not be their only way.
    pub async fn send_to_all(&self, raws: &[Bytes]) -> Vec<SendResult> {
        self.send_with(raws, true).await
    }

    async fn send_with(&self, raws: &[Bytes], to_all: bool) -> Vec<SendResult> {
        let mut sent: Vec<SendResult> = vec![SendResult::Unknown("no endpoint could be reached".into()); raws.len()];
        if raws.is_empty() {
            return sent;
        }
        let endpoints = self.candidates();
        if to_all {
            let answers = endpoints.iter().map(|endpoint| self.send_to(endpoint, raws));
            // All endpoints get the bytes at once, so a slow one delays nobody.
            for answers in futures::future::join_all(answers).await {
                merge(&mut sent, answers);
            }
            return sent;
        }
        for endpoint in endpoints {
            let answers = self.send_to(endpoint, raws).await;
            merge(&mut sent, answers);
            // A definite answer about the transaction itself would be the same elsewhere.
            if sent.iter().all(|sent| !is_endpoint_trouble(sent)) {
                break;
            }
        }
        sent
    }

    async fn send_to(&self, endpoint: &Endpoint, raws: &[Bytes]) -> Vec<SendResult> {
        let request = |raw: &Bytes| Request::new("eth_sendRawTransaction", json!([raw]));
        let requests: Vec<Request> = raws.iter().map(request).collect();
        let answers = match self.verified(endpoint).await {
            Ok(()) => self.post(endpoint, &requests).await,
            Err(fault) => Err(fault),
        };
        match answers {
            Ok(answers) => raws.iter().zip(answers).map(|(raw, answer)| read(raw, answer)).collect(),
            Err(fault) => vec![SendResult::Unknown(fault.to_string()); raws.len()],
        }
    }
}

fn read(raw: &Bytes, answer: Answer) -> SendResult {
    match answer {
        Ok(text) => {
            let hash = keccak256(raw);
            match serde_json::from_str::<B256>(text.get()) {
                Ok(found) if found == hash => SendResult::Accepted(hash),
                Ok(found) => {
                    SendResult::Unknown(format!("the node returned the hash {found} for the transaction {hash}"))
                }
                Err(error) => {
                    SendResult::Unknown(format!("the node returned no hash for the transaction {hash}: {error}"))
                }
            }
        }
        Err(error) => match classify_send(error.code, &error.message) {
            SendClass::AlreadyKnown => SendResult::AlreadyKnown,
            class => SendResult::Refused(SendRefusal { class, text: error.message }),
        },
    }
}

fn merge(sent: &mut [SendResult], answers: Vec<SendResult>) {
    for (best, answer) in sent.iter_mut().zip(answers) {
        let both_unknown = matches!(best, SendResult::Unknown(_)) && answer.weight() == 0;
        if answer.weight() > best.weight() || both_unknown {
            *best = answer;
        }
    }
}

/// Whether the cause lies with the endpoint and not with the transaction.
fn is_endpoint_trouble(sent: &SendResult) -> bool {
    match sent {
        SendResult::Unknown(_) => true,
        SendResult::Refused(refusal) => {
            matches!(refusal.class, SendClass::RateLimited | SendClass::PoolFull | SendClass::Unknown)
        }
        SendResult::Accepted(_) | SendResult::AlreadyKnown => false,
    }
}
