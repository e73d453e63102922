//! Items: what an operation is about, one row each. A live subject is in one operation only.

use alloy_primitives::Address;

use crate::column::{Dec, Hex};
use crate::db::Tx;
use crate::rows::portions;
use crate::{Code, Error, Result, on};

const ROWS_PER_STATEMENT: usize = 500;

/// One row of `operation_items`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Item {
    pub subject_id: String,
    pub wallet_address: Hex<Address>,
    pub quantity: Dec<u128>,
}

/// Stores the items of an operation. If one of them is in another live operation, nothing of this commit may stand.
pub async fn insert(tx: &mut Tx, operation_id: &str, subject_type: &str, items: &[Item]) -> Result<()> {
    let items: Vec<(&str, &Item)> = items.iter().map(|item| (operation_id, item)).collect();
    insert_all(tx, subject_type, &items).await
}

/// The same of several operations, each item with its own.
pub async fn insert_all(tx: &mut Tx, subject_type: &str, items: &[(&str, &Item)]) -> Result<()> {
    for chunk in items.chunks(ROWS_PER_STATEMENT) {
        let rows = on!(tx, conn => {
            let mut query = sqlx::QueryBuilder::new(
                "insert into operation_items (operation_id, subject_type, subject_id, wallet_address, quantity, live) ");
            query.push_values(chunk, |mut row, (operation_id, item)| {
                row.push_bind(*operation_id).push_bind(subject_type).push_bind(&item.subject_id).push_bind(item.wallet_address)
                    .push_bind(item.quantity).push_bind(true);
            });
            query.push(" on conflict do nothing");
            query.build().execute(conn).await?.rows_affected()
        });
        if rows != chunk.len() as u64 {
            return Err(Error::refused(
                Code::OperationInProgress,
                format!(
                    "{} of these {subject_type}s are in another operation that is not finished.",
                    chunk.len() as u64 - rows
                ),
            ));
        }
    }
    Ok(())
}

/// The items of an operation.
pub async fn of_operation(tx: &mut Tx, operation_id: &str) -> Result<Vec<Item>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Item>(
        "select subject_id, wallet_address, quantity from operation_items where operation_id = $1 order by subject_id")
        .bind(operation_id).fetch_all(conn).await?))
}

/// The operation that holds a subject while it is live.
pub async fn live_operation(tx: &mut Tx, subject_type: &str, subject_id: &str) -> Result<Option<String>> {
    Ok(on!(tx, conn => sqlx::query_scalar::<_, String>(
        "select operation_id from operation_items where subject_type = $1 and subject_id = $2 and live")
        .bind(subject_type).bind(subject_id).fetch_optional(conn).await?))
}

/// Frees the subjects for other operations: this one is confirmed or given up.
pub async fn release(tx: &mut Tx, operation_id: &str) -> Result<()> {
    release_all(tx, &[operation_id]).await
}

/// Frees the subjects of several operations.
pub async fn release_all(tx: &mut Tx, operation_ids: &[&str]) -> Result<()> {
    for portion in portions(operation_ids) {
        on!(tx, conn => {
            let mut query = sqlx::QueryBuilder::new("update operation_items set live = ");
            query.push_bind(false).push(" where operation_id in (");
            let mut list = query.separated(", ");
            for id in portion {
                list.push_bind(id);
            }
            query.push(")");
            query.build().execute(conn).await?.rows_affected()
        });
    }
    Ok(())
}
