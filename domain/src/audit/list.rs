//! Reads the audit log: newest first, filtered by actor, action and object.

use super::Entry;
use crate::Result;
use crate::db::Tx;
use crate::filter::CreatedBetween;
use crate::id::AuditId;
use crate::sql::{Sql, sql};
use crate::total::Total;

/// The count of entries stops here.
const COUNTED_MAX: i64 = 10_000;

/// The filter of a list.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct Filter {
    pub actor: Option<String>,
    pub action: Option<String>,
    pub object_id: Option<String>,
    pub created: CreatedBetween,
    /// Only entries older than this one.
    pub after: Option<AuditId>,
}

fn matching(select: Sql, filter: &Filter) -> Sql {
    select
        .push(" from audit_log where 1 = 1")
        .with_some(" and actor = ", filter.actor.as_ref())
        .with_some(" and action = ", filter.action.as_ref())
        .with_some(" and object_id = ", filter.object_id.as_ref())
        .with_some(" and at >= ", filter.created.from)
        .with_some(" and at <= ", filter.created.to)
        .with_some(" and id < ", filter.after.as_ref())
}

/// Entries, newest first.
pub async fn list(tx: &mut Tx, filter: &Filter, limit: i64, offset: i64) -> Result<Vec<Entry>> {
    matching(sql("select *"), filter).push(" order by id desc").page(limit, offset).rows(tx).await
}

/// The number of matching entries. The count has a limit.
pub async fn count(tx: &mut Tx, filter: &Filter) -> Result<Total> {
    Total::count_up_to(tx, matching(sql("select count(*) from (select 1"), filter), COUNTED_MAX).await
}
