//! The newest block and the newest final block. One endpoint shows the newest block; what is final is decided by as many endpoints as the
//! quorum requires, and all endpoints are compared now and then, so that one that stands still or makes a number up is left.
use std::{
    collections::HashMap,
    sync::{MutexGuard, PoisonError},
};

use alloy::primitives::B256;
use futures::future::join_all;

use super::watch::{LAG_BLOCKS_MAX, LEAP_BLOCKS, Watch};
use crate::{
    chain::{
        Chain, Tag,
        block::{Block, Body, Header, METHOD, by_number, other_number},
        combined,
    },
    config::Finality,
    fault::Fault,
    rpc::{Answer, Request, endpoint::Endpoint, pair},
};

/// Without a new block for so many block times all endpoints are asked for their heads.
const SURVEY_BLOCK_TIMES: u64 = 3;

/// The newest block and the newest final block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heads {
    /// The newest block, with its transactions.
    pub latest: Block,
    /// The newest block that is final for a quorum of endpoints, if there is one and it was read.
    pub finalized: Option<Header>,
    /// The height that as many endpoints have reached.
    pub reached: u64,
}

/// The heads that one endpoint reports.
pub(super) struct EndpointHeads<'a> {
    endpoint: &'a Endpoint,
    pub(super) head: Header,
    finalized: Option<Header>,
}

impl Chain {
    /// Reads the newest block from the first endpoint that is at the head, and the newest final header, on which the quorum agrees.
    pub async fn heads(&self) -> Result<Heads, Fault> {
        self.read_heads(true).await
    }

    /// The same for the follower, which reads them for each block. The final block is read less often where it is far behind the head.
    pub async fn next_heads(&self) -> Result<Heads, Fault> {
        let with_final = self.watch().is_final_due();
        self.read_heads(with_final).await
    }

    async fn read_heads(&self, with_final: bool) -> Result<Heads, Fault> {
        let (mut faults, mut distrusted) = (Vec::new(), None);
        for endpoint in self.candidates() {
            match self.heads_of(endpoint, with_final).await {
                Ok(mut heads) => {
                    endpoint.note_head(heads.latest.number);
                    if with_final {
                        self.watch().note_final(heads.latest.number, heads.finalized.as_ref());
                    }
                    self.compare(endpoint, &mut heads, with_final).await;
                    if !endpoint.is_distrusted() {
                        return Ok(heads);
                    }
                    distrusted.get_or_insert(heads);
                }
                Err(fault) => faults.push(fault),
            }
        }
        // One that is behind is better than none; one that shows a head that it does not have is not.
        match distrusted.filter(|heads| heads.latest.number <= heads.reached.saturating_add(LEAP_BLOCKS)) {
            Some(heads) => Ok(heads),
            None if faults.is_empty() => Err(Fault::Incomplete("no endpoint shows its head by its number".into())),
            None => Err(combined(faults)),
        }
    }

    async fn heads_of(&self, endpoint: &Endpoint, with_final: bool) -> Result<Heads, Fault> {
        let full = |answer| self.body(answer);
        let (Body { block: latest, is_proved }, finalized) = self.newest(endpoint, true, with_final, &full).await?;
        let latest = self.believed(Body { block: latest, is_proved }).await?;
        let finalized = match self.config.finality {
            Finality::Tag => finalized,
            Finality::Confirmations(_) if !with_final => None,
            // The number of the final block follows from the head.
            Finality::Confirmations(count) => {
                let number = latest.number.saturating_sub(count);
                let header = self.header_of(endpoint, number).await?;
                Some(header.ok_or_else(|| Fault::Incomplete(format!("{METHOD} answered null")))?)
            }
        };
        let reached = latest.number;
        Ok(Heads { latest, finalized, reached })
    }

    /// The newest block of an endpoint and, if wanted and on chains with the tag, its newest final header, in one request.
    async fn newest<T>(
        &self,
        endpoint: &Endpoint,
        full: bool,
        with_final: bool,
        read: &impl Fn(Answer) -> Result<T, Fault>,
    ) -> Result<(T, Option<Header>), Fault> {
        let by_tag = with_final && self.config.finality == Finality::Tag;
        let requests = |_: &Endpoint| -> Vec<Request> {
            let tags = if by_tag { [Some(Tag::Latest), Some(Tag::Finalized)] } else { [Some(Tag::Latest), None] };
            tags.into_iter().flatten().map(|tag| by_number(tag, full && tag == Tag::Latest)).collect()
        };
        self.ask_one(endpoint, &requests, &|mut answers| {
            if !by_tag {
                let latest = answers.pop().ok_or_else(|| Fault::Incomplete("no answer".into()))?;
                return Ok((read(latest)?, None));
            }
            // Before the first checkpoint nodes answer null or "unknown block": no block is final yet.
            let (latest, finalized) = pair(answers)?;
            Ok((read(latest)?, self.header_or_none(vec![finalized])?))
        })
        .await
    }

    pub(super) async fn header_of(&self, endpoint: &Endpoint, number: u64) -> Result<Option<Header>, Fault> {
        let requests = |_: &Endpoint| vec![by_number(Tag::Number(number), false)];
        let header = self.ask_one(endpoint, &requests, &|answers| self.header_or_none(answers)).await?;
        match header {
            Some(header) if header.number != number => Err(other_number(number, header.number)),
            header => Ok(header),
        }
    }

