//! What many lists are narrowed by: the status of a thing, and when it was made.

use chrono::{DateTime, Utc};
use sqlx::{Database, Encode, QueryBuilder, Type};

use crate::id;

/// When something was made. Both ends belong to it; none is no bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Created {
    pub from: Option<DateTime<Utc>>,
    pub to: Option<DateTime<Utc>>,
}

impl Created {
    /// Adds it to the conditions of a statement: `row` is how its columns begin there, `prefix` how its ids do. Ids begin with their time:
    /// the bound on the id finds the rows, the one on the time is exact.
    pub fn narrow<DB: Database>(self, query: &mut QueryBuilder<DB>, row: &str, prefix: &str)
    where
        for<'q> String: Encode<'q, DB> + Type<DB>,
        for<'q> DateTime<Utc>: Encode<'q, DB> + Type<DB>,
    {
        let bounds = [(">=", self.from, id::first_of as fn(&str, _) -> _), ("<=", self.to, id::last_of)];
        for (compared, at, id_of) in bounds {
            if let Some(at) = at {
                query.push(format!(" and {row}created_at {compared} ")).push_bind(at);
                query.push(format!(" and {row}id {compared} ")).push_bind(id_of(prefix, at));
            }
        }
    }
}

/// Adds that a column has one of these words, if any is named. They stand in the text, so that the planner sees which index fits.
pub fn words<DB: Database>(query: &mut QueryBuilder<DB>, column: &str, words: impl Iterator<Item = &'static str>) {
    let list: Vec<_> = words.map(|word| format!("'{word}'")).collect();
    if !list.is_empty() {
        query.push(format!(" and {column} in ({})", list.join(", ")));
    }
}
