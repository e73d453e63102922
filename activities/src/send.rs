//! Puts signed bytes on the wire. Whatever comes back, the transaction may be on the chain.
use alloy::primitives::{B256, Bytes, keccak256};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    chain::Chain,
    classify::{SendClass, classify_send},
    endpoint::Endpoint,
    rpc::{Answer, Request},
};

/// What an endpoint answered to one signed transaction; none of it decides a status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sent {
    /// A pool took it.
    Accepted(B256),
    /// A pool or a block has it already.
    AlreadyKnown,
    /// Every endpoint that answered refused it.
    Refused(SendRefusal),
    /// Nobody knows: no answer, or one that does not fit.
    Unknown(String),
}

/// Why a transaction was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendRefusal {
    /// What the text means.
    pub class: SendClass,
    /// The text of the node.
    pub text: String,
}

impl Sent {
    /// The better the news, the higher: the answer of one endpoint that took it outweighs the others.
    fn weight(&self) -> u8 {
        match self {
            Sent::Accepted(_) => 3,
            Sent::AlreadyKnown => 2,
            Sent::Refused(_) => 1,
            Sent::Unknown(_) => 0,
        }
    }
}

impl Chain {
    /// Sends the bytes in the order given, lowest nonce first, in one batch; one answer for each.
    ///
    /// The same bytes are the same transaction wherever they arrive, so an endpoint that is silent or
    /// confused is followed by the next, and `broadcast_all` sends to every one.
    pub async fn send(&self, raws: &[Bytes]) -> Vec<Sent> {
        let mut sent: Vec<Sent> = vec![Sent::Unknown("no endpoint could be reached".into()); raws.len()];
        if raws.is_empty() {
            return sent;
        }
        let endpoints = self.candidates();
        if self.config.broadcast_all {
            let answers = endpoints.iter().map(|endpoint| self.send_to(endpoint, raws));
            for answers in futures::future::join_all(answers).await {
                merge(&mut sent, answers);
            }
            return sent;
        }
        for endpoint in endpoints {
            let answers = self.send_to(endpoint, raws).await;
            merge(&mut sent, answers);
            if sent.iter().all(|sent| !is_worth_another(sent)) {
                break;
            }
        }
        sent
    }

    async fn send_to(&self, endpoint: &Endpoint, raws: &[Bytes]) -> Vec<Sent> {
        let request = |raw: &Bytes| Request::new("eth_sendRawTransaction", json!([raw]));
        let requests: Vec<Request> = raws.iter().map(request).collect();
        let answers = match self.verified(endpoint).await {
            Ok(()) => self.post(endpoint, &requests).await,
            Err(fault) => Err(fault),
        };
        match answers {
            Ok(answers) => raws.iter().zip(answers).map(|(raw, answer)| read(raw, answer)).collect(),
            Err(fault) => vec![Sent::Unknown(fault.to_string()); raws.len()],
        }
    }
}

fn read(raw: &Bytes, answer: Answer) -> Sent {
    match answer {
        Ok(value) => {
            let hash = keccak256(raw);
            match serde_json::from_value::<B256>(value) {
                Ok(found) if found == hash => Sent::Accepted(hash),
                Ok(found) => Sent::Unknown(format!("the node answered the hash {found} for the transaction {hash}")),
                Err(error) => Sent::Unknown(format!("the node answered no hash for the transaction {hash}: {error}")),
            }
        }
        Err(error) => match classify_send(error.code, &error.message) {
            SendClass::AlreadyKnown => Sent::AlreadyKnown,
            class => Sent::Refused(SendRefusal { class, text: error.message }),
        },
    }
}

fn merge(sent: &mut [Sent], answers: Vec<Sent>) {
    for (best, answer) in sent.iter_mut().zip(answers) {
        let silent = matches!(best, Sent::Unknown(_)) && answer.weight() == 0;
        if answer.weight() > best.weight() || silent {
            *best = answer;
        }
    }
}

/// Whether the trouble lies with the endpoint rather than with the transaction.
fn is_worth_another(sent: &Sent) -> bool {
    match sent {
        Sent::Unknown(_) => true,
        Sent::Refused(refusal) => {
            matches!(refusal.class, SendClass::RateLimited | SendClass::PoolFull | SendClass::Unknown)
        }
        Sent::Accepted(_) | Sent::AlreadyKnown => false,
    }
}
