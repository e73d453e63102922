use chrono::{DateTime, Utc};
use serde_json::json;
use sqlx::types::Json;

use super::*;
use crate::clock::Clock;
use crate::column::{Dec, Hex};
use crate::db::{Db, Tx};
use crate::filter::CreatedBetween;
use crate::id::{Ids, of};

const TABLE: &str = "create table things (id text primary key, number integer, flag boolean, at text, bytes blob,
    fields text, large text, word text)";

type Row = (String, Option<i64>, Option<bool>, Option<DateTime<Utc>>, Option<Vec<u8>>, Option<Json<serde_json::Value>>);

async fn open() -> Tx {
    let db = Db::open("sqlite::memory:", 1, Clock::manual(DateTime::UNIX_EPOCH), Ids::seeded(1)).await.unwrap();
    let mut tx = db.begin().await.unwrap();
    sql(TABLE).execute(&mut tx).await.unwrap();
    tx
}

#[tokio::test]
async fn every_kind_of_value_is_read_as_it_was_written_and_so_is_its_null() {
    let mut tx = open().await;
    let at = DateTime::from_timestamp_micros(1_700_000_000_123_456).unwrap();
    let fields = json!({ "b": [1, null], "a": "x" });
    let full = insert_into("things")
        .set("id", "full")
        .set("number", i64::MIN)
        .set("flag", true)
        .set("at", at)
        .set("bytes", [0_u8, 255].as_slice())
        .set("fields", Json(&fields));
    assert_eq!(full.execute(&mut tx).await.unwrap(), 1);
    let empty = sql("insert into things (id, number, flag, at, bytes, fields) values ($1, $2, $3, $4, $5, $6)").bind((
        "empty".to_owned(),
        None::<i64>,
        None::<bool>,
        None::<DateTime<Utc>>,
        None::<Vec<u8>>,
        None::<Json<()>>,
    ));
    assert_eq!(empty.execute(&mut tx).await.unwrap(), 1);
    let read = sql("select id, number, flag, at, bytes, fields from things order by number is null");
    let rows: Vec<Row> = read.rows(&mut tx).await.unwrap();
    let expected = ("full".to_owned(), Some(i64::MIN), Some(true), Some(at), Some(vec![0, 255]), Some(Json(fields)));
    assert_eq!(rows, [expected, ("empty".to_owned(), None, None, None, None, None)]);
}

#[tokio::test]
async fn numbers_that_are_stored_as_text_keep_their_text() {
    let mut tx = open().await;
    let large = Dec(u128::MAX);
    insert_into("things").set("id", Hex(255_u8)).set("large", Some(&large)).execute(&mut tx).await.unwrap();
    let row = sql("select id, large from things").row::<(String, Dec<u128>)>(&mut tx).await.unwrap();
    assert_eq!(row, ("0xff".to_owned(), large));
}

#[tokio::test]
async fn a_row_that_is_not_there_is_none_or_an_error_but_never_a_default() {
    let mut tx = open().await;
    let none = || sql("select number from things");
    assert_eq!(none().optional_scalar::<Option<i64>>(&mut tx).await.unwrap(), None);
    assert_eq!(none().scalars::<Option<i64>>(&mut tx).await.unwrap(), []);
    assert!(none().scalar::<Option<i64>>(&mut tx).await.is_err());
    assert_eq!(update_table("things").set("number", 1).with(" where id = ", "a").execute(&mut tx).await.unwrap(), 0);
}

#[tokio::test]
async fn many_rows_are_inserted_and_updated_by_one_statement() {
    let mut tx = open().await;
    let rows = [("a", 1_i64), ("b", 2), ("c", 3)];
    let inserted = sql("insert into things (id, number)").values(rows, |row| row).execute(&mut tx).await.unwrap();
    assert_eq!(inserted, 3);
    let moved = sql("update things set number = v.column2 from (")
        .values(&rows[1..], |(id, number)| (*id, number * 10))
        .push(") as v where things.id = v.column1")
        .execute(&mut tx)
        .await
        .unwrap();
    assert_eq!(moved, 2);
    let kept = sql("select number from things where id in (").list(["a", "c"]).push(") order by id");
    assert_eq!(kept.scalars::<i64>(&mut tx).await.unwrap(), [1, 30]);
}

