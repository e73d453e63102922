//! Pages of operations. The cost depends on the page, not on the size of the table.

use alloy_primitives::{Address, B256};

use super::{Kind, Operation, Status};
use crate::Result;
use crate::column::Hex;
use crate::db::Tx;
use crate::filter::CreatedBetween;
use crate::id::{BatchId, LaneId, OfferingId, OperationId, of};
use crate::sql::{Sql, sql};
use crate::step::State;
use crate::total::Total;

/// The count for numbered pages stops here.
const COUNTED_MAX: i64 = 1_000;

/// The filter of a list. Empty and none mean no restriction.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct Filter {
    pub statuses: Vec<Status>,
    pub kinds: Vec<Kind>,
    pub offering_id: Option<OfferingId>,
    pub subject_id: Option<String>,
    pub batch_id: Option<BatchId>,
    pub signer: Option<Address>,
    pub needs_attention: Option<bool>,
    /// Whether an operator must act although the chain has its effect, or may still have it.
    pub uncertain: Option<bool>,
    pub created: CreatedBetween,
    /// The hash of any transaction of the operation.
    pub tx_hash: Option<B256>,
    /// The error of an operation that failed.
    pub error_code: Option<String>,
    /// Only operations older than this id, for the next page.
    pub after: Option<OperationId>,
}

/// An operation that ended without its effect in our books, while a transaction of it is open or has succeeded.
const UNCERTAIN: &str = "(status in :attention and resolution is null and (
        exists (select 1 from operation_steps s where s.operation_id = operations.id and s.state in :sent)
        or exists (select 1 from operation_steps s where s.operation_id = operations.id and s.outcome = 'success')
            and not exists (select 1 from operation_steps s where s.operation_id = operations.id and s.outcome <> 'success')))";

/// Adds only the conditions that are asked for, so that the planner sees which index fits.
fn matching(select: Sql, f: &Filter, lane_id: Option<&LaneId>) -> Sql {
    let mut query = select
        .push(" from operations where 1 = 1")
        .one_of("status", &f.statuses)
        .one_of("kind", &f.kinds)
        .with_some(" and offering_id = ", f.offering_id.as_ref())
        .with_some(" and subject_id = ", f.subject_id.as_ref())
        .with_some(" and batch_id = ", f.batch_id.as_ref())
        .created::<of::Operation>(f.created, "")
        .with_some(" and id < ", f.after.as_ref());
    query = match f.needs_attention {
        Some(true) => query.push(" and status in :attention and resolution is null"),
        Some(false) => query.push(" and not (status in :attention and resolution is null)"),
        None => query,
    };
    query = match f.uncertain {
        Some(true) => query.push(" and ").push(UNCERTAIN),
        Some(false) => query.push(" and not ").push(UNCERTAIN),
        None => query,
    };
    if f.error_code.is_some() {
        // Few have failed, so the error is looked for among them and not in the whole table.
        query = query.push(" and status in :attention").with_some(" and error_code = ", f.error_code.as_ref());
    }
    query = query.words(":attention", &Status::ATTENTION).words(":sent", &State::SENT);
    query = match (lane_id, f.signer) {
        (None, Some(signer)) => {
            query.with(" and lane_id in (select id from lanes where signer = ", Hex(signer)).push(")")
        }
        (lane_id, _) => query.with_some(" and lane_id = ", lane_id),
    };
    if let Some(hash) = f.tx_hash {
        // The chains are named so that the primary key of the attempts, which begins with the chain, can be used.
        query = query
            .push(" and id in (select operation_id from attempts where chain_id in (select chain_id from chains)")
            .with(" and tx_hash = ", Hex(hash))
            .with(" union select id from operations where tx_hash = ", Hex(hash))
            .push(")");
    }
    query
}

/// A page of operations, newest first.
pub async fn list(tx: &mut Tx, filter: &Filter, limit: i64, offset: i64) -> Result<Vec<Operation>> {
    let lanes: Vec<LaneId> = match filter.signer {
        Some(signer) => sql("select id from lanes where signer = $1").bind(Hex(signer)).scalars(tx).await?,
        None => Vec::new(),
    };
    // The one lane of a signer is named, so that its index gives the order: PostgreSQL would read the newest operations of all lanes until
    // it has a page. On several chains a signer has several.
    let lane_id = if let [only] = lanes.as_slice() { Some(only) } else { None };
    matching(sql("select *"), filter, lane_id).push(" order by id desc").page(limit, offset).rows(tx).await
}

/// The number of matching operations. The count has a limit, because counting a whole table takes long.
pub async fn count(tx: &mut Tx, filter: &Filter) -> Result<Total> {
    Total::count_up_to(tx, matching(sql("select count(*) from (select 1"), filter, None), COUNTED_MAX).await
}
