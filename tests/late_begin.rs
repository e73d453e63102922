//! A transaction that begins late: what it does is what any other does, with fewer round trips to PostgreSQL.

use muniment_domain::clock::Clock;
use muniment_domain::db::{Db, Tx};
use muniment_domain::point::Point;
use muniment_domain::sql::sql;
use muniment_domain::{Code, Error};
use world::{Database, Engine, on_both_databases};

use crate::installation::open_at;
use crate::statements::Statements;

async fn with_table(database: &Database) -> Db {
    let db = open_at(&database.url(), Clock::System).await;
    let mut tx = db.begin().await.unwrap();
    sql("create table counters (id text primary key, number bigint not null check (number < 9))")
        .execute(&mut tx)
        .await
        .unwrap();
    sql("insert into counters (id, number) values ('a', 1)").execute(&mut tx).await.unwrap();
    tx.commit(Point::Housekeeping).await.unwrap();
    db
}

async fn late(db: &Db) -> Tx {
    let mut tx = db.begin_late().await.unwrap();
    tx.gather_writes();
    tx
}

/// Raises a counter that has this number.
async fn raise(tx: &mut Tx, id: &str, from: i64) -> muniment_domain::Result<()> {
    sql("update counters set number = number + 1 where id = $1 and number = $2")
        .bind((id, from))
        .write_exactly(tx, 1, "counter", id)
        .await
}

async fn add(tx: &mut Tx, id: &str, number: i64) {
    let row = sql("insert into counters (id, number)").values([(id, number)], |(id, number)| (id, number));
    row.write(tx).await.unwrap();
}

async fn counters(tx: &mut Tx) -> Vec<(String, i64)> {
    sql("select id, number from counters order by id").rows(tx).await.unwrap()
}

async fn stored(db: &Db) -> Vec<(String, i64)> {
    counters(&mut db.read().await.unwrap()).await
}

fn row(id: &str, number: i64) -> (String, i64) {
    (id.to_owned(), number)
}

