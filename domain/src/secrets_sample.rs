//! The sample of the secrets: a value that they encrypted when this database was first used with them. Secrets that cannot decrypt it belong to
//! another database.

use crate::Result;
use crate::db::Tx;
use crate::sql::sql;

/// The encrypted sample. None before the first start.
pub async fn find(tx: &mut Tx) -> Result<Option<String>> {
    sql("select sealed from secrets_sample where id = 1").optional_scalar(tx).await
}

/// Stores the sample, unless there is one.
pub async fn insert(tx: &mut Tx, sealed: &str) -> Result<()> {
    let now = tx.now();
    sql("insert into secrets_sample (id, sealed, created_at) values (1, $1, $2) on conflict (id) do nothing")
        .bind((sealed, now))
        .execute(tx)
        .await?;
    Ok(())
}

/// Stores the sample in place of an earlier one.
pub async fn replace(tx: &mut Tx, sealed: &str) -> Result<()> {
    let now = tx.now();
    sql("insert into secrets_sample (id, sealed, created_at) values (1, $1, $2)
         on conflict (id) do update set sealed = excluded.sealed, created_at = excluded.created_at")
    .bind((sealed, now))
    .execute(tx)
    .await?;
    Ok(())
}

/// Whether something was encrypted or signed by secrets. It tells a database without a sample that is older than samples from an unused one.
/// Users and API keys show nothing: they can be created before there are secrets.
pub async fn is_needed(tx: &mut Tx) -> Result<bool> {
    sql("select exists (select 1 from audit_anchors) or exists (select 1 from second_factors)
             or exists (select 1 from webhook_secrets) or exists (select 1 from kyc_cases where data_sealed is not null)")
    .scalar(tx)
    .await
}
