//! Each endpoint by itself. For a question where one of them must not decide for the others.

use std::collections::HashMap;

use alloy::primitives::B256;
use futures::future::join_all;

use super::{Chain, block::Header, combined};
use crate::{fault::Fault, rpc::endpoint::Endpoint};

impl Chain {
    /// The chain as each endpoint alone shows it, in the order in which to ask them. Endpoints that rest after faults are left out if there
    /// are others.
    pub fn alone(&self) -> Vec<Self> {
        let place = |asked: &&Endpoint| self.endpoints.iter().position(|one| std::ptr::eq(one, *asked));
        let places = self.candidates().iter().filter_map(place).collect::<Vec<_>>();
        places.into_iter().map(|at| Self { only: Some(at), ..self.clone() }).collect()
    }

    /// The answer that as many endpoints as the quorum requires give, each asked alone. None while no answer has so many, and a fault where
    /// no endpoint answers. `joins` says whether an answer counts for an earlier one, and may complete that one.
    pub async fn agreed<T, F: Future<Output = Result<T, Fault>>>(
        &self,
        ask: impl Fn(Self) -> F,
        joins: impl Fn(&mut T, &T) -> bool,
    ) -> Result<Option<T>, Fault> {
        let (quorum, mut votes, mut faults) = (self.quorum(), Vec::<(T, usize)>::new(), Vec::new());
        for endpoint in self.alone() {
            match ask(endpoint).await {
                Ok(answer) => match votes.iter_mut().position(|(vote, _)| joins(vote, &answer)) {
                    Some(place) => votes[place].1 += 1,
                    None => votes.push((answer, 1)),
                },
                Err(fault) => faults.push(fault),
            }
            if let Some(agreed) = votes.iter().position(|(_, count)| *count >= quorum) {
                return Ok(Some(votes.swap_remove(agreed).0));
            }
        }
        if votes.is_empty() { Err(combined(faults)) } else { Ok(None) }
    }

    /// The header at a height on which the quorum agrees, or two endpoints where there are two; none while they do not.
    pub async fn agreed_header(&self, number: u64) -> Option<Header> {
        let endpoints = self.candidates();
        let asked = join_all(endpoints.iter().map(|endpoint| self.header_of(endpoint, number))).await;
        self.agreed_of(asked.into_iter().flatten().flatten().collect())
    }

    /// The newest block, asked for now; none while an endpoint shows another one, or fewer than agree about a header show it.
    pub async fn undisputed_head(&self) -> Option<Header> {
        let endpoints = self.candidates();
        let asked = join_all(endpoints.iter().map(|endpoint| self.headers_of(endpoint, false))).await;
        let heads: Vec<Header> = asked.into_iter().flatten().map(|seen| seen.head).collect();
        let differ = heads.windows(2).any(|two| two[0].hash != two[1].hash);
        if differ { None } else { self.agreed_of(heads) }
    }

    /// The header that enough endpoints show.
    fn agreed_of(&self, shown: Vec<Header>) -> Option<Header> {
        let needed = self.quorum().max(self.endpoints().len().min(2));
        let mut votes: HashMap<B256, (usize, Header)> = HashMap::new();
        for header in shown {
            votes.entry(header.hash).or_insert_with(|| (0, header)).0 += 1;
        }
        votes.into_values().find(|(count, _)| *count >= needed).map(|(_, header)| header)
    }
}
