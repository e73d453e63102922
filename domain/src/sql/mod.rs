//! Statements: a text with its values, run on whichever database the transaction belongs to.
//!
//! ```ignore
//! let key: Option<ApiKey> = sql("select * from api_keys where id = $1").bind(id).optional(tx).await?;
//! ```
//!
//! Both databases understand the same text. Only this folder runs statements on the two drivers, so each statement is
//! compiled once.

mod answer;
mod batch;
mod change;
mod columns;
mod gathered;
mod server;
mod value;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt::{Display, Write};

use futures::FutureExt;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{AssertSqlSafe, FromRow, Postgres, Sqlite, Transaction};

use crate::Result;
use crate::meanwhile::{self, Call};
use answer::ANSWER;
pub(crate) use answer::COMMITTED;
pub use answer::answered;
use batch::{Batch, BatchKind};
pub use change::{Change, insert_into, update_table};
pub use gathered::Gathered;
pub use server::Server;
pub(crate) use server::{ConnectionCache, PONG, pool};
pub use value::{Bind, ToSql, Value};

/// The connection of one engine.
pub enum Conn {
    /// SQLite's, in a transaction, with the writes that wait to be run together.
    Sqlite(Transaction<'static, Sqlite>, Gathered),
    /// PostgreSQL's, with its own.
    Postgres(Server, Gathered),
}

/// A statement and the values of its placeholders `$1`, `$2` and so on.
#[derive(Clone, Debug)]
#[must_use = "a statement does nothing until it is run"]
pub struct Sql {
    text: Cow<'static, str>,
    values: Vec<Value>,
    batches: Vec<Batch>,
}

/// A type that a row of either engine can be read as.
pub trait Row: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> {}

impl<T: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow>> Row for T {}

/// The answer of one engine or the other.
enum ByEngine<S, P> {
    Sqlite(S),
    Postgres(P),
}

/// A statement. The text is a constant, so that no input can become part of it.
pub const fn sql(text: &'static str) -> Sql {
    Sql { text: Cow::Borrowed(text), values: Vec::new(), batches: Vec::new() }
}

/// A set of words as text: `('pending', 'submitted')`.
pub fn word_set(set: &[impl Display]) -> String {
    let words: Vec<_> = set.iter().map(|word| format!("'{word}'")).collect();
    format!("({})", words.join(", "))
}

impl Sql {
    /// Binds the next value, or several as a tuple.
    pub fn bind(mut self, values: impl Bind) -> Self {
        values.bind_to(&mut self.values);
        self
    }

    /// Adds text. It is made of constants and numbers; input is bound as a value.
    // `format_args!` is not `Send`: it would make the future around the statement one that no other thread can run.
    pub fn push(mut self, text: impl Display + Send) -> Self {
        // Writing to a string cannot fail.
        _ = write!(self.text.to_mut(), "{text}");
        self
    }

    /// Replaces a name in the text by a set of words: `:live` by `('pending', 'submitted')`. They are part of the text, because a partial
    /// index is used only if its condition is there.
    pub fn words(mut self, name: &str, set: &[impl Display]) -> Self {
        self.text = self.text.replace(name, &word_set(set)).into();
        self
    }

    /// Adds a placeholder with its value.
    pub fn value(self, value: impl ToSql) -> Self {
        self.placeholders(value)
    }

    /// Adds text, and a placeholder with its value behind it.
    pub fn with(self, text: impl Display + Send, value: impl ToSql) -> Self {
        self.push(text).value(value)
    }

    /// Adds text and a value if there is a value.
    pub fn with_some(self, text: impl Display + Send, value: Option<impl ToSql>) -> Self {
        match value {
            Some(value) => self.with(text, value),
            None => self,
        }
    }

    /// Adds the limit and the offset of a page.
    pub fn page(self, limit: i64, offset: i64) -> Self {
        self.with(" limit ", limit).with_some(" offset ", (offset > 0).then_some(offset))
    }

    /// Locks the rows until the commit: a parallel transaction waits for it. A transaction that writes to SQLite has it for itself.
    pub fn lock(self, conn: &Conn) -> Self {
        if matches!(conn, Conn::Postgres(..)) { self.push(" for no key update") } else { self }
    }

    /// Whether it has several rows or a set, so that its text depends on their number on SQLite.
    fn has_rows(&self) -> bool {
        self.batches.iter().any(|batch| !batch.is_one())
    }

    /// Adds the elements of a set behind `in (`.
    pub fn list<V: ToSql>(self, elements: impl IntoIterator<Item = V>) -> Self {
        self.batch(Batch::set(elements))
    }

    /// Adds rows as `values (…), (…)` would: their columns are `column1`, `column2` and so on.
    pub fn values<R, B: Bind>(self, rows: impl IntoIterator<Item = R>, columns: impl Fn(R) -> B) -> Self {
        let kind = if self.text.starts_with("update ") { BatchKind::Update } else { BatchKind::Rows };
        self.batch(Batch::rows(kind, rows, columns))
    }

    fn batch(mut self, batch: Batch) -> Self {
        self.batches.push(batch);
        self.push(batch::MARK)
    }

    fn placeholders(mut self, values: impl Bind) -> Self {
        let bound = self.values.len();
        values.bind_to(&mut self.values);
        for number in bound + 1..=self.values.len() {
            let comma = if number == bound + 1 { "" } else { ", " };
            _ = write!(self.text.to_mut(), "{comma}${number}");
        }
        self
    }

