//! Lists use indexes for every sort order and filter: reading a page costs only that page.

use alloy::primitives::{Address, B256};
use chrono::DateTime;
use muniment_domain::clock::Clock;
use muniment_domain::db::{Db, Tx};
use muniment_domain::filter::CreatedBetween;
use muniment_domain::id::Ids;
use muniment_domain::offering::{self, Order};
use muniment_domain::sql::sql;
use muniment_domain::subscription::{self, Scope as Whose};
use muniment_domain::total::Total;
use muniment_domain::webhook::{self, Owner};
use muniment_domain::{
    api_key, approval, attempt_counter, chain, distribution, email_link, event_scope, idempotency, investor, issuer,
    login_attempt, migrate, operation, portfolio, reconciliation, session, user, wallet, wallet_challenge,
};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, Row, SqliteConnection};
use world::{Database, Engine, on_both_databases};

use crate::statements::Statements;

/// A page after the first, so that the count runs too.
const OFFSET: i64 = 40;
const LIMIT: i64 = 20;

async fn migrated(database: &Database) -> Db {
    let db = Db::open(&database.url(), 2, Clock::System, Ids::Random).await.unwrap();
    migrate::run(&db).await.unwrap();
    db
}

async fn offerings(tx: &mut Tx) {
    use offering::{Filter, Scope, Status, page};
    let (one, at) = ("iss_1".to_owned(), DateTime::UNIX_EPOCH);
    let scopes = [
        Scope::All,
        Scope::Within(one.as_str().into()),
        Scope::Org(one.into()),
        Scope::Member("usr_1".into()),
        Scope::Anybody,
    ];
    for scope in scopes {
        for order in Order::ALL {
            for statuses in [vec![], vec![Status::Open], vec![Status::Open, Status::Closed]] {
                let plain = Filter { order: *order, statuses, ..Filter::default() };
                let lately = Filter { created: CreatedBetween { from: Some(at), to: Some(at) }, ..plain.clone() };
                for filter in [plain, lately] {
                    page(tx, &scope, &filter, LIMIT, OFFSET).await.unwrap();
                }
            }
        }
    }
}

async fn subscriptions(tx: &mut Tx) {
    use subscription::{Filter, Status, list};
    let (person, issuer, at) = (Some("usr_1".to_owned()), Some("iss_1".to_owned()), DateTime::UNIX_EPOCH);
    let own = |user_id: &Option<String>, issuer_id: &Option<String>| Whose::Own {
        user_id: user_id.clone().map(Into::into),
        issuer_id: issuer_id.clone().map(Into::into),
    };
    let scopes = [Whose::All, own(&person, &None), own(&None, &issuer), own(&person, &issuer), own(&None, &None)];
    for scope in scopes {
        for offering_id in [None, Some("off_1".to_owned())] {
            for investor_id in [None, Some("inv_1".to_owned())] {
                for statuses in [vec![], vec![Status::Accepted], vec![Status::Expired, Status::Refunded]] {
                    let (offering_id, investor_id) = (offering_id.clone(), investor_id.clone());
                    let plain = Filter {
                        statuses,
                        offering_id: offering_id.map(Into::into),
                        investor_id: investor_id.map(Into::into),
                        ..Filter::default()
                    };
                    let lately = Filter { created: CreatedBetween { from: Some(at), to: Some(at) }, ..plain.clone() };
                    for filter in [plain, lately] {
                        list(tx, &scope, &filter, LIMIT, OFFSET).await.unwrap();
                    }
                }
            }
        }
        subscription::find(tx, &scope, &"sub_1".into()).await.unwrap_err();
    }
}

