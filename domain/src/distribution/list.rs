//! Reading distributions: one, a page, those whose snapshot is due.

use chrono::{DateTime, Utc};
use sqlx::QueryBuilder;

use super::{Distribution, Status};
use crate::db::Tx;
use crate::narrow::{self, Created};
use crate::operation;
use crate::{Code, Error, Result, on};

/// Whose distributions a reader sees. Every read names one, so that none can forget it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All of them.
    All,
    /// Those in which this person, as an investor, has an entitlement, and those of this organisation's offerings.
    Own {
        /// The person, if an investor.
        user_id: Option<String>,
        /// The organisation, if a member of one.
        issuer_id: Option<String>,
    },
}

/// What a list shows. What is empty or none restricts nothing.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct Filter {
    pub id: Option<String>,
    pub statuses: Vec<Status>,
    pub offering_id: Option<String>,
    pub created: Created,
}

/// Writes the conditions of a scope and a filter over `d`; a macro, because a builder names its database.
macro_rules! among {
    ($query:expr, $scope:expr, $filter:expr) => {
        $query.push(" where 1 = 1");
        if let Scope::Own { user_id, issuer_id } = $scope {
            // Ids are never empty.
            let (user_id, issuer_id) = (user_id.clone().unwrap_or_default(), issuer_id.clone().unwrap_or_default());
            $query
                .push(
                    " and d.id in (select e.distribution_id from entitlements e join investors i on i.id = e.investor_id \
                     where i.user_id = ",
                )
                .push_bind(user_id);
            $query
                .push(" union select p.id from distributions p join offerings o on o.id = p.offering_id where o.issuer_id = ")
                .push_bind(issuer_id)
                .push(")");
        }
        narrow::words(&mut $query, "d.status", $filter.statuses.iter().map(|status| status.as_str()));
        $filter.created.narrow(&mut $query, "d.", "dist");
        for (column, value) in [("d.id", &$filter.id), ("d.offering_id", &$filter.offering_id)] {
            if let Some(value) = value {
                $query.push(format!(" and {column} = ")).push_bind(value.clone());
            }
        }
    };
}

/// One distribution; `not_found` if there is none, or it is not yours to see.
pub async fn find(tx: &mut Tx, scope: &Scope, id: &str) -> Result<Distribution> {
    let filter = Filter { id: Some(id.to_owned()), ..Filter::default() };
    on!(tx, conn => {
        let mut query = QueryBuilder::new("select d.* from distributions d");
        among!(query, scope, filter);
        query.build_query_as::<Distribution>().fetch_optional(conn).await?
    })
    .ok_or_else(|| missing(id))
}

fn missing(id: &str) -> Error {
    Error::refused(Code::NotFound, format!("There is no distribution {id}."))
}

/// Takes the row for this commit: what ends at the same time in another process waits, and sees what this one wrote.
pub async fn lock(tx: &mut Tx, id: &str) -> Result<Distribution> {
    on!(tx, conn => sqlx::query_as::<_, Distribution>("update distributions set version = version where id = $1 returning *")
        .bind(id).fetch_optional(conn).await?)
    .ok_or_else(|| missing(id))
}

/// A page of distributions, newest first, and how many there are.
pub async fn list(
    tx: &mut Tx,
    scope: &Scope,
    filter: &Filter,
    limit: i64,
    offset: i64,
) -> Result<(Vec<Distribution>, i64)> {
    let rows = on!(tx, conn => {
        let mut query = QueryBuilder::new("select d.* from distributions d");
        among!(query, scope, filter);
        query.push(" order by d.id desc limit ").push_bind(limit).push(" offset ").push_bind(offset);
        query.build_query_as::<Distribution>().fetch_all(conn).await?
    });
    let total = on!(tx, conn => {
        let mut query = QueryBuilder::new("select count(*) from distributions d");
        among!(query, scope, filter);
        query.build_query_scalar::<i64>().fetch_one(conn).await?
    });
    Ok((rows, total))
}

/// Distributions whose snapshot is due to be looked at again.
pub async fn due(tx: &mut Tx, now: DateTime<Utc>, limit: i64) -> Result<Vec<Distribution>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Distribution>(
        "select * from distributions where status = 'snapshotting' and next_action_at <= $1 order by next_action_at limit $2")
        .bind(now).bind(limit).fetch_all(conn).await?))
}

/// The distributions that could pay an investor now, or are about to fix what each of their holders gets.
pub async fn about_to_pay(tx: &mut Tx, investor_id: &str) -> Result<Vec<String>> {
    Ok(on!(tx, conn => sqlx::query_scalar::<_, String>(
        "select id from distributions where status = 'snapshotted' union \
         select distribution_id from entitlements where investor_id = $1 and status = 'calculated' order by 1")
        .bind(investor_id).fetch_all(conn).await?))
}

/// The operations that pay a distribution, with how many of its entitlements each of them has.
pub async fn operations_of(tx: &mut Tx, id: &str) -> Result<Vec<(String, operation::Status, i64)>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, (String, operation::Status, i64)>(
        "select o.id, o.status, (select count(*) from operation_items i where i.operation_id = o.id) from operations o \
         where o.subject_type = 'distribution' and o.subject_id = $1 order by o.id")
        .bind(id).fetch_all(conn).await?))
}
