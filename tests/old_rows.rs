//! Lists whose rows may all be old: PostgreSQL must not look for them among the newest rows of others.

use alloy::primitives::Address;
use muniment_domain::clock::Clock;
use muniment_domain::db::{Db, Tx};
use muniment_domain::id::Ids;
use muniment_domain::point::Point;
use muniment_domain::sql::sql;
use muniment_domain::{migrate, operation, subscription};
use world::{Database, Engine};

/// A market in which the oldest subscriptions are those to the offerings of `iss_0`, in statements for PostgreSQL.
const MARKET: [&str; 4] = [
    "insert into issuers (id, name, status, version, created_at, updated_at)
     select 'iss_' || i, 'Somebody', 'active', 1, $1, $1 from generate_series(0, 49) i",
    "insert into offerings (id, issuer_id, name, status, template, currency, minimum_investment, hard_cap, unit_price, token_symbol,
         token_decimals, partition_id, issuance_policy, chain_id, token_status, version, visibility, committed_total, created_at, updated_at)
     select 'off_' || i, 'iss_' || i / 20, 'Harbour', 'open', 'real_estate_equity', 'EUR', 100000, 500000000, 100, 'HARB', 2, 1, 'rolling',
         1, 'not_deployed', 1, 'public', 0, $1, $1 from generate_series(0, 999) i",
    "insert into investors (id, legal_name, country, kyc_status, version, created_at, updated_at)
     values ('inv_1', 'Somebody', 'DE', 'approved', 1, $1, $1)",
    "insert into subscriptions (id, offering_id, investor_id, status, amount, quantity, wallet_address, cooling_off_expires_at, version,
         created_at, updated_at)
     select 'sub_' || 100000 + i, 'off_' || i / 50, 'inv_1', 'cancelled', 100000, '100000', '0x' || repeat('0', 40), $1, 1, $1, $1
     from generate_series(0, 49999) i",
];

/// A past in which the oldest operations are those of the first lane, in statements for PostgreSQL.
const PAST: [&str; 2] = [
    "insert into lanes (id, chain_id, signer, next_nonce, mode, version, created_at, updated_at)
     select 'lan_' || i, 1, '0x' || repeat(i::text, 40), 1, 'active', 1, $1, $1 from generate_series(0, 1) i",
    "insert into operations (id, kind, status, subject_type, subject_id, batch_index, chain_id, lane_id, payload, payload_sha256, cycle,
         faults, tx_hash, requested_by, idempotency_key, version, created_at, updated_at)
     select 'op_' || 100000 + i, 'deploy_token', 'confirmed', 'offering', 'off_1', 0, 1, 'lan_' || least(i / 1000, 1), '{}', '7', 1, 0,
         '0x' || lpad(i::text, 64, '0'), 'usr_1', i::text, 1, $1, $1
     from generate_series(0, 49999) i",
];

/// A database of PostgreSQL with these rows, and its planner knows them.
async fn known(statements: &[&'static str]) -> (Database, Db) {
    let server = Database::fresh(Engine::Postgres).await;
    let db = Db::open(&server.url(), 2, Clock::System, Ids::Random).await.unwrap();
    migrate::run(&db).await.unwrap();
    let mut tx = db.begin().await.unwrap();
    let now = tx.now();
    for statement in statements {
        sql(statement).bind(now).execute(&mut tx).await.unwrap();
    }
    sql("analyze").execute(&mut tx).await.unwrap();
    tx.commit(Point::Housekeeping).await.unwrap();
    (server, db)
}

/// How many rows of a table this transaction has read. What ended ones have read leaves this view.
async fn rows_read(tx: &mut Tx, table: &str) -> i64 {
    sql("select seq_tup_read + idx_tup_fetch from pg_stat_xact_user_tables where relname = $1")
        .bind(table)
        .scalar(tx)
        .await
        .unwrap()
}

#[tokio::test]
async fn the_list_of_an_issuer_reads_hardly_anything_of_others_on_postgres() {
    let (_server, db) = known(&MARKET).await;
    let tx = &mut db.read_one_moment().await.unwrap();
    let scope = subscription::Scope::Own { user_id: None, issuer_id: Some("iss_0".into()) };
    let before = rows_read(tx, "subscriptions").await;
    let page = subscription::list(tx, &scope, &subscription::Filter::default(), 20, 0).await.unwrap();
    assert_eq!((page.len(), page[0].subscription.id.as_str()), (20, "sub_100999"));
    let count = rows_read(tx, "subscriptions").await - before;
    assert!((20..=1_100).contains(&count), "{count} rows were read; the issuer has 1,000");
}

#[tokio::test]
async fn the_list_of_a_signer_reads_nothing_of_others_on_postgres() {
    let (_server, db) = known(&PAST).await;
    let tx = &mut db.read_one_moment().await.unwrap();
    let filter = operation::Filter { signer: Some(Address::ZERO), ..operation::Filter::default() };
    let before = rows_read(tx, "operations").await;
    let page = operation::list(tx, &filter, 20, 40).await.unwrap();
    assert_eq!((page.len(), page[0].id.as_str()), (20, "op_100959"));
    let count = rows_read(tx, "operations").await - before;
    assert_eq!(count, 60, "rows read");
}
