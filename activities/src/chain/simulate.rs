//! Simulates calls on a node before anything is signed.
use alloy::primitives::{Address, B256, Bytes, U64};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    chain::Chain,
    fault::Fault,
    revert::Revert,
    rpc::{Answer, Request, RpcError, pair, required},
};

/// A contract call.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Call {
    /// The caller.
    pub from: Address,
    /// The contract; none for a deployment.
    pub to: Option<Address>,
    /// Calldata, or creation code for a deployment.
    pub data: Bytes,
}

/// The block whose state a call runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// The newest block of the endpoint.
    Latest,
    /// The block with this hash, only while it is canonical (EIP-1898).
    Hash(B256),
}

/// One call of a simulation of several calls.
#[derive(Clone, Debug)]
pub struct SimulationRequest {
    /// The call.
    pub call: Call,
    /// The state it runs on.
    pub at: At,
    /// Gas that a similar call needed. If it is enough for this one too, there is no estimate.
    pub known_gas: Option<u64>,
}

/// The result of a simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Simulation {
    /// The call succeeds with this gas.
    Gas(u64),
    /// The call reverts.
    Reverts(Revert),
}

impl Simulation {
    /// Whether both succeed, or both revert and agree on whether the call is executed already.
    pub fn ends_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Simulation::Gas(_), Simulation::Gas(_)) => true,
            (Simulation::Reverts(one), Simulation::Reverts(other)) => {
                one.is_already_executed() == other.is_already_executed()
            }
            _ => false,
        }
    }

    /// Whether another node shows the same. It may estimate other gas, of which the most is kept, and some nodes leave out the data of a revert.
    fn is_joined_by(&mut self, other: &Self, gas_cap: u64) -> bool {
        match (&*self, other) {
            (Simulation::Gas(one), Simulation::Gas(other)) if (*one > gas_cap) == (*other > gas_cap) => {
                *self = Simulation::Gas(*one.max(other));
                true
            }
            (Simulation::Reverts(one), Simulation::Reverts(more)) if one.data.is_empty() => {
                *self = Simulation::Reverts(more.clone());
                true
            }
            (Simulation::Reverts(one), Simulation::Reverts(other)) => other.data.is_empty() || one.data == other.data,
            _ => false,
        }
    }
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

impl SimulationRequest {
    fn requests(&self) -> Vec<Request> {
        let estimate = self.call.request("eth_estimateGas", self.at);
        match (self.at, self.known_gas) {
            (At::Latest, None) => vec![estimate],
            // One execution, where an estimate needs many.
            (_, Some(gas)) => {
                let mut call = self.call.request("eth_call", self.at);
                call.params[0]["gas"] = json!(U64::from(gas));
                vec![call]
            }
            // A node that does not know the hash estimates on another block; `eth_call` returns an error instead.
            (At::Hash(_), None) => vec![self.call.request("eth_call", self.at), estimate],
        }
    }

    /// Takes this simulation's answers from the front. None if the gas was not enough or the call reverts: simulate it alone then.
    fn read(&self, answers: &mut impl Iterator<Item = Answer>) -> Option<Result<Simulation, Fault>> {
        let mut next = || answers.next().unwrap_or_else(|| Err(RpcError::default()));
        match (self.at, self.known_gas) {
            (At::Latest, None) => Some(gas(Some(next()))),
            // The call ran with this gas as its limit, so a success means that it is enough.
            (_, Some(enough)) => match outcome(next()) {
                Ok(Ok(_)) => Some(Ok(Simulation::Gas(enough))),
                Err(fault @ (Fault::UnknownBlock | Fault::Pruned(_))) => Some(Err(fault)),
                Ok(Err(_)) | Err(_) => None,
            },
            (At::Hash(_), None) => Some(called_and_estimated(next(), next())),
        }
    }
}

fn called_and_estimated(called: Answer, estimated: Answer) -> Result<Simulation, Fault> {
    match outcome(called)? {
        Err(revert) => Ok(Simulation::Reverts(revert)),
        Ok(_) => gas(Some(estimated)),
    }
}

impl Chain {
    /// Simulates several calls in one request. Calls without a result are simulated again one by one.
    pub async fn simulate_all(&self, trials: &[SimulationRequest]) -> Vec<Result<Simulation, Fault>> {
        let requests = trials.iter().flat_map(SimulationRequest::requests).collect();
        let together = self
            .ask(requests, |answers| {
                let mut answers = answers.into_iter();
                Ok(trials.iter().map(|trial| trial.read(&mut answers)).collect::<Vec<_>>())
            })
            .await;
        let found = match together {
            Ok(found) => found,
            Err(fault) => return trials.iter().map(|_| Err(fault.clone())).collect(),
        };
        let mut simulations = Vec::with_capacity(trials.len());
        for (trial, found) in trials.iter().zip(found) {
            simulations.push(match found {
                Some(Ok(simulation)) => Ok(simulation),
                // Another endpoint can have the answer.
                Some(Err(fault)) if self.endpoints().len() == 1 => Err(fault),
                // A failed call is repeated alone, because a low gas limit can look like a revert.
                Some(Err(_)) | None => self.simulate(&trial.call, trial.at).await,
            });
        }
        simulations
    }

    /// Whether the call would succeed, and with how much gas.
    pub async fn simulate(&self, call: &Call, at: At) -> Result<Simulation, Fault> {
        let estimate = call.request("eth_estimateGas", at);
        match at {
            At::Latest => self.ask(vec![estimate], |mut answers| gas(answers.pop())).await,
            // A node that does not know the hash estimates on another block; `eth_call` returns an error instead.
            At::Hash(_) => {
                let requests = vec![call.request("eth_call", at), estimate];
                self.ask(requests, |answers| {
                    let (called, estimated) = pair(answers)?;
                    called_and_estimated(called, estimated)
                })
                .await
            }
        }
    }

    /// What as many endpoints as the quorum requires show of a call: that it reverts, that it succeeds with less gas than the cap, or with
    /// more. None while they do not agree.
    pub async fn agreed_simulation(&self, call: &Call, at: At) -> Result<Option<Simulation>, Fault> {
        let cap = self.config.gas_cap;
        let simulate = |endpoint: Self| async move { endpoint.simulate(call, at).await };
        self.agreed(simulate, |one, other| one.is_joined_by(other, cap)).await
    }

    /// Runs a read-only call: its return data, or its revert.
    pub async fn call(&self, call: &Call, at: At) -> Result<Result<Bytes, Revert>, Fault> {
        let request = call.request("eth_call", at);
        self.ask(vec![request], |mut answers| match answers.pop() {
            Some(answer) => outcome(answer),
            None => Err(Fault::Incomplete("no answer".into())),
        })
        .await
    }

    /// Runs several read-only calls at the block with this hash, in one request.
    pub async fn call_all(&self, calls: &[Call], block: B256) -> Result<Vec<Result<Bytes, Revert>>, Fault> {
        let requests = calls.iter().map(|call| call.request("eth_call", At::Hash(block))).collect();
        self.ask(requests, |answers| answers.into_iter().map(outcome).collect()).await
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
