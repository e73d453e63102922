//! The fees that a process knows of its chain. The follower tells it the base fee of each head that it reads; the tip changes slowly and is
//! asked for now and then.

use std::sync::{Mutex as StdMutex, PoisonError};

use chrono::{DateTime, Duration, Utc};
use muniment_activities::chain::Chain;
use muniment_activities::chain::fees::Market;
use muniment_activities::fault::Fault;
use tokio::sync::Mutex;

/// Block times for which a tip counts. It is the median of twenty blocks.
const TIP_BLOCKS: i32 = 20;
/// Block times for which a base fee counts, because a block may be late. It rises by an eighth a block, and an offer covers twice of it.
const BASE_FEE_BLOCKS: i32 = 2;

/// The last known fees, each with the time when it was read.
#[derive(Default)]
pub struct KnownMarket {
    head: StdMutex<Option<(DateTime<Utc>, u128)>>,
    asked: Mutex<Option<(DateTime<Utc>, Market)>>,
}

impl KnownMarket {
    /// Keeps the base fee of a head that the node shows now.
    pub fn note_base_fee(&self, now: DateTime<Utc>, base_fee: u128) {
        *self.head.lock().unwrap_or_else(PoisonError::into_inner) = Some((now, base_fee));
    }

    /// The present base fee and the fees to offer. One request serves all who ask meanwhile.
    pub async fn read(&self, chain: &Chain, now: DateTime<Utc>) -> Result<Market, Fault> {
        let block_time = Duration::seconds(chain.config.block_seconds.cast_signed());
        let mut asked = self.asked.lock().await;
        let head = *self.head.lock().unwrap_or_else(PoisonError::into_inner);
        let head = head.filter(|(at, _)| is_current(now - *at, block_time * BASE_FEE_BLOCKS));
        let tip = asked.as_ref().filter(|(at, _)| is_current(now - *at, block_time * TIP_BLOCKS));
        if let (Some((_, base_fee)), Some((_, market))) = (head, tip) {
            return Ok(chain.market_at(base_fee, market));
        }
        let market = chain.market().await?;
        *asked = Some((now, market));
        self.note_base_fee(now, market.base_fee);
        Ok(market)
    }
}

/// Whether something of this age still counts. A time in the future comes from a clock that was set back since.
fn is_current(age: Duration, most: Duration) -> bool {
    (Duration::zero()..most.max(Duration::seconds(1))).contains(&age)
}

#[test]
fn a_fee_counts_for_its_time_and_not_if_it_is_of_the_future() {
    let at = |seconds, most| is_current(Duration::seconds(seconds), Duration::seconds(most));
    assert!(at(23, 24) && !at(24, 24) && !at(-1, 24));
    assert!(at(0, 0) && !at(1, 0), "a second on a chain that mines at once");
}