/// Lists that grow with the platform, in every combination of filters.
async fn ask(tx: &mut Tx) {
    offerings(tx).await;
    subscriptions(tx).await;
    let at = Some(DateTime::UNIX_EPOCH);
    let lately = CreatedBetween { from: at, to: at };
    for statuses in [vec![], vec![investor::Status::Approved]] {
        for country in [None, Some("DE".to_owned())] {
            for created in [CreatedBetween::default(), lately] {
                let (statuses, country) = (statuses.clone(), country.clone());
                let filter = investor::Filter { statuses, created, country, name: None };
                investor::page(tx, &filter, LIMIT, OFFSET).await.unwrap();
            }
        }
    }
    for statuses in [vec![], vec![user::Status::Active]] {
        for created in [CreatedBetween::default(), lately] {
            let filter = user::Filter { statuses: statuses.clone(), created };
            user::page(tx, &filter, LIMIT, OFFSET).await.unwrap();
        }
    }
    desk(tx, lately).await;
    for needs_attention in [None, Some(true)] {
        let filter = operation::Filter { needs_attention, ..operation::Filter::default() };
        operation::list(tx, &filter, LIMIT, OFFSET).await.unwrap();
        operation::count(tx, &filter).await.unwrap();
    }
    let failed = operation::Filter { statuses: vec![operation::Status::Failed], ..operation::Filter::default() };
    operation::list(tx, &failed, LIMIT, OFFSET).await.unwrap();
    operation::find_same_call(tx, 1, Address::ZERO, B256::ZERO).await.unwrap();
    operation::waiting_for(tx, 1, "paused").await.unwrap();
    operation::waiting_for_lane(tx, 1, &["lan_1".into()], Some("no_signer"), LIMIT).await.unwrap();
}

/// Lists of operators, and lists of a user's own rows.
async fn desk(tx: &mut Tx, lately: CreatedBetween) {
    for created in [CreatedBetween::default(), lately] {
        for status in [None, Some(approval::Status::Pending)] {
            for maker in [None, Some("usr_1".to_owned())] {
                let filter = approval::Filter { statuses: Vec::from_iter(status), action: None, maker, created };
                approval::list(tx, &filter, LIMIT, OFFSET).await.unwrap();
            }
        }
        for status in [None, Some(issuer::Status::Pending)] {
            let filter = issuer::Filter { statuses: Vec::from_iter(status), created };
            issuer::page(tx, &filter, LIMIT, OFFSET).await.unwrap();
        }
        for status in [None, Some(reconciliation::Status::Running)] {
            reconciliation::page(tx, &Vec::from_iter(status), created, LIMIT, OFFSET).await.unwrap();
        }
        for status in [None, Some(webhook::Status::Enabled)] {
            let filter = webhook::Filter { statuses: Vec::from_iter(status), created };
            webhook::page(tx, &Owner::Platform, &filter, LIMIT, OFFSET).await.unwrap();
        }
        for whose in [api_key::Scope::All, api_key::Scope::Own("usr_1")] {
            api_key::page(tx, whose, created, LIMIT, OFFSET).await.unwrap();
        }
        wallet::page(tx, &"inv_1".into(), created, LIMIT, OFFSET).await.unwrap();
        portfolio::locks(tx, &"inv_1".into()).await.unwrap();
        portfolio::successors(tx, &"inv_1".into()).await.unwrap();
        distributions(tx, created).await;
        for owner in [Owner::Platform, Owner::Issuer("iss_1".into()), Owner::Investor("inv_1".into())] {
            for kind in [None, Some("subscription.minted")] {
                let filter = event_scope::Filter { kind, created, after: 0 };
                event_scope::page(tx, &owner, &filter, LIMIT).await.unwrap();
            }
        }
    }
}

async fn distributions(tx: &mut Tx, created: CreatedBetween) {
    use distribution::{Filter, Scope, Status};
    let (person, issuer) = (Some("usr_1".to_owned()), Some("iss_1".to_owned()));
    for scope in [
        Scope::All,
        Scope::Own { user_id: person.map(Into::into), issuer_id: None },
        Scope::Own { user_id: None, issuer_id: issuer.map(Into::into) },
    ] {
        for statuses in [vec![], vec![Status::Draft]] {
            for offering_id in [None, Some("off_1".to_owned())] {
                let filter = Filter {
                    statuses: statuses.clone(),
                    offering_id: offering_id.map(Into::into),
                    created,
                    ..Filter::default()
                };
                distribution::list(tx, &scope, &filter, LIMIT, OFFSET).await.unwrap();
                distribution::count(tx, &scope, &filter).await.unwrap();
            }
        }
    }
}

/// Expired rows are found by age.
async fn forget(tx: &mut Tx) {
    idempotency::prune(tx, LIMIT).await.unwrap();
    login_attempt::prune(tx, LIMIT).await.unwrap();
    attempt_counter::prune(tx, LIMIT).await.unwrap();
    session::prune(tx, LIMIT).await.unwrap();
    email_link::prune(tx, LIMIT).await.unwrap();
    wallet_challenge::prune(tx, LIMIT).await.unwrap();
}

