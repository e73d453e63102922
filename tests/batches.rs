//! Many rows in one statement, and many writes: the same rows on both databases, and on PostgreSQL one text for any number of them.

use alloy::primitives::Address;
use chrono::{DateTime, Utc};
use muniment_domain::clock::Clock;
use muniment_domain::column::{Dec, Hex};
use muniment_domain::db::{Db, Tx};
use muniment_domain::id::OperationId;
use muniment_domain::operation::{Kind, Operation};
use muniment_domain::operation_item::{self, Item};
use muniment_domain::point::Point;
use muniment_domain::sql::sql;
use muniment_domain::{Code, Error, operation};
use serde_json::{Value, json};
use sqlx::types::Json;
use world::{Database, Engine, on_both_databases};

use crate::installation::{new_operation, open_at};
use crate::statements::Statements;

const TABLE: &str =
    "create table things (id text primary key, number bigint, flag boolean, at timestamptz, bytes bytea,
    fields jsonb, large text, word text)";
const READ: &str = "select id, number, flag, at, bytes, fields, large, word from things order by id";
/// Words that mean something in a literal, in an array or in JSON.
const WORDS: [&str; 8] = ["", "null", "{a,b}", "it's", "\\", "\"quoted\"", "ü€𝄞", "$1, $2"];

type Thing = (
    String,
    Option<i64>,
    Option<bool>,
    Option<DateTime<Utc>>,
    Option<Vec<u8>>,
    Option<Json<Value>>,
    Option<Dec<u128>>,
    Option<String>,
);

/// The thing with this number. Each column is null in another row.
fn thing(number: i64) -> Thing {
    let at = DateTime::from_timestamp_micros(1_700_000_000_123_456 + number).unwrap();
    let word = WORDS[number as usize % WORDS.len()];
    let is_there = |column: i64| number % 9 != column;
    (
        format!("{number:04}"),
        is_there(1).then_some(i64::MIN + number),
        is_there(2).then_some(number % 2 == 0),
        is_there(3).then_some(at),
        is_there(4).then(|| number.to_be_bytes().to_vec()),
        is_there(5).then(|| Json(json!({ "b": [1, null, word], "a": number }))),
        is_there(6).then_some(Dec(u128::MAX - number as u128)),
        is_there(7).then(|| word.to_owned()),
    )
}

async fn insert(tx: &mut Tx, things: &[Thing]) -> u64 {
    sql("insert into things (id, number, flag, at, bytes, fields, large, word)")
        .values(things, |(id, number, flag, at, bytes, fields, large, word)| {
            (id, *number, *flag, *at, bytes, fields, *large, word)
        })
        .execute(tx)
        .await
        .unwrap()
}

/// Takes number and fields from each thing.
async fn update(tx: &mut Tx, things: &[Thing]) -> u64 {
    sql("update things set number = v.column2, fields = v.column3, at = v.column4 from (")
        .values(things, |(id, _, _, at, ..)| (id, None::<i64>, None::<Json<Value>>, *at))
        .with(") as v where things.id = v.column1 and things.id >= ", "0000")
        .execute(tx)
        .await
        .unwrap()
}

async fn among(tx: &mut Tx, condition: &'static str, ids: &[&str]) -> Vec<String> {
    let found = sql("select id from things where id >= $1 and id ").bind("0000").push(condition).list(ids);
    found.push(") order by id").scalars(tx).await.unwrap()
}

on_both_databases! {
    async fn any_number_of_rows_is_stored_changed_and_found_with_every_value_and_null(database: Database) {
        let db = open_at(&database.url(), Clock::System).await;
        let mut tx = db.begin().await.unwrap();
        sql(TABLE).execute(&mut tx).await.unwrap();
        for count in [0, 1, 2, 63, 64, 65, 1_000] {
            let things: Vec<Thing> = (0..count).map(thing).collect();
            assert_eq!(insert(&mut tx, &things).await, things.len() as u64);
            assert_eq!(sql(READ).rows::<Thing>(&mut tx).await.unwrap(), things);
            assert_eq!(update(&mut tx, &things[..things.len() / 2]).await, count as u64 / 2);
            let mut changed = things.clone();
            for thing in &mut changed[..things.len() / 2] {
                (thing.1, thing.5) = (None, None);
            }
            assert_eq!(sql(READ).rows::<Thing>(&mut tx).await.unwrap(), changed);
            let ids: Vec<&str> = things.iter().map(|thing| thing.0.as_str()).collect();
            let (some, others) = ids.split_at(ids.len() / 3);
            assert_eq!(among(&mut tx, "in (", some).await, some);
            assert_eq!(among(&mut tx, "not in (", some).await, others);
            assert_eq!(sql("delete from things").execute(&mut tx).await.unwrap(), count as u64);
        }
    }
}

