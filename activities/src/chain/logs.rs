//! Events by contract, topic and block range.
use alloy::primitives::{Address, B256};
use serde_json::{Value, json};

pub use super::chain_log::ChainLog;
use crate::{
    chain::{
        Chain, Tag,
        block::{Header, by_number},
        combined,
    },
    fault::Fault,
    rpc::{Answer, Request, classify, endpoint::Endpoint, first, required},
};

/// A filter for events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogFilter {
    /// The first block.
    pub from_block: u64,
    /// The last block; none for the newest block.
    pub to_block: Option<u64>,
    /// The contracts; empty for all.
    pub addresses: Vec<Address>,
    /// The accepted values of each topic; empty for all.
    pub topics: Vec<Vec<B256>>,
}

/// A filter for final events.
#[derive(Clone, Debug)]
pub struct EventFilter<'a> {
    /// The contracts; empty for all. With very many contracts the filter would be larger than the answer.
    pub contracts: &'a [Address],
    /// The accepted values of the first topic.
    pub topics: &'a [B256],
}

impl EventFilter<'_> {
    fn filter(&self, mut blocks: Value) -> Value {
        blocks["topics"] = json!([self.topics]);
        if !self.contracts.is_empty() {
            blocks["address"] = json!(self.contracts);
        }
        blocks
    }

    fn includes(&self, log: &ChainLog) -> bool {
        let known = self.contracts.is_empty() || self.contracts.contains(&log.address);
        known && log.topics.first().is_some_and(|topic| self.topics.contains(topic))
    }
}

impl LogFilter {
    fn request(&self, from: u64, to: Option<u64>) -> Request {
        let topics: Vec<Value> =
            self.topics.iter().map(|values| if values.is_empty() { Value::Null } else { json!(values) }).collect();
        let to = to.map_or(json!("latest"), |number| json!(format!("{number:#x}")));
        let mut filter = json!({ "fromBlock": format!("{from:#x}"), "toBlock": to, "topics": topics });
        if !self.addresses.is_empty() {
            filter["address"] = json!(self.addresses);
        }
        Request::new("eth_getLogs", json!([filter]))
    }
}

impl Chain {
    /// Reads the events in order. If a provider refuses the range as too wide, the range is halved until it fits.
    pub async fn logs(&self, filter: &LogFilter) -> Result<Vec<ChainLog>, Fault> {
        let mut found = Vec::new();
        let mut ranges = vec![(filter.from_block, filter.to_block)];
        while let Some((from, to)) = ranges.pop() {
            match self
                .ask(vec![filter.request(from, to)], |answers| first::<Vec<ChainLog>>("eth_getLogs", answers))
                .await
            {
                Ok(part) => found.extend(part),
                Err(Fault::Refused(text)) if classify::is_range_too_wide(&text) => {
                    let end = match to {
                        Some(end) => end,
                        None => self.heads().await?.latest.number,
                    };
                    if end <= from {
                        return Err(Fault::Refused(text));
                    }
                    let middle = from + (end - from) / 2;
                    // The stack returns the lower half first, so the events stay in order.
                    ranges.push((middle + 1, Some(end)));
                    ranges.push((from, Some(middle)));
                }
                Err(fault) => return Err(fault),
            }
        }
        Ok(found)
    }

    /// The events of final blocks: from memory if all of the blocks were proved, otherwise from as many endpoints as the quorum requires,
    /// which must agree. `last` is the hash of the last block: an endpoint that is behind would return fewer events without an error.
    pub async fn final_logs(
        &self,
        wanted: &EventFilter<'_>,
        (from, to): (u64, u64),
        last: Option<B256>,
    ) -> Result<Vec<ChainLog>, Fault> {
        let proved = |last| self.proved.between((from, to), last, wanted.topics, |log| wanted.includes(log));
        if let Some(events) = last.and_then(proved) {
            return Ok(events);
        }
        let quorum = self.quorum();
        let (mut shown, mut agreed, mut faults) = (None, 0, Vec::new());
        for endpoint in self.candidates() {
            match self.range_of(endpoint, wanted, (from, to), last).await {
                // Different events from two endpoints mean that one of them is wrong: nothing is read.
                Ok(logs) if shown.as_ref().is_none_or(|seen| *seen == logs) => {
                    shown = Some(logs);
                    agreed += 1;
                }
                Ok(_) => return Err(Fault::Incomplete(format!("endpoints disagree on the events of {from} to {to}"))),
                Err(fault) => faults.push(fault),
            }
            if agreed == quorum {
                return Ok(shown.unwrap_or_default());
            }
        }
        Err(combined(faults))
    }

    async fn range_of(
        &self,
        endpoint: &Endpoint,
        wanted: &EventFilter<'_>,
        range: (u64, u64),
        last: Option<B256>,
    ) -> Result<Vec<ChainLog>, Fault> {
        let mut found = Vec::new();
        let mut ranges = vec![(range.0, range.1, last)];
        while let Some((from, to, last)) = ranges.pop() {
            match self.events_of(endpoint, wanted, (from, to), last).await {
                Ok(part) => found.extend(part),
                Err(Fault::Refused(text)) if classify::is_range_too_wide(&text) && from < to => {
                    let middle = from + (to - from) / 2;
                    ranges.push((middle + 1, to, last));
                    // Only the hash of the last block is known; the lower half is checked by number.
                    ranges.push((from, middle, None));
                }
                Err(fault) => return Err(fault),
            }
        }
        Ok(found)
    }

    /// Reads one range. One block is read by its hash, in one call; a longer range includes the header of its last block.
    async fn events_of(
        &self,
        endpoint: &Endpoint,
        wanted: &EventFilter<'_>,
        (from, to): (u64, u64),
        last: Option<B256>,
    ) -> Result<Vec<ChainLog>, Fault> {
        let requests = |_: &Endpoint| match last {
            Some(hash) if from == to => {
                vec![Request::new("eth_getLogs", json!([wanted.filter(json!({ "blockHash": hash }))]))]
            }
            _ => {
                let range = json!({ "fromBlock": format!("{from:#x}"), "toBlock": format!("{to:#x}") });
                let logs = Request::new("eth_getLogs", json!([wanted.filter(range)]));
                vec![logs, by_number(Tag::Number(to), false)]
            }
        };
        let read = |mut answers: Vec<Answer>| {
            if answers.len() == 2 {
                let header: Header = required("eth_getBlockByNumber", answers.remove(1))?;
                if header.number != to || last.is_some_and(|hash| hash != header.hash) {
                    return Err(Fault::UnknownBlock);
                }
            }
            let logs: Vec<ChainLog> = first("eth_getLogs", answers)?;
            match logs.iter().find(|log| !wanted.includes(log) || !(from..=to).contains(&log.block_number)) {
                Some(log) => Err(Fault::Malformed(format!(
                    "event {} of {} does not match the filter",
                    log.log_index, log.tx_hash
                ))),
                None => Ok(logs),
            }
        };
        self.ask_one(endpoint, &requests, &read).await
    }
}
