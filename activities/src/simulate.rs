//! Asks a node what a call would do, before anything is signed.
use alloy::primitives::{Address, B256, Bytes, U64};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    chain::Chain,
    fault::Fault,
    revert::Revert,
    rpc::{Answer, Request, pair, required},
};

/// A call of a contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Who calls.
    pub from: Address,
    /// The contract; none to deploy one.
    pub to: Option<Address>,
    /// Selector and arguments, or the code to deploy.
    pub data: Bytes,
}

/// The state on which a call is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// The newest block that the endpoint has.
    Latest,
    /// The block of this hash, and only while it is canonical (EIP-1898).
    Hash(B256),
}

/// What a call would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Simulation {
    /// It would be executed with so much gas.
    Gas(u64),
    /// It would revert, and why.
    Reverts(Revert),
}

impl At {
    fn param(self) -> Value {
        match self {
            At::Latest => json!("latest"),
            At::Hash(hash) => json!({ "blockHash": hash, "requireCanonical": true }),
        }
    }
}

impl Call {
    pub(crate) fn request(&self, method: &'static str, at: At) -> Request {
        let mut call = json!({ "from": self.from, "data": self.data });
        if let Some(to) = self.to {
            call["to"] = json!(to);
        }
        Request::new(method, json!([call, at.param()]))
    }
}

impl Chain {
    /// Whether the call would be executed, and with how much gas.
    pub async fn simulate(&self, call: &Call, at: At) -> Result<Simulation, Fault> {
        let estimate = call.request("eth_estimateGas", at);
        match at {
            At::Latest => self.ask(vec![estimate], |mut answers| gas(answers.pop())).await,
            // Nodes estimate on a state of their own choice when they do not know the hash; `eth_call` says so.
            At::Hash(_) => {
                let requests = vec![call.request("eth_call", at), estimate];
                self.ask(requests, |answers| {
                    let (called, estimated) = pair(answers)?;
                    match outcome(called)? {
                        Err(revert) => Ok(Simulation::Reverts(revert)),
                        Ok(_) => gas(Some(estimated)),
                    }
                })
                .await
            }
        }
    }

    /// What the call answers, or why it reverts.
    pub async fn call(&self, call: &Call, at: At) -> Result<Result<Bytes, Revert>, Fault> {
        let request = call.request("eth_call", at);
        self.ask(vec![request], |mut answers| match answers.pop() {
            Some(answer) => outcome(answer),
            None => Err(Fault::Incomplete("no answer".into())),
        })
        .await
    }
}

fn outcome(answer: Answer) -> Result<Result<Bytes, Revert>, Fault> {
    match answer {
        Err(error) => match error.revert() {
            Some(revert) => Ok(Err(revert)),
            None => Err(error.fault("eth_call")),
        },
        answer => required("eth_call", answer).map(Ok),
    }
}

fn gas(answer: Option<Answer>) -> Result<Simulation, Fault> {
    match answer {
        Some(Err(error)) => match error.revert() {
            Some(revert) => Ok(Simulation::Reverts(revert)),
            None => Err(error.fault("eth_estimateGas")),
        },
        Some(answer) => required::<U64>("eth_estimateGas", answer).map(|gas| Simulation::Gas(gas.to())),
        None => Err(Fault::Incomplete("no answer".into())),
    }
}
