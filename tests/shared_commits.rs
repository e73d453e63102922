//! Commits that several moves share: one sync for all of them, and each still ends as if it had its own.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use muniment_domain::clock::Clock;
use muniment_domain::db::{Db, Tx};
use muniment_domain::point::{Point, When, plan};
use muniment_domain::sql::sql;
use muniment_domain::{Error, Result, event};
use muniment_workflows::engine::commits::{Commits, Patience, Writes};
use serde_json::json;
use world::{Database, on_both_databases};

use crate::installation::open_at;

const NOW: Duration = Duration::ZERO;
const SOON: Duration = Duration::from_millis(25);
/// Longer than a test may take.
const LONG: Duration = Duration::from_secs(3_600);

/// Adds a row and an event about it, and then changes a row that must be there.
struct Add {
    id: &'static str,
    needs: &'static str,
}

impl Writes for Add {
    fn write<'a>(&'a self, tx: &'a mut Tx) -> BoxFuture<'a, Result<()>> {
        self.add(tx).boxed()
    }
}

impl Add {
    async fn add(&self, tx: &mut Tx) -> Result<()> {
        sql("insert into things (id, number)").values([self.id], |id| (id, 0)).write(tx).await?;
        event::write(tx, "lane.low_funds", "lane", self.id, 1, json!({})).await?;
        sql("update things set number = number + 1 where id = $1")
            .bind(self.needs)
            .write_exactly(tx, 1, "thing", self.needs)
            .await
    }
}

fn add(id: &'static str, needs: &'static str) -> Arc<dyn Writes> {
    Arc::new(Add { id, needs })
}

async fn database(database: &Database) -> Db {
    let db = open_at(&database.url(), Clock::System).await;
    let mut tx = db.begin().await.unwrap();
    sql("create table things (id text primary key, number bigint not null)").execute(&mut tx).await.unwrap();
    sql("insert into things (id, number) values ('first', 0)").execute(&mut tx).await.unwrap();
    tx.commit(Point::Housekeeping).await.unwrap();
    plan::seen();
    db
}

fn shared() -> Commits {
    let commits = Commits::default();
    commits.share();
    commits
}

async fn ids(db: &Db) -> Vec<String> {
    let rows = sql("select id from things where id <> 'first' order by id");
    rows.scalars(&mut db.read().await.unwrap()).await.unwrap()
}

/// The points that were passed before the first one was passed behind its commit: those of the first commit.
fn first_commit() -> Vec<Point> {
    plan::seen().into_iter().take_while(|(_, when)| *when == When::Before).map(|(point, _)| point).collect()
}

