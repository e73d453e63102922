//! Writes that wait for each other. A server runs them as one statement: one round trip and one plan for all of them. SQLite runs them in
//! order, as one text: its driver has a thread for each connection, and the way there and back takes longer than a short write.

use futures::{FutureExt, TryStreamExt};
use sqlx::{Either, Executor, Row as _, SqliteConnection};

use super::answer::{COMMITTED, answered};
use super::batch::{MARK, shifted};
use super::{Conn, Server, Sql, sql};
use crate::{Error, Result};

/// The writes of one statement. A commit of the engine has fewer; without a limit the texts of a long transaction would have no end.
const WAITING_MAX: usize = 16;

/// The server's code of a division by zero.
const DIVISION_BY_ZERO: &str = "22012";

/// The waiting writes of a transaction.
#[derive(Debug)]
pub struct Gathered {
    gathers: bool,
    waiting: Vec<Waiting>,
}

impl Gathered {
    /// No write waits, and none will.
    pub(crate) const fn none() -> Self {
        Self { gathers: false, waiting: Vec::new() }
    }

    /// Runs the writes that wait as one statement of the server, which commits itself. If the guard of one of them fails, nothing is written.
    pub(crate) async fn commit(self, server: &mut Server) -> Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        // To the end of its answer: only then it has committed.
        let all = together(self.waiting).checked().for_postgres()?;
        match answered(COMMITTED, all.execute(&mut **server)).await {
            Ok(_) => server.rest(),
            Err(sqlx::Error::Database(said)) if said.code().is_some_and(|code| code == DIVISION_BY_ZERO) => {
                return Err(Error::Stale { what: "row of a guard", id: String::new() });
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

#[derive(Debug)]
struct Waiting {
    write: Sql,
    guard: Option<Guard>,
}

/// The rows that a write must change, and the error if they are others.
#[derive(Debug)]
struct Guard {
    rows: usize,
    otherwise: Error,
}

impl Guard {
    fn check(self, rows: u64) -> Result<()> {
        if rows == self.rows as u64 { Ok(()) } else { Err(self.otherwise) }
    }
}

impl Sql {
    /// Runs a write whose number of rows does not matter. In a transaction that gathers its writes it may run later.
    pub async fn write(self, conn: &mut Conn) -> Result<()> {
        conn.write(self, None).boxed().await
    }

    /// Runs a guarded write of this many rows. If it changes fewer, the caller must read again; the error has the first id. In a
    /// transaction that gathers its writes it may run, and fail, later.
    pub async fn write_exactly(self, conn: &mut Conn, rows: usize, what: &'static str, first: &str) -> Result<()> {
        self.write_or(conn, rows, Error::Stale { what, id: first.to_owned() }).await
    }

    /// Runs a guarded write of this many rows. If it changes fewer, the request fails with this error. In a transaction that gathers its
    /// writes it may run, and fail, later.
    pub async fn write_or(self, conn: &mut Conn, rows: usize, otherwise: Error) -> Result<()> {
        conn.write(self, Some(Guard { rows, otherwise })).boxed().await
    }
}

impl Conn {
    /// Lets writes wait for each other from now on, or no more. Any other statement, and the commit, runs those that wait first. Returns
    /// whether they did so before.
    pub(crate) const fn gather(&mut self, gathers: bool) -> bool {
        match self {
            Self::Postgres(server, _) if !server.has_transaction() => false,
            Self::Postgres(_, gathered) | Self::Sqlite(_, gathered) => {
                std::mem::replace(&mut gathered.gathers, gathers)
            }
        }
    }

    /// Whether its transaction has not begun, so that the writes that wait can be all of it.
    pub(crate) const fn is_late(&self) -> bool {
        matches!(self, Self::Postgres(server, _) if server.is_late())
    }

    /// Drops the writes that wait.
    pub(crate) fn drop_gathered(&mut self) {
        self.gathered().waiting.clear();
    }

    const fn gathered(&mut self) -> &mut Gathered {
        let (Self::Postgres(_, gathered) | Self::Sqlite(_, gathered)) = self;
        gathered
    }

    /// Runs a write, or lets it wait.
    async fn write(&mut self, write: Sql, guard: Option<Guard>) -> Result<()> {
        // SQLite prepares a text for each number of rows. With others in one text it would find none prepared.
        let waits = self.gathered().gathers && (matches!(self, Self::Postgres(..)) || !write.has_rows());
        if !waits || self.clashes(&write.text) {
            self.flush().await?;
        }
        if waits {
            self.gathered().waiting.push(Waiting { write, guard });
            return Ok(());
        }
        let rows = write.run(self).await?;
        guard.map_or(Ok(()), |guard| guard.check(rows))
    }

    /// Whether a write cannot wait with the others: there are enough; or it may touch a row that one of them changes, which one statement
    /// cannot do twice; or it is an insert that cannot be made to depend on their guards.
    fn clashes(&mut self, text: &str) -> bool {
        let gathered = match self {
            Self::Postgres(_, gathered) => gathered,
            // Here each sees what those before it wrote.
            Self::Sqlite(_, gathered) => return gathered.waiting.len() >= WAITING_MAX,
        };
        let is_insert = text.starts_with("insert ");
        let changes = |waiting: &Waiting| !is_lock(&waiting.write.text) && target(&waiting.write.text) == target(text);
        let is_guarded = || gathered.waiting.iter().any(|waiting| waiting.guard.is_some());
        gathered.waiting.len() >= WAITING_MAX
            || (!is_insert || text.contains(" do update ")) && gathered.waiting.iter().any(changes)
            || is_insert && !text.contains(" on conflict ") && !text.ends_with(MARK) && is_guarded()
    }

    /// Runs the writes that wait. If the guard of one of them fails, the caller must not commit.
    pub(crate) async fn flush(&mut self) -> Result<()> {
        let mut waiting = std::mem::take(&mut self.gathered().waiting);
        if waiting.len() < 2 {
            let Some(Waiting { write, guard }) = waiting.pop() else { return Ok(()) };
            let rows = write.run(self).await?;
            return guard.map_or(Ok(()), |guard| guard.check(rows));
        }
        let server = match self {
            Self::Sqlite(conn, _) => return run_in_order(conn, waiting).await,
            Self::Postgres(server, _) => server,
        };
        let (together, guards) = together(waiting).told();
        let told = together.only_row(server).await?;
        for (number, guard) in guards.into_iter().enumerate() {
            if let Some(guard) = guard
                && !told.try_get::<bool, _>(number)?
            {
                return Err(guard.otherwise);
            }
        }
        Ok(())
    }
}

/// Runs one text with all of them. What fails first is told, a guard or a write: later ones may have run, so the caller must not commit.
async fn run_in_order(conn: &mut SqliteConnection, waiting: Vec<Waiting>) -> Result<()> {
    let (all, guards) = in_order(waiting);
    let mut guards = guards.into_iter();
    let mut run = conn.fetch_many(all.for_sqlite()?);
    while let Some(step) = run.try_next().await? {
        if let Either::Left(done) = step
            && let Some(guard) = guards.next().flatten()
        {
            guard.check(done.rows_affected())?;
        }
    }
    Ok(())
}

fn in_order(waiting: Vec<Waiting>) -> (Sql, Vec<Option<Guard>>) {
    let (mut all, mut guards) = (sql(""), Vec::with_capacity(waiting.len()));
    for Waiting { write, guard } in waiting {
        let text = shifted(&write.text, all.values.len());
        all = all.push(text).push(";");
        all.values.extend(write.values);
        all.batches.extend(write.batches);
        guards.push(guard);
    }
    (all, guards)
}

/// Writes in one statement, which is to end with its questions.
struct Together {
    all: Sql,
    /// The text that runs each write that is asked for, with its guard. With a guard it asks whether the guard holds.
    asked: Vec<(String, Option<Guard>)>,
}

impl Together {
    /// The text that asks whether all guards so far hold; none without a guard.
    fn held(&self) -> Option<String> {
        let guarded = self.asked.iter().filter(|(_, guard)| guard.is_some());
        let all: Vec<&str> = guarded.map(|(question, _)| question.as_str()).collect();
        (!all.is_empty()).then(|| all.join(" and "))
    }

    /// The statement that returns for each guard whether it holds.
    fn told(self) -> (Sql, Vec<Option<Guard>>) {
        let (questions, guards): (Vec<_>, Vec<_>) = self.asked.into_iter().unzip();
        (self.all.push(format!(" select {}", questions.join(", "))), guards)
    }

    /// The statement that fails if a guard fails.
    fn checked(self) -> Sql {
        let held = self.held().map(|held| format!("1 / case when {held} then 1 else 0 end"));
        let questions = self.asked.into_iter().map(|(question, _)| question).chain(held).collect::<Vec<_>>();
        self.all.push(format!(" select {}", questions.join(", ")))
    }
}

/// The end of an insert that leaves out the rows that are there already.
const SKIPS: &str = " on conflict do nothing";

/// One statement that runs all of them. The server runs each that is asked for, in this order, and at the end those that only add rows. None of
/// them sees what another wrote; references between their rows are checked at the end. Rows are inserted only if the guards before them hold:
/// otherwise a constraint would refuse them before the guard is told. The rows of a guarded write are counted once, and rows that are only
/// added are not: the server sets up each node of a plan anew for each statement.
fn together(waiting: Vec<Waiting>) -> Together {
    let mut together = Together { all: sql("with "), asked: Vec::new() };
    for (number, Waiting { write, guard }) in waiting.into_iter().enumerate() {
        let comma = if number == 0 { "" } else { ", " };
        let is_lock = is_lock(&write.text);
        let whole: &str = &write.text;
        let (rows, behind) = whole.strip_suffix(SKIPS).map_or((whole, ""), |rows| (rows, SKIPS));
        let is_conditional = rows.ends_with(MARK);
        let is_asked = guard.is_some() || !whole.ends_with(MARK);
        let text = shifted(rows, together.all.values.len());
        let mut all = together.all.push(format!("{comma}w{number} as ({text}"));
        all.values.extend(write.values);
        all.batches.extend(write.batches);
        together.all = all;
        if is_conditional && let Some(held) = together.held() {
            together.all = together.all.push(format!(" where {held}"));
        }
        together.all = together.all.push(behind).push(if is_lock || !is_asked { ")" } else { " returning 1)" });
        if let Some(guard) = &guard {
            let rows = i64::try_from(guard.rows).unwrap_or(i64::MAX);
            together.all =
                together.all.with(format!(", h{number} as (select from w{number} having count(*) = "), rows).push(")");
        }
        if is_asked {
            let question = match &guard {
                Some(_) => format!("exists (select from h{number})"),
                None => format!("(select count(*) from w{number})"),
            };
            together.asked.push((question, guard));
        }
    }
    together
}

/// Whether it locks rows for the writes behind it, and changes nothing itself.
fn is_lock(text: &str) -> bool {
    text.starts_with("select ")
}

/// The table that a write changes, or whose rows it locks.
fn target(text: &str) -> &str {
    let mut words = text.split_whitespace();
    let before = if text.starts_with("insert ") { "into" } else { "from" };
    let table =
        if text.starts_with("update ") { words.nth(1) } else { words.skip_while(|word| *word != before).nth(1) };
    table.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::batch;
    use super::super::value::ToSql;
    use super::*;

    #[test]
    fn each_write_keeps_its_own_values() {
        let lock = sql("select id from a where id = $1 for update").bind("0");
        let one = sql("update a set x = $2 where id = $1").bind(("1", "2"));
        let two = sql("insert into b (y)").values(["3"], |y| y);
        let guard = Some(Guard { rows: 1, otherwise: Error::Stale { what: "a", id: "1".to_owned() } });
        let waiting = [(lock, None), (one, guard), (two, None)].map(|(write, guard)| Waiting { write, guard });
        let (all, guards) = together(waiting.into()).told();
        assert_eq!(
            all.text.replace(MARK, "…"),
            "with w0 as (select id from a where id = $1 for update), w1 as (update a set x = $3 where id = $2 returning 1), \
             h1 as (select from w1 having count(*) = $4), w2 as (insert into b (y)… where exists (select from h1)) \
             select (select count(*) from w0), exists (select from h1)"
        );
        assert_eq!((all.values.len(), all.batches.len(), guards.len()), (4, 1, 2));
    }

    #[test]
    fn writes_in_order_keep_their_own_values_and_guards() {
        let one = sql("update a set x = $2 where id = $1").bind(("1", "2"));
        let two = sql("insert into b (y)").values(["3"], |y| y);
        let three = sql("delete from a where x = $1").bind("4");
        let guard = || Some(Guard { rows: 1, otherwise: Error::Stale { what: "a", id: "1".to_owned() } });
        let waiting = [(one, guard()), (two, None), (three, guard())];
        let (mut all, guards) = in_order(waiting.map(|(write, guard)| Waiting { write, guard }).into());
        batch::spread(&mut all.text, &mut all.values, all.batches);
        assert_eq!(
            all.text,
            "update a set x = $3 where id = $2;insert into b (y) values (?);delete from a where x = $4;"
        );
        assert_eq!(all.values, ["3", "1", "2", "4"].map(|value| value.to_sql()));
        assert_eq!(guards.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false, true]);
    }

    #[test]
    fn the_table_of_a_write_is_found() {
        let texts = [
            "insert into a (x) values ($1)",
            "update a set x = 1 from b",
            "delete from a where x = 1",
            "select x from a where x = 1 for update",
        ];
        assert!(texts.iter().all(|text| target(text) == "a"));
    }
}