/// Tables that SQLite's plan scans completely.
async fn walked_by_sqlite(connection: &mut SqliteConnection, statement: &str) -> Vec<String> {
    let plan = connection.fetch_all(AssertSqlSafe(format!("explain query plan {statement}"))).await.unwrap();
    let lines = plan.iter().map(|row| row.get::<String, _>("detail"));
    // The page and its count are rows that were found already.
    let found = |line: &str| {
        ["SCAN page", "SCAN found", "SCAN parked", "SCAN counted", "SCAN CONSTANT"]
            .iter()
            .any(|start| line.starts_with(start))
    };
    lines.filter(|line| line.starts_with("SCAN ") && !line.contains(" USING ") && !found(line)).collect()
}

/// Tables that PostgreSQL's plan scans, when scans are discouraged.
async fn walked_by_postgres(connection: &mut PgConnection, statement: &str) -> Vec<String> {
    let parameters = (1..).take_while(|number| statement.contains(&format!("${number}"))).count();
    let values = if parameters == 0 { String::new() } else { format!("({})", vec!["null"; parameters].join(", ")) };
    connection.execute(AssertSqlSafe(format!("prepare asked as {statement}"))).await.unwrap();
    let plan = connection.fetch_all(AssertSqlSafe(format!("explain execute asked{values}"))).await.unwrap();
    connection.execute("deallocate asked").await.unwrap();
    plan.iter().map(|row| row.get::<String, _>(0)).filter(|line| line.contains("Seq Scan")).collect()
}

#[tokio::test]
async fn every_list_uses_an_index_on_both_databases() {
    let (server, file) = (Database::fresh(Engine::Postgres).await, Database::fresh(Engine::Sqlite).await);
    let db = migrated(&server).await;
    migrated(&file).await.close().await;
    let (statements, guard) = Statements::follow();
    ask(&mut db.read().await.unwrap()).await;
    forget(&mut db.begin().await.unwrap()).await;
    // What a reorganisation takes back, in the commit of the follower.
    chain::rewind(&mut db.begin().await.unwrap(), 1, 1).await.unwrap();
    drop(guard);
    let mut texts = statements.texts();
    texts.sort();
    texts.dedup();
    // The names of columns are asked of PostgreSQL's own catalog.
    texts.retain(|text| !text.contains("pg_attribute"));
    assert!(texts.len() > 250, "{} statements", texts.len());
    let mut sqlite = SqliteConnection::connect(&file.url()).await.unwrap();
    let mut postgres = PgConnection::connect(&server.url()).await.unwrap();
    // A generic plan, independent of the parameter values.
    postgres.execute("set enable_seqscan = off; set plan_cache_mode = force_generic_plan").await.unwrap();
    let mut walked = Vec::new();
    for text in &texts {
        let lines = [walked_by_sqlite(&mut sqlite, text).await, walked_by_postgres(&mut postgres, text).await].concat();
        walked.extend(lines.iter().map(|line| format!("{line}: {text}")));
    }
    assert_eq!(walked, Vec::<String>::new());
    // Both planners would report a scan.
    let unserved = "select id from subscriptions where reference = $1";
    assert_eq!(walked_by_sqlite(&mut sqlite, unserved).await, ["SCAN subscriptions"]);
    assert_eq!(walked_by_postgres(&mut postgres, unserved).await.len(), 1);
}

on_both_databases! {
    async fn a_list_counts_at_most_a_thousand_rows_past_its_page(database: Database) {
        const MANY: &str = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 1100) \
            insert into users (id, email, name, status, version, created_at, updated_at) select 'usr_' || cast(1000 + i as text), \
            cast(i as text) || '@example.org', 'Somebody', 'active', 1, $1, $1 from n";
        let db = migrated(&database).await;
        let mut tx = db.begin().await.unwrap();
        let now = tx.now();
        sql(MANY).bind(now).execute(&mut tx).await.unwrap();
        for (offset, rows, total) in [
            (0, 20, Total { count: 1_000, exact: false }),
            (100, 20, Total { count: 1_100, exact: false }),
            (120, 20, Total::from(1_100)),
            (1_090, 10, Total::from(1_100)),
            (2_000, 0, Total::from(1_100)),
        ] {
            let (found, counted) = user::page(&mut tx, &user::Filter::default(), LIMIT, offset).await.unwrap();
            assert_eq!((found.len(), counted), (rows, total), "from {offset} on");
        }
    }
}