on_both_databases! {
    async fn what_a_late_transaction_writes_is_stored_by_its_commit(database: Database) {
        let db = with_table(&database).await;
        let mut tx = late(&db).await;
        assert_eq!(counters(&mut tx).await, [row("a", 1)]);
        raise(&mut tx, "a", 1).await.unwrap();
        add(&mut tx, "b", 3).await;
        assert_eq!(stored(&db).await, [row("a", 1)]);
        tx.commit(Point::Housekeeping).await.unwrap();
        assert_eq!(stored(&db).await, [row("a", 2), row("b", 3)]);
        late(&db).await.commit(Point::Housekeeping).await.unwrap();
        assert_eq!(stored(&db).await, [row("a", 2), row("b", 3)]);
    }

    async fn a_late_transaction_without_a_commit_stores_nothing(database: Database) {
        let db = with_table(&database).await;
        let mut waits = late(&db).await;
        add(&mut waits, "b", 3).await;
        drop(waits);
        let mut has_begun = late(&db).await;
        add(&mut has_begun, "b", 3).await;
        assert_eq!(counters(&mut has_begun).await, [row("a", 1), row("b", 3)], "a read sees the writes before it");
        raise(&mut has_begun, "a", 1).await.unwrap();
        assert_eq!(stored(&db).await, [row("a", 1)]);
        drop(has_begun);
        let mut executes = late(&db).await;
        sql("update counters set number = 7").execute(&mut executes).await.unwrap();
        assert_eq!(stored(&db).await, [row("a", 1)]);
        drop(executes);
        let mut returns = late(&db).await;
        let number = sql("update counters set number = 7 returning number").scalar::<i64>(&mut returns).await.unwrap();
        assert_eq!((number, stored(&db).await), (7, vec![row("a", 1)]));
        drop(returns);
        assert_eq!(stored(&db).await, [row("a", 1)]);
    }

    async fn a_guard_that_fails_stores_nothing_of_a_late_transaction(database: Database) {
        let db = with_table(&database).await;
        for (guarded, held) in [("c", 1), ("a", 2)] {
            let mut tx = late(&db).await;
            raise(&mut tx, guarded, held).await.unwrap();
            add(&mut tx, "b", 3).await;
            let failed = tx.commit(Point::Housekeeping).await.unwrap_err();
            assert!(matches!(failed, Error::Stale { .. }), "{failed:?}");
            assert_eq!(stored(&db).await, [row("a", 1)]);
        }
        // The guard of the last write, with what is told to a caller who tries again with a transaction that has begun.
        let twice = async |mut tx: Tx| {
            tx.gather_writes();
            add(&mut tx, "b", 3).await;
            let insert = sql("insert into counters (id, number) values ('a', 1) on conflict do nothing");
            insert.write_or(&mut tx, 1, Error::refused(Code::InvalidState, "It exists already.")).await?;
            tx.commit(Point::Housekeeping).await
        };
        assert!(twice(db.begin_late().await.unwrap()).await.is_err());
        let told = twice(db.begin().await.unwrap()).await.unwrap_err();
        assert!(matches!(&told, Error::Refused { code: Code::InvalidState, .. }), "{told:?}");
        assert_eq!(stored(&db).await, [row("a", 1)]);
    }

    async fn a_row_that_the_database_refuses_stores_nothing_of_a_late_transaction(database: Database) {
        let db = with_table(&database).await;
        for (id, number) in [("a", 3), ("c", 9)] {
            let mut tx = late(&db).await;
            raise(&mut tx, "a", 1).await.unwrap();
            add(&mut tx, "b", 3).await;
            sql("insert into counters (id, number)").values([(id, number)], |row| row).write(&mut tx).await.unwrap();
            let failed = tx.commit(Point::Housekeeping).await.unwrap_err();
            assert!(failed.is_row_error() && !matches!(failed, Error::Stale { .. }), "{failed:?}");
            assert_eq!(stored(&db).await, [row("a", 1)]);
        }
    }
}

/// The sessions with an open transaction, apart from this one.
async fn open_transactions(db: &Db) -> i64 {
    let open =
        sql("select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
        and state = 'idle in transaction'");
    open.scalar(&mut db.read().await.unwrap()).await.unwrap()
}

#[tokio::test]
async fn on_a_server_a_read_begins_nothing_and_a_lock_does() {
    let database = Database::fresh(Engine::Postgres).await;
    let db = with_table(&database).await;
    let mut tx = late(&db).await;
    counters(&mut tx).await;
    assert_eq!(open_transactions(&db).await, 0);
    add(&mut tx, "b", 3).await;
    assert_eq!(open_transactions(&db).await, 0, "a write that waits begins nothing");
    let locked = sql("select number from counters where id = 'a'").lock(&tx).scalar::<i64>(&mut tx).await.unwrap();
    assert_eq!((locked, open_transactions(&db).await), (1, 1));
    let mut other = db.begin().await.unwrap();
    sql("set local lock_timeout = '50ms'").execute(&mut other).await.unwrap();
    raise(&mut other, "a", 1).await.unwrap_err();
    drop(other);
    tx.commit(Point::Housekeeping).await.unwrap();
    assert_eq!((open_transactions(&db).await, stored(&db).await), (0, vec![row("a", 1), row("b", 3)]));
}

#[tokio::test]
async fn on_a_server_the_writes_of_a_late_transaction_are_one_statement() {
    let database = Database::fresh(Engine::Postgres).await;
    let db = with_table(&database).await;
    let mut tx = late(&db).await;
    counters(&mut tx).await;
    let (statements, _followed) = Statements::follow();
    raise(&mut tx, "a", 1).await.unwrap();
    add(&mut tx, "b", 3).await;
    tx.commit(Point::Housekeeping).await.unwrap();
    let texts = statements.texts();
    assert!(matches!(&texts[..], [one] if one.starts_with("with w0 as (update counters")), "{texts:?}");
}
