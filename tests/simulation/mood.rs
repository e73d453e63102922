//! Which faults a seed has, and how often each strikes. A few at a time reach further than all at once.

use alloy::primitives::B256;
use serde_json::{Value, json};
use world::Seed;

use crate::block::hex;
use crate::fault::Fault;
use crate::net::Net;
use crate::rpc::Answer;

/// The faults of single requests, with how likely each may become.
const REQUEST_FAULTS: &[(Fault, f64)] = &[
    (Fault::LostRequest, 0.10),
    (Fault::LostResponse, 0.10),
    (Fault::Duplicated, 0.20),
    (Fault::Garbage, 0.10),
    (Fault::NullAnswer, 0.15),
    (Fault::RateLimited, 0.08),
    (Fault::ForgedReceipt, 0.50),
    (Fault::NoLogs, 0.50),
    (Fault::ShortBody, 0.50),
    (Fault::FalseHead, 0.30),
    (Fault::Jitter, 0.30),
    (Fault::FalseFinality, 0.80),
    (Fault::WrongChain, 0.10),
    (Fault::OtherHash, 0.15),
    (Fault::Swallowed, 0.30),
];

/// The faults of a seed.
pub struct Mood {
    odds: Vec<(Fault, f64)>,
    /// The endpoint that lies, where another one can be asked for the truth.
    liar: Option<usize>,
    /// The endpoint whose receipts hide what happened: with a quorum of one as well, no operation fails on one endpoint's word.
    denier: usize,
    seed: Seed,
}

impl Mood {
    /// Everybody is well.
    pub fn none() -> Self {
        Self { odds: Vec::new(), liar: None, denier: 0, seed: Seed::new(0) }
    }

    /// Draws the faults of a seed. Lies that no one could find out are left out.
    pub fn draw(seed: &mut Seed, liar: Option<usize>) -> Self {
        let mut odds = Vec::new();
        for (fault, most) in REQUEST_FAULTS {
            if seed.chance(0.25) {
                odds.push((*fault, most * (1 + seed.below(4)) as f64 / 4.0));
            }
        }
        Self { odds, liar, denier: liar.unwrap_or(seed.below(2) as usize), seed: Seed::new(seed.draw()) }
    }

    /// From now on everybody is well.
    pub fn heal(&mut self) {
        self.odds.clear();
    }

    /// Whether a fault strikes now.
    pub fn strikes(&mut self, fault: Fault) -> bool {
        let odds = self.odds.iter().find(|(f, _)| *f == fault).map_or(0.0, |(_, odds)| *odds);
        odds > 0.0 && self.seed.chance(odds)
    }

    /// Whether an endpoint calls its newest block final now. With a quorum of two the other one does not.
    pub fn calls_newest_final(&mut self, endpoint: usize, tag: &Value, net: &mut Net) -> bool {
        let lies = self.liar == Some(endpoint) && tag == "finalized" && self.strikes(Fault::FalseFinality);
        if lies {
            net.hit(Fault::FalseFinality);
        }
        lies
    }

    /// How many of the newest blocks an endpoint does not show now.
    pub fn missing_blocks(&mut self, net: &mut Net) -> usize {
        if !self.strikes(Fault::Jitter) {
            return 0;
        }
        net.hit(Fault::Jitter);
        1 + self.seed.below(6) as usize
    }

    /// What an endpoint says of a block that it has: another height, or a transaction less. Its hash stays, which is how it is found out.
    fn twist_block(&mut self, endpoint: usize, params: &Value, mut block: Value, net: &mut Net) -> Value {
        if self.liar == Some(endpoint) && params[0] == "latest" && self.strikes(Fault::FalseHead) {
            net.hit(Fault::FalseHead);
            let number = net.head().number + 1_000_000;
            (block["number"], block["hash"]) =
                (json!(hex(number)), json!(B256::left_padding_from(&number.to_be_bytes())));
        }
        // Of two endpoints one is enough to find this out, whatever the quorum is.
        let omits = endpoint == self.liar.unwrap_or(0) && params[1] == true && self.strikes(Fault::ShortBody);
        if omits && let Some(listed) = block["transactions"].as_array_mut().filter(|listed| !listed.is_empty()) {
            net.hit(Fault::ShortBody);
            listed.remove(self.seed.below(listed.len() as u64) as usize);
        }
        block
    }

    /// Makes an answer wrong, where a fault asks for it.
    pub fn twist(
        &mut self,
        endpoint: usize,
        (method, params): (&str, &Value),
        answer: Answer,
        net: &mut Net,
    ) -> Answer {
        let (lies, denies) = (self.liar == Some(endpoint), self.denier == endpoint);
        let answer = match method {
            "eth_getBlockByNumber" => answer.map(|block| self.twist_block(endpoint, params, block, net)),
            _ => answer,
        };
        let fault = match method {
            "eth_chainId" if lies => Fault::WrongChain,
            "eth_getTransactionReceipt" | "eth_getBlockReceipts" if lies && self.strikes(Fault::ForgedReceipt) => {
                net.hit(Fault::ForgedReceipt);
                return answer.map(|receipts| each(receipts, forge));
            }
            "eth_getTransactionReceipt" | "eth_getBlockReceipts" if denies && self.strikes(Fault::NoLogs) => {
                net.hit(Fault::NoLogs);
                return answer.map(|receipts| each(receipts, |receipt| receipt["logs"] = json!([])));
            }
            "eth_getTransactionReceipt" if answer == Ok(Value::Null) && net.keeps_orphans => {
                return Ok(net.orphan_receipt(&params[0]));
            }
            "eth_getTransactionReceipt" | "eth_getBlockReceipts" | "eth_getBlockByNumber" | "eth_getLogs" => {
                Fault::NullAnswer
            }
            _ => return answer,
        };
        if !self.strikes(fault) {
            return answer;
        }
        net.hit(fault);
        match fault {
            Fault::WrongChain => Ok(json!("0x1")),
            // A node that lost its index of events finds none.
            _ if method == "eth_getLogs" => Ok(json!([])),
            _ => Ok(Value::Null),
        }
    }
}

/// The same receipt with the other outcome and without its events.
fn forge(receipt: &mut Value) {
    receipt["status"] = if receipt["status"] == "0x1" { json!("0x0") } else { json!("0x1") };
    receipt["logs"] = json!([]);
}

/// The receipt, or every one of them, changed.
fn each(mut answer: Value, change: impl Fn(&mut Value)) -> Value {
    match &mut answer {
        Value::Array(receipts) => receipts.iter_mut().for_each(change),
        Value::Object(_) => change(&mut answer),
        _ => {}
    }
    answer
}
