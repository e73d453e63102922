//! The newest block and the newest final block.
use crate::{
    chain::{
        Chain, Tag,
        block::{Block, Header, METHOD, by_number, other_number},
        combined,
    },
    config::Finality,
    fault::Fault,
    rpc::{Request, endpoint::Endpoint, first, optional, pair, required},
};

/// The newest block and the newest final block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heads {
    /// The newest block, with its transactions.
    pub latest: Block,
    /// The newest final block; none while the node reports none, and then nothing becomes final.
    pub finalized: Option<Header>,
}

impl Chain {
    /// Reads the newest block and the newest final header, in one batch where the chain has the tag.
    pub async fn heads(&self) -> Result<Heads, Fault> {
        let latest = by_number(Tag::Latest, true);
        let mut faults = Vec::new();
        for endpoint in self.candidates() {
            let heads = match self.config.finality {
                Finality::Tag => self.heads_by_tag(endpoint, latest.clone()).await,
                Finality::Confirmations(count) => self.heads_by_count(endpoint, latest.clone(), count).await,
            };
            match heads {
                Ok(heads) => {
                    endpoint.note_head(heads.latest.number);
                    return Ok(heads);
                }
                Err(fault) => faults.push(fault),
            }
        }
        Err(combined(faults))
    }

    async fn heads_by_tag(&self, endpoint: &Endpoint, latest: Request) -> Result<Heads, Fault> {
        let requests = |_: &Endpoint| vec![latest.clone(), by_number(Tag::Finalized, false)];
        self.ask_one(endpoint, &requests, &|answers| {
            let (latest, finalized) = pair(answers)?;
            // Before the first checkpoint nodes answer null or "unknown block": no block is final yet.
            let finalized = match optional::<Header>(METHOD, finalized) {
                Err(Fault::UnknownBlock) => None,
                other => other?,
            };
            Ok(Heads { latest: required(METHOD, latest)?, finalized })
        })
        .await
    }

    async fn heads_by_count(&self, endpoint: &Endpoint, latest: Request, count: u64) -> Result<Heads, Fault> {
        // Two calls: the number of the final block follows from the head.
        let latest: Block =
            self.ask_one(endpoint, &|_: &Endpoint| vec![latest.clone()], &|answers| first(METHOD, answers)).await?;
        let number = latest.number.saturating_sub(count);
        let request = by_number(Tag::Number(number), false);
        let finalized: Header =
            self.ask_one(endpoint, &|_: &Endpoint| vec![request.clone()], &|answers| first(METHOD, answers)).await?;
        if finalized.number != number {
            return Err(other_number(number, finalized.number));
        }
        Ok(Heads { latest, finalized: Some(finalized) })
    }
}