on_both_databases! {
    async fn moves_that_can_wait_are_committed_with_one_that_cannot(database: Database) {
        let (db, commits) = (self::database(&database).await, shared());
        let (waits, settled, indexed) = futures::join!(
            commits.write(&db, Point::Finalise, SOON, add("settled", "indexed")),
            commits.write(&db, Point::Index, SOON, add("indexed", "first")),
            commits.write(&db, Point::Fault, NOW, add("waits", "settled")),
        );
        assert!([waits, settled, indexed].iter().all(Result::is_ok), "each sees the writes of those before it");
        assert_eq!(first_commit(), [Point::Index, Point::Finalise, Point::Fault], "offerings are locked first");
        assert_eq!(ids(&db).await, ["indexed", "settled", "waits"]);
        let entries = sql("select action, object_id from audit_log order by object_id");
        let entries: Vec<(String, String)> = entries.rows(&mut db.read().await.unwrap()).await.unwrap();
        let own = [("index", "indexed"), ("finalise", "settled"), ("fault", "waits")];
        assert_eq!(entries, own.map(|(action, id)| (action.to_owned(), id.to_owned())), "each names its own move");
    }

    async fn sends_do_not_wait_for_what_they_do_not_need(database: Database) {
        let (db, commits) = (self::database(&database).await, shared());
        let mut settled = Box::pin(commits.write(&db, Point::Finalise, LONG, add("settled", "first")));
        assert!(futures::poll!(&mut settled).is_pending());
        let (signed, followed) = futures::join!(
            commits.write(&db, Point::Sign, SOON, add("signed", "first")),
            commits.write(&db, Point::Follow, NOW, add("followed", "signed")),
        );
        assert!(signed.is_ok() && followed.is_ok());
        assert_eq!(first_commit(), [Point::Sign, Point::Follow]);
        assert_eq!(ids(&db).await, ["followed", "signed"], "the verdict has a commit of its own");
        let (settled, indexed) =
            futures::join!(settled, commits.write(&db, Point::Index, NOW, add("indexed", "first")));
        assert!(settled.is_ok() && indexed.is_ok());
        assert_eq!(ids(&db).await, ["followed", "indexed", "settled", "signed"]);
    }

    async fn a_commit_begins_as_soon_as_all_expected_moves_wait(database: Database) {
        let (db, commits) = (self::database(&database).await, shared());
        let all = Patience::until(3, LONG);
        let (first, followed, second) = futures::join!(
            commits.write(&db, Point::Sign, all, add("first_lane", "first")),
            commits.write(&db, Point::Follow, all, add("followed", "first")),
            commits.write(&db, Point::Sign, all, add("second_lane", "first")),
        );
        assert!(first.is_ok() && followed.is_ok() && second.is_ok());
        assert_eq!(first_commit(), [Point::Sign, Point::Sign, Point::Follow]);
    }

    async fn an_expected_move_that_was_cancelled_delays_a_commit_by_its_patience_only(database: Database) {
        let (db, commits) = (self::database(&database).await, shared());
        let cancelled = Box::pin(commits.write(&db, Point::Sign, LONG, add("cancelled", "first")));
        // Polled once and dropped: it no longer counts as waiting.
        assert!(futures::poll!(cancelled).is_pending());
        commits.write(&db, Point::Follow, Patience::until(2, SOON), add("followed", "first")).await.unwrap();
        assert_eq!(first_commit(), [Point::Follow]);
        assert_eq!(ids(&db).await, ["followed"]);
    }

    async fn a_stale_move_costs_itself_alone(database: Database) {
        let (db, commits) = (self::database(&database).await, shared());
        let (settled, waits, indexed) = futures::join!(
            commits.write(&db, Point::Finalise, SOON, add("settled", "nothing")),
            commits.write(&db, Point::Fault, SOON, add("waits", "first")),
            commits.write(&db, Point::Index, NOW, add("indexed", "first")),
        );
        assert!(waits.is_ok() && indexed.is_ok());
        assert!(matches!(settled, Err(Error::Stale { id, .. }) if id == "nothing"));
        assert_eq!(first_commit(), [Point::Index, Point::Fault], "the others still share one");
        assert_eq!(ids(&db).await, ["indexed", "waits"]);
    }

    async fn a_constraint_that_refuses_a_move_does_not_refuse_the_others(database: Database) {
        let (db, commits) = (self::database(&database).await, shared());
        let (twice, followed) = futures::join!(
            commits.write(&db, Point::Sign, SOON, add("first", "first")),
            commits.write(&db, Point::Follow, NOW, add("followed", "first")),
        );
        assert!(twice.unwrap_err().is_row_error() && followed.is_ok());
        assert_eq!(ids(&db).await, ["followed"]);
    }

    async fn a_move_that_was_dropped_writes_nothing(database: Database) {
        let (db, commits) = (self::database(&database).await, shared());
        let dropped = commits.write(&db, Point::Sign, SOON, add("signed", "first"));
        assert!(tokio::time::timeout(Duration::from_millis(1), dropped).await.is_err());
        commits.write(&db, Point::Follow, NOW, add("followed", "first")).await.unwrap();
        assert_eq!(ids(&db).await, ["followed"]);
    }

    async fn a_move_that_waits_for_no_other_is_committed_alone(database: Database) {
        let (db, commits) = (self::database(&database).await, shared());
        commits.write(&db, Point::Index, SOON, add("indexed", "first")).await.unwrap();
        assert_eq!(first_commit(), [Point::Index]);
        assert_eq!(ids(&db).await, ["indexed"]);
    }

    async fn a_commit_that_is_ended_in_the_middle_is_told_to_all(database: Database) {
        let (db, commits) = (self::database(&database).await, shared());
        plan::crash_at(Point::Sign, When::Before, 1);
        let (signed, followed) = futures::join!(
            commits.write(&db, Point::Sign, SOON, add("signed", "first")),
            commits.write(&db, Point::Follow, NOW, add("followed", "first")),
        );
        assert!(signed.is_err() && followed.is_err());
        assert!(ids(&db).await.is_empty(), "nothing was written");
    }
}
