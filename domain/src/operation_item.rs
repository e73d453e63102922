//! Items: the subjects of an operation. A live subject is in one operation only.

use alloy_primitives::Address;

use crate::column::{Dec, Hex};
use crate::db::{Tx, expect_updated};
use crate::id::{Id, InvestorId, OperationId};
use crate::rows::portions;
use crate::sql::{Sql, sql};
use crate::{Code, Error, Result};

/// One row of `operation_items`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Item {
    pub subject_id: String,
    pub wallet_address: Hex<Address>,
    pub quantity: Dec<u128>,
}

impl Item {
    /// The id of its subject, which the kind of operation makes an id of that kind.
    pub fn subject<K>(&self) -> Id<K> {
        self.subject_id.as_str().into()
    }
}

/// Stores the items of an operation. If one of them is in another live operation, the caller must not commit. In a transaction that gathers
/// its writes it may be refused later.
pub async fn insert(tx: &mut Tx, operation_id: &OperationId, subject_type: &str, items: &[Item]) -> Result<()> {
    let items: Vec<(&OperationId, &Item)> = items.iter().map(|item| (operation_id, item)).collect();
    for portion in portions(tx, &items) {
        let rows = insert_rows(subject_type, portion).push(" on conflict do nothing");
        rows.write_or(tx, portion.len(), in_progress(subject_type)).await?;
    }
    Ok(())
}

/// Stores the items of several operations, in statements of their own. PostgreSQL takes half as long again for `on conflict`, so the unique
/// index refuses them. Then the caller must not commit; it may go back to a savepoint.
pub async fn insert_all(tx: &mut Tx, subject_type: &str, items: &[(&OperationId, &Item)]) -> Result<()> {
    // What fails among the writes before them is another error.
    tx.run_writes().await?;
    for portion in portions(tx, items) {
        match insert_rows(subject_type, portion).execute(tx).await {
            Err(Error::Database(sqlx::Error::Database(said))) if said.is_unique_violation() => {
                return Err(in_progress(subject_type));
            }
            inserted => inserted?,
        };
    }
    Ok(())
}

fn insert_rows(subject_type: &str, items: &[(&OperationId, &Item)]) -> Sql {
    sql("insert into operation_items (operation_id, subject_type, subject_id, wallet_address, quantity, live)").values(
        items,
        |(operation_id, item)| {
            (*operation_id, subject_type, &item.subject_id, item.wallet_address, item.quantity, true)
        },
    )
}

fn in_progress(subject_type: &str) -> Error {
    let detail = format!("Some of these {subject_type}s are in another unfinished operation.");
    Error::refused(Code::OperationInProgress, detail)
}

/// The items of an operation.
pub async fn of_operation(tx: &mut Tx, operation_id: &OperationId) -> Result<Vec<Item>> {
    sql("select subject_id, wallet_address, quantity from operation_items where operation_id = $1
         order by subject_id")
    .bind(operation_id)
    .rows(tx)
    .await
}

/// The unfinished operations with a subject of this type in a wallet of an investor.
pub async fn operations_for(tx: &mut Tx, subject_type: &str, investor_id: &InvestorId) -> Result<Vec<OperationId>> {
    sql("select distinct m.operation_id from operation_items m join wallets w on w.address = m.wallet_address
         where w.investor_id = $1 and m.subject_type = $2 and m.live order by m.operation_id")
    .bind((investor_id, subject_type))
    .scalars(tx)
    .await
}

/// How many items each of these operations has.
pub async fn counts(tx: &mut Tx, operation_ids: &[&OperationId]) -> Result<Vec<(OperationId, i64)>> {
    let mut found = Vec::new();
    for portion in portions(tx, operation_ids) {
        found.extend(
            sql("select operation_id, count(*) from operation_items where operation_id in (")
                .list(portion)
                .push(") group by operation_id")
                .rows::<(OperationId, i64)>(tx)
                .await?,
        );
    }
    Ok(found)
}

/// The live operation of a subject.
pub async fn live_operation(tx: &mut Tx, subject_type: &str, subject_id: &str) -> Result<Option<OperationId>> {
    sql("select operation_id from operation_items where subject_type = $1 and subject_id = $2 and live")
        .bind((subject_type, subject_id))
        .optional_scalar(tx)
        .await
}

/// Frees the subjects of an operation that is confirmed or abandoned.
pub async fn release(tx: &mut Tx, operation_id: &OperationId) -> Result<()> {
    release_all(tx, &[operation_id]).await
}

/// Frees the subjects of several operations.
pub async fn release_all(tx: &mut Tx, operation_ids: &[&OperationId]) -> Result<()> {
    for portion in portions(tx, operation_ids) {
        sql("update operation_items set live = ")
            .value(false)
            .push(" where operation_id in (")
            .list(portion)
            .push(")")
            .write(tx)
            .await?;
    }
    Ok(())
}

/// Frees one subject of an operation that failed: another operation takes it over.
pub async fn release_subject(
    tx: &mut Tx,
    operation_id: &OperationId,
    subject_type: &str,
    subject_id: &str,
) -> Result<()> {
    let rows = sql("update operation_items set live = ")
        .value(false)
        .with(" where operation_id = ", operation_id)
        .with(" and subject_type = ", subject_type)
        .with(" and subject_id = ", subject_id)
        .execute(tx)
        .await?;
    expect_updated(rows, "item of", operation_id)
}

/// Whether another operation took over a subject of this one, which is neither confirmed nor abandoned.
pub async fn is_taken_over(tx: &mut Tx, operation_id: &OperationId) -> Result<bool> {
    let count: i64 = sql("select count(*) from operation_items where operation_id = $1 and not live")
        .bind(operation_id)
        .scalar(tx)
        .await?;
    Ok(count > 0)
}