const PARTS: &str =
    "create table parts (id text primary key, thing text not null references things (id), number bigint)";

/// Adds a thing.
async fn add(tx: &mut Tx, id: &str) {
    sql("insert into things (id, number) values ($1, 0)").bind(id).write(tx).await.unwrap();
}

/// Raises the number of a thing that has this one.
async fn raise(tx: &mut Tx, id: &str, from: i64) -> muniment_domain::Result<()> {
    sql("update things set number = number + 1 where id = $1 and number = $2")
        .bind((id, from))
        .write_exactly(tx, 1, "thing", id)
        .await
}

async fn numbers(tx: &mut Tx) -> Vec<(String, i64)> {
    sql("select id, number from things order by id").rows(tx).await.unwrap()
}

/// A database with two tables, and nothing in them.
async fn with_tables(database: &Database) -> Db {
    let db = open_at(&database.url(), Clock::System).await;
    let mut tx = db.begin().await.unwrap();
    sql(TABLE).execute(&mut tx).await.unwrap();
    sql(PARTS).execute(&mut tx).await.unwrap();
    tx.commit(Point::Housekeeping).await.unwrap();
    db
}

/// Stores items of an operation for these subscriptions.
async fn assign(tx: &mut Tx, op: &Operation, ids: &[&str]) -> muniment_domain::Result<()> {
    let item = |id: &&str| Item { subject_id: (*id).to_owned(), wallet_address: Hex(Address::ZERO), quantity: Dec(1) };
    let items: Vec<Item> = ids.iter().map(item).collect();
    operation_item::insert_all(tx, "subscription", &items.iter().map(|item| (&op.id, item)).collect::<Vec<_>>()).await
}