    /// Compares an endpoint's heads with those of the others, and puts the quorum's final block in the place of its own.
    async fn compare(&self, endpoint: &Endpoint, heads: &mut Heads, with_final: bool) {
        if self.endpoints().len() == 1 {
            return;
        }
        let still = self.config.block_seconds.max(1) * SURVEY_BLOCK_TIMES * 1_000;
        let head = (heads.latest.number, heads.latest.hash);
        let due = self.watch().is_due(head, self.quorum(), (self.now)(), still);
        if due {
            let own = EndpointHeads { endpoint, head: heads.latest.header(), finalized: heads.finalized.clone() };
            let all = self.survey(own, with_final).await;
            let agreed = if with_final { self.quorum_of(&all).await } else { None };
            let mut numbers: Vec<u64> = all.iter().map(|seen| seen.head.number).collect();
            numbers.sort_unstable_by(|a, b| b.cmp(a));
            let mut watch = self.watch();
            watch.reached = numbers.get(self.quorum() - 1).copied().unwrap_or_default();
            if with_final && agreed.is_none() {
                watch.without_final = 0;
            }
            // Finality does not go back because an endpoint is away.
            watch.agreed = agreed.or(watch.agreed.take());
        }
        if self.quorum() > 1 {
            let watch = self.watch();
            (heads.finalized, heads.reached) = (watch.agreed.clone(), watch.reached);
        } else if endpoint.is_distrusted() {
            heads.reached = self.watch().reached;
        }
    }

    /// Asks the other endpoints for their heads, and distrusts those that lag behind or show a head that they do not have. Returns what the
    /// believable ones show.
    async fn survey<'a>(&'a self, own: EndpointHeads<'a>, with_final: bool) -> Vec<EndpointHeads<'a>> {
        let now = (self.now)();
        let other = |endpoint: &&Endpoint| !std::ptr::eq(*endpoint, own.endpoint);
        let usable = |endpoint: &&Endpoint| !endpoint.is_cooling(now) && endpoint.wrong_chain().is_none();
        let others = self.endpoints().iter().filter(other).filter(usable);
        let answers = join_all(others.map(|endpoint| self.headers_of(endpoint, with_final))).await;
        let mut all: Vec<EndpointHeads<'a>> = answers.into_iter().flatten().collect();
        all.push(own);
        all.sort_by_key(|seen| std::cmp::Reverse(seen.head.number));
        let mut believed = Vec::with_capacity(all.len());
        let mut rest = all.into_iter().peekable();
        while let Some(seen) = rest.next() {
            let number = seen.head.number;
            let leaps = rest.peek().is_some_and(|next| number > next.head.number.saturating_add(LEAP_BLOCKS));
            if leaps && !self.shows_by_number(&seen).await {
                seen.endpoint.distrust(Some(format!("it shows the head {number} and no block with this number")));
                continue;
            }
            believed.push(seen);
        }
        let best = believed.first().map_or(0, |seen| seen.head.number);
        for seen in &believed {
            let behind = best - seen.head.number;
            let lags = format!("its head {} is {behind} blocks behind", seen.head.number);
            seen.endpoint.distrust((behind > LAG_BLOCKS_MAX).then_some(lags));
        }
        believed
    }

    pub(super) async fn headers_of<'a>(
        &self,
        endpoint: &'a Endpoint,
        with_final: bool,
    ) -> Result<EndpointHeads<'a>, Fault> {
        let (head, finalized) = self.newest(endpoint, false, with_final, &|answer| self.sealed(answer)).await?;
        endpoint.note_head(head.number);
        Ok(EndpointHeads { endpoint, head, finalized })
    }

    async fn shows_by_number(&self, seen: &EndpointHeads<'_>) -> bool {
        let shown = self.header_of(seen.endpoint, seen.head.number).await;
        matches!(shown, Ok(Some(header)) if header.hash == seen.head.hash)
    }

    /// The newest block that is final for the quorum: its endpoints have that height as final, and show the same block there.
    async fn quorum_of(&self, all: &[EndpointHeads<'_>]) -> Option<Header> {
        let quorum = self.quorum();
        let last = |seen: &EndpointHeads<'_>| match self.config.finality {
            Finality::Tag => seen.finalized.as_ref().map(|header| header.number),
            Finality::Confirmations(count) => Some(seen.head.number.saturating_sub(count)),
        };
        let mut numbers: Vec<u64> = all.iter().filter_map(last).collect();
        numbers.sort_unstable_by(|a, b| b.cmp(a));
        let number = *numbers.get(quorum - 1)?;
        let voters = all.iter().filter(|seen| last(seen).is_some_and(|own| own >= number));
        let shown = voters.map(|seen| async move {
            match seen.finalized.as_ref().filter(|header| header.number == number) {
                Some(header) => Some(header.clone()),
                None => self.header_of(seen.endpoint, number).await.ok().flatten(),
            }
        });
        let mut votes: HashMap<B256, usize> = HashMap::new();
        for header in join_all(shown).await.into_iter().flatten() {
            let count = votes.entry(header.hash).or_default();
            *count += 1;
            if *count >= quorum {
                return Some(header);
            }
        }
        tracing::warn!(chain.id = self.config.chain_id, "no {quorum} endpoints agree on the final block {number}");
        None
    }

    fn watch(&self) -> MutexGuard<'_, Watch> {
        self.watch.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
