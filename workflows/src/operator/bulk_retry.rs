//! Bulk retry: each operation passes its own retry check, in the order of nonces, five a second. The rows hold the due times, so that a
//! restart continues at the same place.

use chrono::{DateTime, Duration, Utc};
use muniment_domain::command::{self, Kind, NewCommand};
use muniment_domain::db::Tx;
use muniment_domain::id::{BulkId, OperationId, of};
use muniment_domain::operation::{self, Attention};
use muniment_domain::{Code, Result, step};

use crate::engine::queue;
use crate::operator::retry;

/// Retries that start in one second.
const PER_SECOND: i64 = 5;

/// A request for a bulk retry.
#[derive(Clone, Debug)]
pub struct Request {
    /// The filter of the operations.
    pub filter: Attention,
    /// The limit of operations.
    pub limit: i64,
    /// Whether to return only the selection, without a retry.
    pub dry_run: bool,
    /// The reason.
    pub reason: String,
}

/// The selection of a bulk retry.
#[derive(Clone, Debug)]
pub struct Accepted {
    /// The id of the bulk. None for a dry run.
    pub bulk_id: Option<BulkId>,
    /// The number of operations that match the filter, without the limit.
    pub matched: i64,
    /// The operations that are retried, in order.
    pub queued: Vec<OperationId>,
    /// The operations that the retry check refuses now.
    pub skipped: Vec<(OperationId, Code)>,
}

/// Selects the operations and stores a command for each.
pub async fn request(tx: &mut Tx, r: &Request, actor: &str) -> Result<Accepted> {
    let (matched, found) = operation::attention(tx, &r.filter, r.limit).await?;
    let (mut queued, mut skipped) = (Vec::new(), Vec::new());
    for op in found {
        match refusal(tx, &op.id).await? {
            Some(code) => skipped.push((op.id, code)),
            None => queued.push(op.id),
        }
    }
    if r.dry_run || queued.is_empty() {
        return Ok(Accepted { bulk_id: None, matched, queued, skipped });
    }
    let bulk_id = tx.new_id::<of::Bulk>();
    for (position, id) in (0i64..).zip(&queued) {
        let due_at = due(tx.now(), position);
        let bulk = Some((bulk_id.as_str(), position));
        let reason = r.reason.as_str();
        let new = NewCommand { operation_id: id, kind: Kind::Retry, bulk, bump_percent: None, actor, reason, due_at };
        command::insert(tx, &new).await?;
        if position % PER_SECOND == 0 {
            queue::wake_id(tx, queue::DESK, &bulk_id, due_at).await?;
        }
    }
    Ok(Accepted { bulk_id: Some(bulk_id), matched, queued, skipped })
}

async fn refusal(tx: &mut Tx, operation_id: &OperationId) -> Result<Option<Code>> {
    if command::is_open(tx, operation_id, Kind::Retry).await? {
        return Ok(Some(Code::OperationInProgress));
    }
    // Read after the commands: PostgreSQL may show a retry that has just been carried out, and before it the operation still as failed.
    let op = operation::find(tx, operation_id).await?;
    let steps = step::of_operation(tx, operation_id).await?;
    Ok(retry::refusal(tx, &op, &steps).await?.map(|(code, _)| code))
}

/// The second in which the n-th retry starts. The queue works in whole seconds, so five share one.
fn due(from: DateTime<Utc>, position: i64) -> DateTime<Utc> {
    from + Duration::seconds(position / PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_retries_start_in_each_second() {
        let from = DateTime::UNIX_EPOCH;
        let seconds: Vec<_> = (0..12).map(|n| (due(from, n) - from).num_seconds()).collect();
        assert_eq!(seconds, [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2]);
    }
}