on_both_databases! {
    async fn a_subject_in_another_live_operation_refuses_all_items(database: Database) {
        let db = open_at(&database.url(), Clock::System).await;
        let mut tx = db.begin().await.unwrap();
        let mint = || new_operation(Kind::Mint, "off_1", Vec::new());
        let ops = operation::insert_all(&mut tx, vec![mint(), mint()]).await.unwrap();
        assign(&mut tx, &ops[0], &["sub_1", "sub_2"]).await.unwrap();
        tx.commit(Point::Housekeeping).await.unwrap();
        for gathers in [false, true] {
            let mut tx = db.begin().await.unwrap();
            if gathers {
                tx.gather_writes();
            }
            let refused = assign(&mut tx, &ops[1], &["sub_3", "sub_2"]).await.unwrap_err();
            assert!(matches!(refused, Error::Refused { code: Code::OperationInProgress, .. }), "{refused:?}");
        }
        let mut tx = db.begin().await.unwrap();
        sql("update operation_items set live = false").execute(&mut tx).await.unwrap();
        assign(&mut tx, &ops[1], &["sub_3", "sub_2"]).await.unwrap();
        let stored = sql("select count(*) from operation_items").scalar::<i64>(&mut tx).await.unwrap();
        assert_eq!(stored, 4, "nothing of what was refused is stored");
    }

    async fn gathered_writes_have_the_effect_of_the_same_writes_one_by_one(database: Database) {
        let db = with_tables(&database).await;
        for gathers in [false, true] {
            let mut tx = db.begin().await.unwrap();
            if gathers {
                tx.gather_writes();
            }
            // A part refers to a thing of the same statement, and a thing is changed more than once.
            add(&mut tx, "a").await;
            sql("insert into parts (id, thing, number) values ($2, $1, $3)").bind(("a", "p", 7)).write(&mut tx).await.unwrap();
            add(&mut tx, "b").await;
            raise(&mut tx, "a", 0).await.unwrap();
            raise(&mut tx, "a", 1).await.unwrap();
            let parts = sql("select thing, number from parts").rows::<(String, i64)>(&mut tx).await.unwrap();
            assert_eq!(parts, [("a".to_owned(), 7)], "a read sees them");
            raise(&mut tx, "b", 0).await.unwrap();
            sql("delete from parts where id = $1").bind("p").write(&mut tx).await.unwrap();
            tx.commit(Point::Housekeeping).await.unwrap();
            let mut tx = db.begin().await.unwrap();
            assert_eq!(numbers(&mut tx).await, [("a".to_owned(), 2), ("b".to_owned(), 1)], "gathers: {gathers}");
            assert_eq!(sql("delete from things").execute(&mut tx).await.unwrap(), 2);
            tx.commit(Point::Housekeeping).await.unwrap();
        }
    }

    async fn rows_can_be_gathered_without_any_other_write(database: Database) {
        let db = with_tables(&database).await;
        let mut tx = db.begin().await.unwrap();
        tx.gather_writes();
        sql("insert into things (id, number)").values(["a"], |id| (id, 0_i64)).write(&mut tx).await.unwrap();
        sql("insert into parts (id, thing)").values(["p", "q"], |id| (id, "a")).write(&mut tx).await.unwrap();
        tx.commit(Point::Housekeeping).await.unwrap();
        let mut tx = db.read().await.unwrap();
        assert_eq!(numbers(&mut tx).await, [("a".to_owned(), 0)]);
        assert_eq!(sql("select count(*) from parts").scalar::<i64>(&mut tx).await.unwrap(), 2);
    }

    async fn any_number_of_writes_can_be_gathered(database: Database) {
        let db = with_tables(&database).await;
        let mut tx = db.begin().await.unwrap();
        tx.gather_writes();
        for number in 0..100 {
            add(&mut tx, &format!("{number:03}")).await;
        }
        tx.commit(Point::Housekeeping).await.unwrap();
        assert_eq!(numbers(&mut db.read().await.unwrap()).await.len(), 100);
    }

    async fn a_guard_that_fails_among_gathered_writes_stores_none_of_them(database: Database) {
        let db = with_tables(&database).await;
        let written = async {
            let mut tx = db.begin().await?;
            tx.gather_writes();
            add(&mut tx, "a").await;
            sql("insert into parts (id, thing) values ('p', 'a')").write(&mut tx).await?;
            raise(&mut tx, "b", 0).await?;
            tx.commit(Point::Housekeeping).await
        };
        let failed = written.await.unwrap_err();
        assert!(matches!(&failed, Error::Stale { what: "thing", id } if id == "b"), "{failed:?}");
        assert!(numbers(&mut db.read().await.unwrap()).await.is_empty());
    }

    async fn a_guard_that_fails_is_told_before_a_row_that_exists_already(database: Database) {
        let db = with_tables(&database).await;
        let mut tx = db.begin().await.unwrap();
        add(&mut tx, "a").await;
        tx.commit(Point::Housekeeping).await.unwrap();
        // As a step that another process has signed: its attempts have the same keys.
        let rows = ["a", "b"];
        let values = sql("insert into things (id, number)").values(rows, |id| (id, 0_i64));
        let single = sql("insert into things (id, number) values ('a', 0)");
        for insert in [values, single] {
            let written = async {
                let mut tx = db.begin().await?;
                tx.gather_writes();
                sql("insert into parts (id, thing) values ('p', 'a')").write(&mut tx).await?;
                raise(&mut tx, "a", 7).await?;
                insert.write(&mut tx).await?;
                tx.commit(Point::Housekeeping).await
            };
            let failed = written.await.unwrap_err();
            assert!(matches!(&failed, Error::Stale { what: "thing", .. }), "{failed:?}");
            let mut tx = db.read().await.unwrap();
            assert_eq!(numbers(&mut tx).await, [("a".to_owned(), 0)]);
            assert_eq!(sql("select count(*) from parts").scalar::<i64>(&mut tx).await.unwrap(), 0);
        }
    }

    async fn a_gathered_row_that_exists_already_refuses_the_request_with_the_reason_given(database: Database) {
        let db = with_tables(&database).await;
        let mut tx = db.begin().await.unwrap();
        add(&mut tx, "a").await;
        tx.commit(Point::Housekeeping).await.unwrap();
        let written = async {
            let mut tx = db.begin().await?;
            tx.gather_writes();
            let rows = sql("insert into things (id, number)").values(["b", "a"], |id| (id, 0_i64));
            let refusal = Error::refused(Code::OperationInProgress, "one of them is there");
            rows.push(" on conflict do nothing").write_or(&mut tx, 2, refusal).await?;
            sql("insert into parts (id, thing)").values(["p"], |id| (id, "a")).write(&mut tx).await?;
            // As the items of an operation that is not stored: without it the reference would be refused first.
            let skips = sql("insert into parts (id, thing)").values(["q"], |id| (id, "missing"));
            skips.push(" on conflict do nothing").write(&mut tx).await?;
            tx.commit(Point::Housekeeping).await
        };
        let failed = written.await.unwrap_err();
        assert!(matches!(&failed, Error::Refused { code: Code::OperationInProgress, .. }), "{failed:?}");
        let mut tx = db.read().await.unwrap();
        assert_eq!(numbers(&mut tx).await, [("a".to_owned(), 0)]);
        assert_eq!(sql("select count(*) from parts").scalar::<i64>(&mut tx).await.unwrap(), 0);
    }

    async fn a_savepoint_takes_gathered_writes_back(database: Database) {
        let db = with_tables(&database).await;
        let mut tx = db.begin().await.unwrap();
        tx.gather_writes();
        add(&mut tx, "a").await;
        tx.savepoint().await.unwrap();
        add(&mut tx, "b").await;
        tx.rollback_to_savepoint().await.unwrap();
        add(&mut tx, "c").await;
        tx.commit(Point::Housekeeping).await.unwrap();
        let stored = numbers(&mut db.read().await.unwrap()).await;
        assert_eq!(stored, [("a".to_owned(), 0), ("c".to_owned(), 0)]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_runs_gathered_writes_as_one_statement() {
    let database = Database::fresh(Engine::Postgres).await;
    let db = with_tables(&database).await;
    let mut tx = db.begin().await.unwrap();
    let (statements, _following) = Statements::follow();
    tx.gather_writes();
    add(&mut tx, "a").await;
    sql("insert into parts (id, thing) values ('p', 'a')").write(&mut tx).await.unwrap();
    add(&mut tx, "b").await;
    assert!(statements.texts().is_empty(), "they wait");
    tx.commit(Point::Housekeeping).await.unwrap();
    let texts = statements.texts();
    assert_eq!(texts.iter().filter(|text| text.contains("things")).count(), 1, "{texts:#?}");
}

/// The statements that the connection of a transaction has prepared.
async fn prepared(tx: &mut Tx) -> Vec<String> {
    sql("select statement from pg_prepared_statements order by statement").scalars(tx).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_prepares_the_same_texts_for_any_number_of_rows() {
    let database = Database::fresh(Engine::Postgres).await;
    let db = open_at(&database.url(), Clock::System).await;
    let mut tx = db.begin().await.unwrap();
    sql(TABLE).execute(&mut tx).await.unwrap();
    let mut first = Vec::new();
    for count in [1, 2, 3, 5, 17, 64, 100, 999] {
        let things: Vec<Thing> = (0..count).map(thing).collect();
        let ids: Vec<&str> = things.iter().map(|thing| thing.0.as_str()).collect();
        insert(&mut tx, &things).await;
        update(&mut tx, &things).await;
        among(&mut tx, "in (", &ids).await;
        let ids: Vec<OperationId> = ids.into_iter().map(Into::into).collect();
        assert!(operation::find_all(&mut tx, &ids.iter().collect::<Vec<_>>()).await.unwrap().is_empty());
        sql("delete from things").execute(&mut tx).await.unwrap();
        // One row, and a set of one element, have texts of their own.
        if count <= 2 {
            prepared(&mut tx).await;
            first = prepared(&mut tx).await;
            assert!(first.len() > 5, "{first:#?}");
        }
        assert_eq!(prepared(&mut tx).await, first, "{count} rows");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_keeps_the_plan_for_a_set_of_one() {
    let database = Database::fresh(Engine::Postgres).await;
    let db = with_tables(&database).await;
    let mut tx = db.begin().await.unwrap();
    for _ in 0..10 {
        among(&mut tx, "in (", &["a"]).await;
    }
    let kept = sql("select sum(generic_plans)::bigint from pg_prepared_statements where statement like '%[])[1])%'");
    assert!(kept.scalar::<i64>(&mut tx).await.unwrap() > 0);
}