    /// All rows.
    pub async fn rows<T: Row>(self, conn: &mut Conn) -> Result<Vec<T>> {
        let rows = match self.fetch_all(conn).boxed().await? {
            ByEngine::Sqlite(rows) => rows.iter().map(T::from_row).collect::<Result<_, _>>(),
            ByEngine::Postgres(rows) => rows.iter().map(T::from_row).collect(),
        };
        Ok(rows?)
    }

    /// The first row, if there is one.
    pub async fn optional<T: Row>(self, conn: &mut Conn) -> Result<Option<T>> {
        let row = match self.fetch_optional(conn).boxed().await? {
            ByEngine::Sqlite(row) => row.as_ref().map(T::from_row),
            ByEngine::Postgres(row) => row.as_ref().map(T::from_row),
        };
        Ok(row.transpose()?)
    }

    /// The only row of a statement that always has one.
    pub async fn row<T: Row>(self, conn: &mut Conn) -> Result<T> {
        Ok(self.optional(conn).await?.ok_or(sqlx::Error::RowNotFound)?)
    }

    /// The first column of all rows.
    pub async fn scalars<T>(self, conn: &mut Conn) -> Result<Vec<T>>
    where
        (T,): Row,
    {
        Ok(self.rows::<(T,)>(conn).await?.into_iter().map(|(value,)| value).collect())
    }

    /// The first column of the first row, if there is one.
    pub async fn optional_scalar<T>(self, conn: &mut Conn) -> Result<Option<T>>
    where
        (T,): Row,
    {
        Ok(self.optional::<(T,)>(conn).await?.map(|(value,)| value))
    }

    /// The only value of a statement that always has one.
    pub async fn scalar<T>(self, conn: &mut Conn) -> Result<T>
    where
        (T,): Row,
    {
        Ok(self.row::<(T,)>(conn).await?.0)
    }

    /// Runs it. Returns the number of rows that it wrote.
    pub async fn execute(self, conn: &mut Conn) -> Result<u64> {
        let run = async {
            conn.flush().await?;
            self.run(conn).await
        };
        run.boxed().await
    }

    async fn run(self, conn: &mut Conn) -> Result<u64> {
        Ok(match conn {
            Conn::Sqlite(conn, _) => self.for_sqlite()?.execute(&mut **conn).await?.rows_affected(),
            Conn::Postgres(conn, _) => {
                meanwhile::at(Call::Statement).await;
                conn.begin_if_late().await?;
                let done = answered(ANSWER, self.for_postgres()?.execute(&mut **conn)).await?;
                conn.rest();
                done.rows_affected()
            }
        })
    }

    // These do not depend on the type of the row, so the code of the drivers is compiled here once and not for each type. Their futures are
    // boxed, or the compiler would go through the types of the drivers again for each handler that it checks.

    async fn fetch_all(mut self, conn: &mut Conn) -> Result<ByEngine<Vec<SqliteRow>, Vec<PgRow>>> {
        conn.flush().await?;
        Ok(match conn {
            Conn::Sqlite(conn, _) => ByEngine::Sqlite(self.for_sqlite()?.fetch_all(&mut **conn).await?),
            Conn::Postgres(conn, _) => {
                self.prepare_read(conn).await?;
                let rows = answered(ANSWER, self.for_postgres()?.fetch_all(&mut **conn)).await?;
                conn.rest();
                ByEngine::Postgres(rows)
            }
        })
    }

    async fn fetch_optional(mut self, conn: &mut Conn) -> Result<ByEngine<Option<SqliteRow>, Option<PgRow>>> {
        conn.flush().await?;
        Ok(match conn {
            Conn::Sqlite(conn, _) => ByEngine::Sqlite(self.for_sqlite()?.fetch_optional(&mut **conn).await?),
            Conn::Postgres(conn, _) => {
                self.prepare_read(conn).await?;
                let row = answered(ANSWER, self.for_postgres()?.fetch_optional(&mut **conn)).await?;
                conn.rest();
                ByEngine::Postgres(row)
            }
        })
    }

    async fn prepare_read(&mut self, server: &mut Server) -> Result<()> {
        meanwhile::at(Call::Statement).await;
        if !self.only_reads() {
            server.begin_if_late().await?;
        }
        columns::name_stars(&mut self.text, server).await
    }

    /// Whether it neither writes nor locks. A function that it calls may do so: such a statement is executed, and not fetched.
    fn only_reads(&self) -> bool {
        self.text.starts_with("select ") && !self.text.contains(" for ")
    }

    /// The only row of a server's answer.
    async fn only_row(self, server: &mut Server) -> Result<PgRow> {
        meanwhile::at(Call::Statement).await;
        server.begin_if_late().await?;
        let row = answered(ANSWER, self.for_postgres()?.fetch_one(&mut **server)).await?;
        server.rest();
        Ok(row)
    }

    fn for_sqlite(mut self) -> Result<Query<'static, Sqlite, SqliteArguments>> {
        batch::spread(&mut self.text, &mut self.values, self.batches);
        let mut arguments = SqliteArguments::default();
        value::add_all(&mut arguments, self.values)?;
        Ok(sqlx::query_with(AssertSqlSafe(self.text), arguments))
    }

    fn for_postgres(mut self) -> Result<Query<'static, Postgres, PgArguments>> {
        let bound = self.values.len();
        let mut arguments = PgArguments::default();
        value::add_all(&mut arguments, self.values)?;
        batch::gather(&mut self.text, &mut arguments, bound, self.batches)?;
        Ok(sqlx::query_with(AssertSqlSafe(self.text), arguments))
    }
}
