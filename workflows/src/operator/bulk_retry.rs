//! Bulk retry: each operation goes through guard G by itself, in the order of nonces, five a second. The pace is in the rows, so that a
//! restart goes on where it was.

use chrono::{DateTime, Duration, Utc};
use muniment_domain::db::Tx;
use muniment_domain::operation::{self, Attention, Operation};
use muniment_domain::wish::{self, Kind, NewWish};
use muniment_domain::{Code, Result, step};

use crate::engine::queue;
use crate::operator::retry;

/// How many retries begin in a second.
const PER_SECOND: i64 = 5;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Request {
    /// Which operations.
    pub filter: Attention,
    /// How many at most.
    pub limit: i64,
    /// Whether to say only what would be done.
    pub dry_run: bool,
    /// Why.
    pub reason: String,
}

/// What was accepted, or would be.
#[derive(Clone, Debug)]
pub struct Accepted {
    /// The id of the bulk; none for a dry run.
    pub bulk_id: Option<String>,
    /// How many operations the filter names, the limit aside.
    pub matched: i64,
    /// Those that will be retried, in their order.
    pub queued: Vec<String>,
    /// Those that guard G would refuse as they are now.
    pub skipped: Vec<(String, Code)>,
}

/// Picks the operations and stores a wish for each.
pub async fn request(tx: &mut Tx, r: &Request, actor: &str) -> Result<Accepted> {
    let (matched, found) = operation::attention(tx, &r.filter, r.limit).await?;
    let (mut queued, mut skipped) = (Vec::new(), Vec::new());
    for op in found {
        match refusal(tx, &op).await? {
            Some(code) => skipped.push((op.id, code)),
            None => queued.push(op.id),
        }
    }
    if r.dry_run || queued.is_empty() {
        return Ok(Accepted { bulk_id: None, matched, queued, skipped });
    }
    let bulk_id = tx.new_id("blk");
    for (position, id) in (0i64..).zip(&queued) {
        let due_at = due(tx.now(), position);
        let bulk = Some((bulk_id.as_str(), position));
        let reason = r.reason.as_str();
        let new = NewWish { operation_id: id, kind: Kind::Retry, bulk, bump_percent: None, actor, reason, due_at };
        wish::insert(tx, &new).await?;
        if position % PER_SECOND == 0 {
            queue::wake_id(tx, queue::DESK, &bulk_id, due_at).await?;
        }
    }
    Ok(Accepted { bulk_id: Some(bulk_id), matched, queued, skipped })
}

async fn refusal(tx: &mut Tx, op: &Operation) -> Result<Option<Code>> {
    if wish::is_open(tx, &op.id, Kind::Retry).await? {
        return Ok(Some(Code::OperationInProgress));
    }
    let steps = step::of_operation(tx, &op.id).await?;
    Ok(retry::refusal(op, &steps).map(|(code, _)| code))
}

/// The second in which the n-th retry begins. The queue counts in whole seconds, so five share one.
fn due(from: DateTime<Utc>, position: i64) -> DateTime<Utc> {
    from + Duration::seconds(position / PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_retries_begin_in_a_second() {
        let from = DateTime::UNIX_EPOCH;
        let seconds: Vec<_> = (0..12).map(|n| (due(from, n) - from).num_seconds()).collect();
        assert_eq!(seconds, [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2]);
    }
}
