//! Reads distributions: one, a page, and those with a due snapshot.

use chrono::{DateTime, Utc};

use super::{Distribution, Kind, Status};
use crate::db::Tx;
use crate::filter::CreatedBetween;
use crate::id::{DistributionId, InvestorId, IssuerId, OfferingId, OperationId, UserId, of};
use crate::operation;
use crate::sql::{Sql, sql};
use crate::{Code, Error, Result};

/// The distributions that a caller may see. Every read takes a scope, so that none can forget it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All distributions.
    All,
    /// Distributions with an entitlement of this user, and distributions of this issuer's offerings.
    Own {
        /// The user, if an investor.
        user_id: Option<UserId>,
        /// The issuer, if the user is its member.
        issuer_id: Option<IssuerId>,
    },
}

/// The filter of a list. Empty and none mean no restriction.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct Filter {
    pub id: Option<DistributionId>,
    pub statuses: Vec<Status>,
    pub offering_id: Option<OfferingId>,
    pub kind: Option<Kind>,
    pub created: CreatedBetween,
    /// Only distributions older than this id, for the next page.
    pub after: Option<DistributionId>,
}

fn matching(select: Sql, scope: &Scope, filter: &Filter) -> Sql {
    let mut query = select.push(" from distributions d where 1 = 1");
    if let Scope::Own { user_id, issuer_id } = scope {
        // Ids are never empty, so an empty one matches nothing.
        query = query
            .push(" and d.id in (select e.distribution_id from entitlements e join investors i on i.id = e.investor_id")
            .with(" where i.user_id = ", user_id.as_deref().unwrap_or_default())
            .push(" union select p.id from distributions p join offerings o on o.id = p.offering_id")
            .with(" where o.issuer_id = ", issuer_id.as_deref().unwrap_or_default())
            .push(")");
    }
    query
        .one_of("d.status", &filter.statuses)
        .created::<of::Distribution>(filter.created, "d.")
        .with_some(" and d.id = ", filter.id.as_ref())
        .with_some(" and d.offering_id = ", filter.offering_id.as_ref())
        .with_some(" and d.kind = ", filter.kind)
        .with_some(" and d.id < ", filter.after.as_ref())
}

/// One distribution; `not_found` if it does not exist or the caller may not see it.
pub async fn find(tx: &mut Tx, scope: &Scope, id: &DistributionId) -> Result<Distribution> {
    let filter = Filter { id: Some(id.to_owned()), ..Filter::default() };
    matching(sql("select d.*"), scope, &filter).optional(tx).await?.ok_or_else(|| missing(id))
}

fn missing(id: &DistributionId) -> Error {
    Error::refused(Code::NotFound, format!("There is no distribution {id}."))
}

/// Locks the row until the commit. A parallel transaction waits and then sees what this one wrote.
pub async fn lock_row(tx: &mut Tx, id: &DistributionId) -> Result<Distribution> {
    sql("select * from distributions where id = $1")
        .bind(id)
        .lock(tx)
        .optional::<Distribution>(tx)
        .await?
        .ok_or_else(|| missing(id))
}

/// A page of distributions, newest first.
pub async fn list(tx: &mut Tx, scope: &Scope, filter: &Filter, limit: i64, offset: i64) -> Result<Vec<Distribution>> {
    let page = matching(sql("select d.*"), scope, filter).push(" order by d.id desc").page(limit, offset);
    page.rows(tx).await
}

/// The number of matching distributions.
pub async fn count(tx: &mut Tx, scope: &Scope, filter: &Filter) -> Result<i64> {
    matching(sql("select count(*)"), scope, filter).scalar(tx).await
}

/// Distributions with a due snapshot.
pub async fn due(tx: &mut Tx, now: DateTime<Utc>, limit: i64) -> Result<Vec<Distribution>> {
    sql("select * from distributions where status = 'snapshotting' and next_action_at <= $1
         order by next_action_at limit $2")
    .bind((now, limit))
    .rows(tx)
    .await
}

/// Distributions that can pay an investor now, again where it failed, have a page of theirs that is not final, or are about to be calculated.
pub async fn about_to_pay(tx: &mut Tx, investor_id: &InvestorId) -> Result<Vec<DistributionId>> {
    sql("select id from distributions where status = 'snapshotted'
         union select e.distribution_id from entitlements e join distributions d on d.id = e.distribution_id
         where e.investor_id = $1 and e.status in ('calculated', 'queued', 'failed') and d.status <> 'cancelled' order by 1")
    .bind(investor_id)
    .scalars(tx)
    .await
}

/// The newest operations of a distribution, oldest first, each with its number of entitlements.
pub async fn operations_of(
    tx: &mut Tx,
    id: &DistributionId,
    limit: i64,
) -> Result<Vec<(OperationId, operation::Status, i64)>> {
    sql("select o.id, o.status, (select count(*) from operation_items i where i.operation_id = o.id)
         from (select id, status from operations where subject_type = 'distribution' and subject_id = $1
               order by id desc limit $2) o
         order by o.id")
    .bind((id, limit))
    .rows(tx)
    .await
}

/// The number of operations of a distribution.
pub async fn operation_count(tx: &mut Tx, id: &DistributionId) -> Result<i64> {
    sql("select count(*) from operations where subject_type = 'distribution' and subject_id = $1")
        .bind(id)
        .scalar(tx)
        .await
}
