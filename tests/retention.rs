//! Rows are deleted some time after their end, page by page; needed rows stay.

use chrono::{DateTime, Duration, Utc};
use muniment_domain::clock::Clock;
use muniment_domain::column::Hex;
use muniment_domain::db::{Conn, Db};
use muniment_domain::email_link::Purpose;
use muniment_domain::id::of;
use muniment_domain::idempotency::{Answer, Key};
use muniment_domain::login_attempt::Outcome;
use muniment_domain::point::Point;
use muniment_domain::session::{Lifetime, New};
use muniment_domain::sql::sql;
use muniment_domain::user::Role;
use muniment_domain::wallet_challenge::WalletChallenge;
use muniment_domain::{
    attempt_counter, email_link, idempotency, investor, login_attempt, session, user, wallet_challenge,
};
use muniment_workflows::engine::Engine;
use muniment_workflows::engine::{queue, queue_tables, sweep};
use muniment_workflows::settings::Settings;
use world::{Database, on_both_databases};

use crate::installation::{in_days, ledger_rows, open, open_at, wallet};

const TABLES: [&str; 6] =
    ["attempt_counters", "email_links", "idempotency_keys", "login_attempts", "sessions", "wallet_challenges"];
const PAGE: i64 = 2;

/// Makes one row in each table at this time, for a new user.
async fn insert_rows(database: &Database, at: DateTime<Utc>, name: &str) {
    let db = open_at(&database.url(), Clock::manual(at)).await;
    let mut tx = db.begin().await.unwrap();
    let user_id = user::insert(&mut tx, &format!("{name}@people.example"), name, Role::Investor).await.unwrap();
    let investor_id = tx.new_id::<of::Investor>();
    investor::register(&mut tx, &investor_id, &user_id, name, "PT").await.unwrap();
    attempt_counter::count(&mut tx, name, 5).await.unwrap();
    login_attempt::insert(&mut tx, Some(&user_id), "127.0.0.1", "test", Outcome::Accepted).await.unwrap();
    email_link::insert(&mut tx, &user_id, Purpose::VerifyEmail).await.unwrap();
    let new = New {
        user_id: &user_id,
        amr: "pwd",
        lifetime: Lifetime::of(false),
        ip: "127.0.0.1",
        user_agent: "test",
        device_name: None,
    };
    session::insert(&mut tx, &new).await.unwrap();
    let text = |text: &str| text.to_owned();
    let key = Key {
        principal: user_id.into(),
        method: text("POST"),
        path: text("/x"),
        key: text("one"),
        fingerprint: text("ab"),
        earlier: Vec::new(),
    };
    idempotency::store(&mut tx, &key, &Answer { status: 202, location: None, body: text("{}") }).await.unwrap();
    let (id, wallet_id) = (tx.new_id::<of::WalletChallenge>(), tx.new_id::<of::Wallet>());
    let challenge = WalletChallenge {
        id,
        wallet_id,
        investor_id,
        address: Hex(wallet(1)),
        label: None,
        chain_id: 1,
        nonce: text(name),
        message: text(name),
        expires_at: at + Duration::minutes(10),
        used_at: None,
        created_at: at,
    };
    wallet_challenge::insert(&mut tx, &challenge).await.unwrap();
    tx.commit(Point::Housekeeping).await.unwrap();
    db.close().await;
}

async fn counts(database: &Database) -> Vec<String> {
    let mut counts = Vec::new();
    for table in TABLES {
        counts.extend(ledger_rows(database, &format!("select cast(count(*) as text) from {table}")).await.concat());
    }
    counts
}

/// Deletes one page of each table; returns the counts.
async fn prune_pages(db: &Db) -> [u64; 6] {
    let mut tx = db.begin().await.unwrap();
    [
        attempt_counter::prune(&mut tx, PAGE).await.unwrap(),
        email_link::prune(&mut tx, PAGE).await.unwrap(),
        idempotency::prune(&mut tx, PAGE).await.unwrap(),
        login_attempt::prune(&mut tx, PAGE).await.unwrap(),
        session::prune(&mut tx, PAGE).await.unwrap(),
        wallet_challenge::prune(&mut tx, PAGE).await.unwrap(),
    ]
}

on_both_databases! {
    async fn ended_jobs_are_deleted_in_pages(database: Database) {
        let db = open(&database.url()).await;
        let mut tx = db.begin().await.unwrap();
        let now = tx.now();
        for number in 0..3 {
            queue::wake_id(&mut tx, queue::TIMER, &format!("tim_{number}"), now).await.unwrap();
        }
        let ended = match tx.conn {
            Conn::Sqlite(..) => "update Jobs set status = 'Done', done_at = 0",
            Conn::Postgres(..) => "update apalis.jobs set status = 'Done', done_at = '2020-01-01T00:00:00Z'",
        };
        assert_eq!(sql(ended).execute(&mut tx).await.unwrap(), 3);
        for deleted in [2, 1, 0] {
            assert_eq!(queue_tables::prune(&mut tx, 24, PAGE).await.unwrap(), deleted);
        }
        drop(tx);
        db.close().await;
    }

    async fn old_rows_are_deleted_in_pages_and_needed_rows_stay(database: Database) {
        open(&database.url()).await.close().await;
        for (number, days) in [200, 199, 198, 29].into_iter().enumerate() {
            insert_rows(&database, in_days(-days), &format!("old{number}")).await;
        }
        insert_rows(&database, in_days(0), "new").await;
        let db = open(&database.url()).await;
        assert_eq!(prune_pages(&db).await, [2; 6]);
        let engine = Engine::reader(db.clone(), Settings::default(), Vec::new());
        sweep::prune(&engine).await.unwrap();
        // Counters and stored responses stay a day; attempts, links, sessions and challenges stay some time after their end.
        db.close().await;
        drop(engine);
        assert_eq!(counts(&database).await, ["1", "2", "1", "2", "2", "2"]);
    }
}
