//! Members: the people of an organisation. What concerns all of them is decided under the row of the organisation.

use crate::db::Tx;
use crate::user::{Status, User};
use crate::{Code, Error, Result, on};

/// The member of an organisation with this id, which may be malformed.
pub async fn find(tx: &mut Tx, issuer_id: &str, user_id: &str) -> Result<User> {
    crate::id::check("usr", user_id)?;
    on!(tx, conn => sqlx::query_as::<_, User>("select * from users where id = $1 and issuer_id = $2")
        .bind(user_id).bind(issuer_id).fetch_optional(conn).await?)
    .ok_or_else(|| Error::refused(Code::NotFound, format!("There is no member {user_id}.")))
}

/// A page of the members of an organisation, newest first, and how many there are.
pub async fn page(tx: &mut Tx, issuer_id: &str, limit: i64, offset: i64) -> Result<(Vec<User>, i64)> {
    let rows = on!(tx, conn => sqlx::query_as::<_, User>(
        "select * from users where issuer_id = $1 order by id desc limit $2 offset $3")
        .bind(issuer_id).bind(limit).bind(offset).fetch_all(conn).await?);
    let total = on!(tx, conn => sqlx::query_scalar::<_, i64>("select count(*) from users where issuer_id = $1")
        .bind(issuer_id).fetch_one(conn).await?);
    Ok((rows, total))
}

/// How many others may act for the organisation.
pub async fn others(tx: &mut Tx, issuer_id: &str, user_id: &str) -> Result<i64> {
    Ok(on!(tx, conn => sqlx::query_scalar::<_, i64>(
        "select count(*) from users where issuer_id = $1 and id <> $2 and status = $3")
        .bind(issuer_id).bind(user_id).bind(Status::Active).fetch_one(conn).await?))
}
