//! The test clock: how far the clock of a development installation was moved forward.

use crate::Result;
use crate::db::Tx;
use crate::sql::sql;

/// How far the clock is ahead, in microseconds.
pub async fn ahead(tx: &mut Tx) -> Result<i64> {
    let ahead = sql("select ahead_microseconds from test_clock where id = 1").optional_scalar(tx).await?;
    Ok(ahead.unwrap_or(0))
}

/// Moves the clock forward, and returns how far it is ahead now. The clock of a process follows after the commit.
pub async fn advance(tx: &mut Tx, microseconds: i64) -> Result<i64> {
    sql("insert into test_clock (id, ahead_microseconds) values (1, $1)
         on conflict (id) do update set ahead_microseconds = test_clock.ahead_microseconds + excluded.ahead_microseconds
         returning ahead_microseconds")
    .bind(microseconds)
    .scalar(tx)
    .await
}
