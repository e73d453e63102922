//! Many rows in one statement. PostgreSQL takes each column as one array: the text is the same for any number of rows, so it is prepared
//! once. One row has a text of its own, because to unfold its arrays took the server a quarter of the statement that stores an acceptance;
//! and so has a set of one element. SQLite takes a placeholder for each value, because it reads an array (as JSON) three times slower than it prepares a
//! text.

use std::borrow::Cow;

use sqlx::postgres::PgArguments;

use super::value::{self, Bind, ToSql, Value};
use crate::Result;

/// Stands in a text for a batch until the database is known.
pub(super) const MARK: char = '\u{1}';

/// The rows of a statement, or the elements of a set.
#[derive(Clone, Debug)]
pub(super) struct Batch {
    /// The null of each column.
    nulls: Vec<Value>,
    /// One row after the other.
    values: Vec<Value>,
    kind: BatchKind,
}

/// What stands before the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BatchKind {
    /// `in (`, or `not in (`.
    Set,
    /// An update, which joins them by their first columns.
    Update,
    /// Anything else.
    Rows,
}

/// The server takes any array for one of ten elements. It plans a shorter one anew each time, because a plan for its values seems cheaper.
const PLANNED_FOR: usize = 10;

impl Batch {
    pub(super) fn rows<R, B: Bind>(
        kind: BatchKind,
        rows: impl IntoIterator<Item = R>,
        columns: impl Fn(R) -> B,
    ) -> Self {
        let (mut nulls, mut values) = (Vec::new(), Vec::new());
        B::nulls(&mut nulls);
        rows.into_iter().for_each(|row| columns(row).bind_to(&mut values));
        Self { nulls, values, kind }
    }

    /// Whether it is one row, or a set of one element.
    pub(super) const fn is_one(&self) -> bool {
        self.values.len() == self.nulls.len()
    }

    fn is_one_row(&self) -> bool {
        self.kind != BatchKind::Set && self.is_one()
    }

    pub(super) fn set<V: ToSql>(elements: impl IntoIterator<Item = V>) -> Self {
        Self::rows(BatchKind::Set, elements, |element| element)
    }

    /// One placeholder for each value, without a number: the driver reads the list of numbered ones for each of them.
    fn write_each(&self, text: &mut String) {
        let of_each = |word: &'static str, count: usize| vec![word; count].join(", ");
        let width = self.nulls.len();
        *text += &match self.values.len() / width {
            count if self.kind == BatchKind::Set => of_each("?", count),
            0 => format!(" select * from (values ({})) where 1 = 0", of_each("null", width)),
            rows => format!(" values {}", vec![format!("({})", of_each("?", width)); rows].join(", ")),
        };
    }

    /// One placeholder for each column.
    fn write_columns(&self, text: &mut String, bound: usize) -> Result<()> {
        if self.is_one_row() {
            let column = |(n, null): (usize, &Value)| format!("${}::{} as column{n}", bound + n, null.type_name());
            *text += " select ";
            *text += &(1..).zip(&self.nulls).map(column).collect::<Vec<_>>().join(", ");
            return Ok(());
        }
        let arrays: Vec<_> =
            self.nulls.iter().zip(bound + 1..).map(|(null, n)| format!("${n}::{}[]", null.type_name())).collect();
        let arrays = arrays.join(", ");
        if self.kind != BatchKind::Set {
            let names = (1..=self.nulls.len()).map(|n| format!("column{n}")).collect::<Vec<_>>().join(", ");
            *text += &format!(" select {names} from unnest({arrays}) as u ({names})");
            return Ok(());
        }
        let missing = || sqlx::Error::Encode("a list stands behind `in (`".into());
        let before = text.strip_suffix("in (").ok_or_else(missing)?;
        *text = match (before.strip_suffix("not "), self.is_one()) {
            (None, true) => format!("{before}= (({arrays})[1]"),
            (None, false) => format!("{before}= any ({arrays}"),
            (Some(before), true) => format!("{before}<> (({arrays})[1]"),
            (Some(before), false) => format!("{before}<> all ({arrays}"),
        };
        Ok(())
    }
}

impl BatchKind {
    /// Fills a column up to the length that the server plans for: with an element that is there already, or with nulls, which no row of an
    /// update equals.
    fn fill(self, null: &Value, column: &mut Vec<Value>) {
        let more = match self {
            Self::Set if column.len() > 1 => column.last().cloned(),
            Self::Update if !column.is_empty() => Some(null.clone()),
            _ => None,
        };
        if let Some(more) = more {
            column.resize(column.len().max(PLANNED_FOR), more);
        }
    }
}

/// Writes each batch into the text. Its values come first, because the driver counts the placeholders without a number from 1.
pub(super) fn spread(text: &mut Cow<'static, str>, values: &mut Vec<Value>, batches: Vec<Batch>) {
    let Some((mut whole, rest)) = parts(text, &batches) else { return };
    let mut first = Vec::new();
    for (batch, behind) in batches.into_iter().zip(rest) {
        batch.write_each(&mut whole);
        first.extend(batch.values);
        whole += &behind;
    }
    *text = shifted(&whole, first.len()).into();
    first.append(values);
    *values = first;
}

/// The text with higher numbers in its placeholders.
pub(super) fn shifted(text: &str, by: usize) -> String {
    let mut parts = text.split('$');
    let mut shifted = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        let (number, behind) = part.split_at(end);
        shifted.push('$');
        match number.parse::<usize>() {
            Ok(number) => shifted += &(number + by).to_string(),
            Err(_) => shifted += number,
        }
        shifted += behind;
    }
    shifted
}

/// Writes each batch into the text, and adds its columns, behind the arguments that are bound already.
pub(super) fn gather(
    text: &mut Cow<'static, str>,
    arguments: &mut PgArguments,
    mut bound: usize,
    batches: Vec<Batch>,
) -> Result<()> {
    let Some((mut whole, rest)) = parts(text, &batches) else { return Ok(()) };
    for (batch, behind) in batches.into_iter().zip(rest) {
        batch.write_columns(&mut whole, bound)?;
        whole += &behind;
        let width = batch.nulls.len();
        bound += width;
        if batch.is_one_row() {
            value::add_all(arguments, batch.values)?;
            continue;
        }
        let mut columns: Vec<Vec<Value>> = vec![Vec::with_capacity(batch.values.len() / width); width];
        for (at, value) in batch.values.into_iter().enumerate() {
            columns[at % width].push(value);
        }
        for (null, mut column) in batch.nulls.iter().zip(columns) {
            batch.kind.fill(null, &mut column);
            null.add_array(arguments, column)?;
        }
    }
    *text = whole.into();
    Ok(())
}

/// The text before the first batch, and what stands behind each. None without a batch: a constant text is not copied.
fn parts(text: &str, batches: &[Batch]) -> Option<(String, Vec<String>)> {
    let mut parts = text.split(MARK).map(str::to_owned);
    if batches.is_empty() { None } else { Some((parts.next()?, parts.collect())) }
}
