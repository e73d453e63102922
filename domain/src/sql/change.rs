//! Inserts and updates that name each column beside its value.

use std::fmt::{Display, Write};

use super::{Conn, Sql, ToSql, Value};
use crate::Result;

/// An `insert` or `update` in the making.
#[derive(Clone, Debug)]
#[must_use = "a statement does nothing until it is run"]
pub struct Change {
    is_insert: bool,
    table: &'static str,
    columns: Vec<(&'static str, Value)>,
}

/// Inserts one row: `insert_into("issuers").set("id", id).set("name", name).execute(tx)`.
pub const fn insert_into(table: &'static str) -> Change {
    Change { is_insert: true, table, columns: Vec::new() }
}

/// Updates rows: `update_table("issuers").set("name", name).push(" where").with(" id = ", id).execute(tx)`.
pub const fn update_table(table: &'static str) -> Change {
    Change { is_insert: false, table, columns: Vec::new() }
}

impl Change {
    /// Sets a column.
    pub fn set(mut self, column: &'static str, value: impl ToSql) -> Self {
        self.columns.push((column, value.to_sql()));
        self
    }

    /// The columns with their values, for the audit log.
    pub fn to_json(&self) -> serde_json::Value {
        self.columns.iter().map(|(column, value)| ((*column).to_owned(), value.to_json())).collect()
    }

    /// The statement so far, with text behind it.
    pub fn push(self, text: impl Display + Send) -> Sql {
        Sql::from(self).push(text)
    }

    /// The statement so far, with text and a value behind it.
    pub fn with(self, text: impl Display + Send, value: impl ToSql) -> Sql {
        Sql::from(self).with(text, value)
    }

    /// Runs it. Returns the number of rows that it wrote.
    pub async fn execute(self, conn: &mut Conn) -> Result<u64> {
        Sql::from(self).execute(conn).await
    }
}

impl From<Change> for Sql {
    fn from(Change { is_insert, table, columns }: Change) -> Self {
        let (names, values): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
        let mut text = String::new();
        // Writing to a string cannot fail.
        _ = if is_insert {
            let numbers: Vec<_> = (1..=names.len()).map(|number| format!("${number}")).collect();
            write!(text, "insert into {table} ({}) values ({})", names.join(", "), numbers.join(", "))
        } else {
            let set: Vec<_> = names.iter().zip(1..).map(|(name, number)| format!("{name} = ${number}")).collect();
            write!(text, "update {table} set {}", set.join(", "))
        };
        Self { text: text.into(), values, batches: Vec::new() }
    }
}
