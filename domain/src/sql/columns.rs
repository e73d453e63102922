//! A `*` names the columns that this process knew when it first read the table. The server refuses a prepared `*` once another process has
//! added a column ("cached plan must not change result type"), and every process that still runs would stop.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sqlx::PgConnection;

use super::answer::{ANSWER, answered};
use crate::Result;

/// The columns of each table, and each text with a `*` as it was written out.
static KNOWN: Mutex<Known> = Mutex::new(Known { columns: BTreeMap::new(), texts: BTreeMap::new() });

/// More than there are. Filters that can be combined in many ways must not fill the memory.
const TEXTS_MAX: usize = 2_000;

struct Known {
    columns: BTreeMap<String, Arc<[String]>>,
    texts: BTreeMap<Cow<'static, str>, String>,
}

fn known() -> MutexGuard<'static, Known> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A `*` of a statement: its place with the alias before it, and its table.
#[derive(Debug, PartialEq, Eq)]
struct Star {
    from: usize,
    to: usize,
    alias: Option<String>,
    table: String,
}

/// Names the columns of every `*` in a statement.
pub(super) async fn name_stars(text: &mut Cow<'static, str>, conn: &mut PgConnection) -> Result<()> {
    if !text.contains('*') {
        return Ok(());
    }
    let written = known().texts.get(text).cloned();
    if let Some(written) = written {
        *text = Cow::Owned(written);
        return Ok(());
    }
    let (asked, mut are_known) = (text.clone(), true);
    // The last one first, so that the places before it stay.
    for star in stars(text).into_iter().rev() {
        let columns = columns(&star.table, conn).await?;
        if columns.is_empty() {
            are_known = false;
            continue;
        }
        let prefix = star.alias.map(|alias| format!("{alias}.")).unwrap_or_default();
        let list: Vec<String> = columns.iter().map(|column| format!("{prefix}{column}")).collect();
        text.to_mut().replace_range(star.from..star.to, &list.join(", "));
    }
    let texts = &mut known().texts;
    if are_known && texts.len() < TEXTS_MAX {
        texts.insert(asked, text.to_string());
    }
    Ok(())
}

/// Every `*` that stands for the columns of a table.
fn stars(text: &str) -> Vec<Star> {
    let star = |(at, _)| {
        let before = &text[..at];
        if let Some(before) = before.strip_suffix('.') {
            let from = before.rfind(|c: char| !is_word(c)).map_or(0, |at| at + 1);
            let alias = &before[from..];
            return Some(Star { from, to: at + 1, alias: Some(alias.to_owned()), table: aliased(text, alias)? });
        }
        let table = match before.trim_end().rsplit(|c: char| !is_word(c)).next()? {
            "select" => word(text[at + 1..].trim_start().strip_prefix("from ")?),
            "returning" => word(["insert into ", "update "].iter().find_map(|begin| text.strip_prefix(begin))?),
            _ => return None,
        };
        Some(Star { from: at, to: at + 1, alias: None, table: table.to_owned() })
    };
    text.match_indices('*').filter_map(star).filter(|star| !star.table.is_empty()).collect()
}

/// The table with this alias.
fn aliased(text: &str, alias: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let named = |three: &&[&str]| matches!(three[0], "from" | "join") && word(three[2]) == alias;
    words.windows(3).find(named).map(|three| three[1].to_owned())
}

fn word(text: &str) -> &str {
    &text[..text.find(|c: char| !is_word(c)).unwrap_or(text.len())]
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The columns of a table or view; none if it is neither.
async fn columns(table: &str, conn: &mut PgConnection) -> Result<Arc<[String]>> {
    let read_before = known().columns.get(table).cloned();
    if let Some(columns) = read_before {
        return Ok(columns);
    }
    let names = sqlx::query_scalar::<_, String>(
        "select quote_ident(attname) from pg_attribute
         where attrelid = to_regclass($1) and attnum > 0 and not attisdropped order by attnum",
    )
    .bind(table);
    let names: Arc<[String]> = answered(ANSWER, names.fetch_all(&mut *conn)).await?.into();
    if !names.is_empty() {
        known().columns.insert(table.to_owned(), names.clone());
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables(text: &str) -> Vec<(String, String)> {
        stars(text).into_iter().map(|star| (text[star.from..star.to].to_owned(), star.table)).collect()
    }

    fn found(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        expected.iter().map(|(star, table)| ((*star).to_owned(), (*table).to_owned())).collect()
    }

    #[test]
    fn every_star_of_a_table_is_found_and_no_other() {
        assert_eq!(tables("select * from a where id in (select * from b_2)"), found(&[("*", "a"), ("*", "b_2")]));
        assert_eq!(tables("select h.*, 1 from holdings h join a b on b.x = h.x"), found(&[("h.*", "holdings")]));
        assert_eq!(
            tables("select o.*, i.* from a o\n join issuers i on 1"),
            found(&[("o.*", "a"), ("i.*", "issuers")])
        );
        assert_eq!(tables("insert into c (x) values ($1) returning *"), found(&[("*", "c")]));
        assert_eq!(tables("update d set x = 2 * y returning *"), found(&[("*", "d")]));
        assert_eq!(tables("select count(*), 2 * x from a"), found(&[]));
    }
}
