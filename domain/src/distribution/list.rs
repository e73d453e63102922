//! Reading distributions: one, a page, those whose snapshot is due.

use chrono::{DateTime, Utc};

use super::{Distribution, Status};
use crate::db::Tx;
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

impl Scope {
    /// The condition, over `d`, with the two texts that it needs as `$2` and `$3`.
    const fn condition(&self) -> &'static str {
        match self {
            Self::All => "cast($2 as text) is not null and cast($3 as text) is not null",
            Self::Own { .. } => {
                "(exists (select 1 from entitlements e join investors i on i.id = e.investor_id where e.distribution_id = d.id and \
                 i.user_id = $2) or exists (select 1 from offerings o where o.id = d.offering_id and o.issuer_id = $3))"
            }
        }
    }

    /// The person and the organisation. Ids are never empty.
    fn whose(&self) -> (&str, &str) {
        match self {
            Self::All => ("", ""),
            Self::Own { user_id, issuer_id } => {
                (user_id.as_deref().unwrap_or_default(), issuer_id.as_deref().unwrap_or_default())
            }
        }
    }
}

/// One distribution; `not_found` if there is none, or it is not yours to see.
pub async fn find(tx: &mut Tx, scope: &Scope, id: &str) -> Result<Distribution> {
    let sql = format!("select d.* from distributions d where d.id = $1 and {}", scope.condition());
    let (user_id, issuer_id) = scope.whose();
    on!(tx, conn => sqlx::query_as::<_, Distribution>(sqlx::AssertSqlSafe(sql)).bind(id).bind(user_id).bind(issuer_id)
        .fetch_optional(conn).await?)
    .ok_or_else(|| Error::refused(Code::NotFound, format!("There is no distribution {id}.")))
}

/// Takes the row for this commit: what ends at the same time in another process waits, and sees what this one wrote.
pub async fn lock(tx: &mut Tx, id: &str) -> Result<Distribution> {
    on!(tx, conn => sqlx::query_as::<_, Distribution>("update distributions set version = version where id = $1 returning *")
        .bind(id).fetch_optional(conn).await?)
    .ok_or_else(|| Error::refused(Code::NotFound, format!("There is no distribution {id}.")))
}

/// A page of distributions, newest first, and how many there are.
pub async fn list(
    tx: &mut Tx,
    scope: &Scope,
    offering_id: Option<&str>,
    status: Option<Status>,
    limit: i64,
    offset: i64,
) -> Result<(Vec<Distribution>, i64)> {
    let conditions = format!(
        "(cast($1 as text) is null or d.offering_id = $1) and {} and (cast($4 as text) is null or d.status = $4)",
        scope.condition()
    );
    let (page, all) = (
        format!("select d.* from distributions d where {conditions} order by d.id desc limit $5 offset $6"),
        format!("select count(*) from distributions d where {conditions}"),
    );
    let (status, (user_id, issuer_id)) = (status.map(Status::as_str), scope.whose());
    let rows = on!(tx, conn => sqlx::query_as::<_, Distribution>(sqlx::AssertSqlSafe(page)).bind(offering_id).bind(user_id)
        .bind(issuer_id).bind(status).bind(limit).bind(offset).fetch_all(conn).await?);
    let total = on!(tx, conn => sqlx::query_scalar::<_, i64>(sqlx::AssertSqlSafe(all)).bind(offering_id).bind(user_id)
        .bind(issuer_id).bind(status).fetch_one(conn).await?);
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
