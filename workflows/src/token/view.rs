//! Token reads for portals, with a cache: many portals cost a node almost nothing.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex as StdMutex, PoisonError};

use alloy_primitives::B256;
use chrono::{DateTime, Duration, Utc};
use muniment_activities::chain::block::Header;
use muniment_activities::chain::simulate::Call;
use muniment_activities::fault::Fault;
use muniment_activities::token::view::{self, CallResult, TokenRead};
use tokio::sync::{Mutex, OnceCell};

use crate::engine::Network;

/// Time for which a block counts as the newest one.
const HEAD_MILLISECONDS: i64 = 1_000;
/// Answers of one block that are kept.
const ANSWERS_MAX: usize = 10_000;

/// The reason why a read has no answer.
#[derive(Debug)]
pub enum NoAnswer {
    /// This process reached its limit of requests in this second.
    Busy,
    /// The chain is not available.
    Fault(Fault),
}

/// The key of an answer: calls of contracts.
type CacheKey = Vec<Call>;
type Answers = HashMap<CacheKey, Arc<OnceCell<Vec<CallResult>>>>;
type Head = Option<(DateTime<Utc>, Result<Header, Fault>)>;

/// The cache of one chain.
#[derive(Default)]
struct Page {
    head: Mutex<Head>,
    // Answers of one block only.
    answers: StdMutex<(B256, Answers)>,
}

/// The caches of this process, and its request limit.
pub struct TokenViews {
    pages: StdMutex<BTreeMap<i64, Arc<Page>>>,
    // The current second, and the requests made in it.
    requests: StdMutex<(i64, u32)>,
    per_second: u32,
}

impl TokenViews {
    /// An empty cache. Zero means no limit.
    pub fn new(per_second: u32) -> Self {
        Self { pages: StdMutex::default(), requests: StdMutex::default(), per_second }
    }

    /// The newest block, as of this second, and never below `since`: after an operation is final, the next read shows its effect. A
    /// failure is cached as well, so that an outage does not multiply the requests.
    pub async fn head(&self, network: &Network, since: u64, now: DateTime<Utc>) -> Result<Header, NoAnswer> {
        let page = self.page(network);
        let mut head = page.head.lock().await;
        if let Some((seen, known)) = head.as_ref()
            && now - *seen < Duration::milliseconds(HEAD_MILLISECONDS)
            && known.as_ref().map_or(true, |head| head.number >= since)
        {
            return known.clone().map_err(NoAnswer::Fault);
        }
        self.count(now)?;
        let found = view::newest_header(&network.chain, since).await;
        *head = Some((now, found.clone()));
        found.map_err(NoAnswer::Fault)
    }

    /// Reads at a block, or returns the cached answer.
    pub async fn ask<T>(
        &self,
        network: &Network,
        head: &Header,
        read: TokenRead<T>,
        now: DateTime<Utc>,
    ) -> Result<T, NoAnswer> {
        let cell = self.cell(network, head.hash, &read.calls);
        let answers = cell
            .get_or_try_init(async || {
                self.count(now)?;
                network.chain.call_all(&read.calls, head.hash).await.map_err(NoAnswer::Fault)
            })
            .await?;
        (read.decode)(answers).map_err(NoAnswer::Fault)
    }

    fn cell(&self, network: &Network, block: B256, question: &CacheKey) -> Arc<OnceCell<Vec<CallResult>>> {
        let page = self.page(network);
        let mut kept = page.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.0 != block || kept.1.len() >= ANSWERS_MAX {
            *kept = (block, Answers::new());
        }
        kept.1.entry(question.clone()).or_default().clone()
    }

    fn page(&self, network: &Network) -> Arc<Page> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner).entry(network.id()).or_default().clone()
    }

    fn count(&self, now: DateTime<Utc>) -> Result<(), NoAnswer> {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let second = now.timestamp();
        let before = if requests.0 == second { requests.1 } else { 0 };
        if self.per_second > 0 && before >= self.per_second {
            return Err(NoAnswer::Busy);
        }
        *requests = (second, before.saturating_add(1));
        Ok(())
    }
}
