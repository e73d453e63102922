//! Filters that many lists share: by status, and by the time of creation.

use chrono::{DateTime, Utc};

use crate::id::{Id, IdKind};
use crate::sql::Sql;

/// A range of creation times. Both ends are included; an end without a time is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct CreatedBetween {
    pub from: Option<DateTime<Utc>>,
    pub to: Option<DateTime<Utc>>,
}

/// Text for a pattern of `like … escape '\\'`: a percent sign or an underscore in it is a letter like any other.
pub fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_")
}

impl Sql {
    /// Keeps the rows of a range of creation times. `row` is the alias of the table with its dot, `K` the kind of its
    /// ids. An id begins with its time: the limit on the id lets the database use the primary key, the limit on the time is exact.
    pub fn created<K: IdKind>(self, range: CreatedBetween, row: &str) -> Self {
        let first = range.from.map(|from| Id::<K>::first_of(from));
        let last = range.to.map(|to| Id::<K>::last_of(to));
        self.with_some(format!(" and {row}created_at >= "), range.from)
            .with_some(format!(" and {row}id >= "), first)
            .with_some(format!(" and {row}created_at <= "), range.to)
            .with_some(format!(" and {row}id <= "), last)
    }

    /// Keeps the rows whose column has one of these words; all rows if there are no words. The words are part of the text,
    /// so that the planner sees which index fits.
    pub fn one_of<W: AsRef<str>>(self, column: &str, words: &[W]) -> Self {
        if words.is_empty() {
            return self;
        }
        let list: Vec<_> = words.iter().map(|word| format!("'{}'", word.as_ref())).collect();
        self.push(format!(" and {column} in ({})", list.join(", ")))
    }
}
