//! Members of an issuer. Decisions about all members are made under the lock of the issuer's row.

use crate::db::Tx;
use crate::id::{IssuerId, UserId};
use crate::sql::sql;
use crate::user::{Status, User};
use crate::{Code, Error, Result};

/// The member of an issuer with this id, which can be malformed.
pub async fn find(tx: &mut Tx, issuer_id: &IssuerId, user_id: &UserId) -> Result<User> {
    user_id.check()?;
    sql("select * from users where id = $1 and issuer_id = $2")
        .bind((user_id, issuer_id))
        .optional::<User>(tx)
        .await?
        .ok_or_else(|| Error::refused(Code::NotFound, format!("There is no member {user_id}.")))
}

/// A page of the members of an issuer, newest first, and their number.
pub async fn page(tx: &mut Tx, issuer_id: &IssuerId, limit: i64, offset: i64) -> Result<(Vec<User>, i64)> {
    let rows = sql("select * from users where issuer_id = $1 order by id desc limit $2 offset $3")
        .bind((issuer_id, limit, offset))
        .rows::<User>(tx)
        .await?;
    let total = sql("select count(*) from users where issuer_id = $1").bind(issuer_id).scalar::<i64>(tx).await?;
    Ok((rows, total))
}

/// Counts one more invitation of today; false if the issuer has reached its limit.
pub async fn count_invitation(tx: &mut Tx, issuer_id: &IssuerId, most: u32) -> Result<bool> {
    let day = tx.now().format("%Y-%m-%d").to_string();
    let rows = sql("update issuers set invited_on = $2,
            invited_count = case when invited_on = $2 then invited_count + 1 else 1 end
        where id = $1 and (invited_on is null or invited_on <> $2 or invited_count < $3)")
    .bind((issuer_id, day, i64::from(most)))
    .execute(tx)
    .await?;
    Ok(rows == 1)
}

/// How many other active members the issuer has.
pub async fn others(tx: &mut Tx, issuer_id: &IssuerId, user_id: &UserId) -> Result<i64> {
    sql("select count(*) from users where issuer_id = $1 and id <> $2 and status = $3")
        .bind((issuer_id, user_id, Status::Active))
        .scalar(tx)
        .await
}
