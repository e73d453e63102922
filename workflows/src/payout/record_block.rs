//! The record block: the last block at or before a record date, once it is final and no later block can be at or before that date.

use chrono::{DateTime, Utc};
use muniment_activities::chain::block::Header;
use muniment_activities::fault::Fault;
use muniment_domain::distribution::Distribution;
use muniment_domain::{chain, snapshot};

use crate::engine::{Engine, Network};
use crate::payout::snapshot::Stop;

/// A chain that mines on demand must have had no block for this time after the record date.
const SILENCE_SECONDS: i64 = 5;

/// Finds the record block, at or above the token's first block.
pub async fn find(
    engine: &Engine,
    network: &Network,
    d: &Distribution,
    first: i64,
) -> Result<snapshot::SnapshotBlock, Stop> {
    let mut tx = engine.db.read().await?;
    let cursor = chain::find(&mut tx, d.chain_id).await?;
    drop(tx);
    let waits = |code, why: String| Err(Stop::Waits(code, why));
    let Some(cursor) = cursor else {
        return waits("chain_unmet", "the platform has not contacted the chain yet".to_owned());
    };
    let last = header(network, cursor.final_number).await?;
    if last.hash != cursor.final_hash.0 {
        return waits("chain_silent", format!("the endpoints show a different final block {}", cursor.final_number));
    }
    let record = d.record_date.timestamp();
    if seconds(&last) <= record {
        // Later blocks could still be at or before the record date. On a chain that mines on demand, silence shows that there are none.
        let quiet = engine.db.clock().now().timestamp() > record.max(seconds(&last)) + SILENCE_SECONDS;
        if network.mines_at_once() && quiet && cursor.head_number == cursor.final_number {
            // The stored head can be old: the follower stands still, or it has not caught up after a restart.
            let trouble = cursor.halted_reason.or(cursor.blocked_reason);
            if trouble.is_none() && network.chain.undisputed_head().await.as_ref() == Some(&last) {
                return Ok(at(&last));
            }
            let unseen = || format!("not all endpoints show block {} as the newest one", last.number);
            return waits("not_final", trouble.unwrap_or_else(unseen));
        }
        return waits("not_final", format!("the last final block {} is not after the record date", last.number));
    }
    let lowest = header(network, first.min(cursor.final_number)).await?;
    if seconds(&lowest) > record {
        return waits(
            "before_the_token",
            format!("the record date is before block {first}, in which the token was deployed"),
        );
    }
    let (mut below, mut above) = (lowest, last);
    // Block times only increase, so a binary search finds the last block at or before the record date.
    while above.number - below.number > 1 {
        let middle = header(network, i64::midpoint(below.number.cast_signed(), above.number.cast_signed())).await?;
        if seconds(&middle) <= record {
            below = middle;
        } else {
            above = middle;
        }
    }
    if above.parent_hash != below.hash {
        let why = format!("block {} does not follow block {}", above.number, below.number);
        return Err(Fault::Incomplete(why).into());
    }
    Ok(at(&below))
}

fn seconds(header: &Header) -> i64 {
    header.timestamp.cast_signed()
}

fn at(header: &Header) -> snapshot::SnapshotBlock {
    let time = DateTime::<Utc>::from_timestamp(seconds(header), 0).unwrap_or_default();
    snapshot::SnapshotBlock { number: header.number.cast_signed(), hash: header.hash, time }
}

async fn header(network: &Network, number: i64) -> Result<Header, Fault> {
    network.chain.header(number.cast_unsigned()).await?.ok_or(Fault::UnknownBlock)
}