#[test]
fn placeholders_count_on_from_the_values_that_are_bound_already() {
    let query = sql("select * from things where id = $1")
        .bind("a")
        .with_some(" and number > ", None::<i64>)
        .with_some(" and number < ", Some(7))
        .page(20, 0);
    assert_eq!(query.text, "select * from things where id = $1 and number < $2 limit $3");
    assert_eq!(query.values.len(), 3);
    assert!(sql("").page(20, 40).text.ends_with(" offset $2"));
    let change: Sql = update_table("things").set("number", 1).set("flag", false).with(" where id = ", "a");
    assert_eq!(change.text, "update things set number = $1, flag = $2 where id = $3");
}

#[test]
fn a_batch_has_a_placeholder_for_each_value_or_for_each_column() {
    let rows = [("a", 1_i64), ("b", 2)];
    let query = || {
        sql("update things set number = v.column2 from (")
            .values(rows, |row| row)
            .push(") as v where id = v.column1 and word not in (")
            .list(["x", "y", "z"])
            .with(") and number < ", 9)
            .push(" and id in (")
            .list(["q"])
            .push(")")
    };
    let mut each = query();
    batch::spread(&mut each.text, &mut each.values, each.batches);
    assert_eq!(
        each.text,
        "update things set number = v.column2 from ( values (?, ?), (?, ?)) as v where id = v.column1 \
         and word not in (?, ?, ?) and number < $9 and id in (?)"
    );
    let order = ["a".to_sql(), 1.to_sql(), "b".to_sql(), 2.to_sql()];
    assert_eq!(each.values[..4], order);
    assert_eq!(each.values[7..], ["q".to_sql(), 9.to_sql()]);
    let (mut arrays, mut arguments) = (query(), PgArguments::default());
    batch::gather(&mut arrays.text, &mut arguments, arrays.values.len(), arrays.batches).unwrap();
    assert_eq!(
        arrays.text,
        "update things set number = v.column2 from ( select column1, column2 from unnest($2::text[], $3::bigint[]) \
         as u (column1, column2)) as v where id = v.column1 and word <> all ($4::text[]) and number < $1 \
         and id = (($5::text[])[1])"
    );
    let mut one = sql("update things set number = v.column2 from (").values([("a", 1_i64)], |row| row);
    one = one.with(") as v where id = v.column1 and number < ", 9);
    batch::gather(&mut one.text, &mut PgArguments::default(), one.values.len(), one.batches).unwrap();
    assert_eq!(
        one.text,
        "update things set number = v.column2 from ( select $2::text as column1, $3::bigint as column2) as v \
         where id = v.column1 and number < $1"
    );
}

#[tokio::test]
async fn a_batch_without_rows_changes_and_finds_nothing() {
    let mut tx = open().await;
    let none: [(&str, i64); 0] = [];
    let inserted = sql("insert into things (id, number)").values(none, |row| row).execute(&mut tx).await.unwrap();
    assert_eq!(inserted, 0);
    insert_into("things").set("id", "a").execute(&mut tx).await.unwrap();
    for (text, expected) in [("id in (", 0), ("id not in (", 1)] {
        let count = sql("select count(*) from things where ").push(text).list::<&str>([]).push(")");
        assert_eq!(count.scalar::<i64>(&mut tx).await.unwrap(), expected);
    }
}

#[test]
fn a_filter_adds_only_the_conditions_that_are_asked_for() {
    let all = sql("select 1 where 1 = 1")
        .one_of::<&str>("status", &[])
        .created::<of::Offering>(CreatedBetween::default(), "o.");
    assert_eq!(all.text, "select 1 where 1 = 1");
    let from = CreatedBetween { from: Some(DateTime::UNIX_EPOCH), to: None };
    let some = sql("select 1 where 1 = 1").one_of("status", &["open", "closed"]).created::<of::Offering>(from, "o.");
    assert_eq!(
        some.text,
        "select 1 where 1 = 1 and status in ('open', 'closed') and o.created_at >= $1 and o.id >= $2"
    );
}

#[test]
fn a_set_of_words_is_part_of_the_text() {
    let query = sql("select 1 where a in :live or b in :live").words(":live", &["pending", "submitted"]);
    assert_eq!(query.text, "select 1 where a in ('pending', 'submitted') or b in ('pending', 'submitted')");
    assert!(query.values.is_empty());
}

#[test]
fn a_constant_text_is_not_copied() {
    assert!(matches!(sql("select 1").bind(("a", 1)).text, Cow::Borrowed("select 1")));
}
