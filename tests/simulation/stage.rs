//! What a seed starts from: one database a thread, emptied between seeds, with offerings whose tokens are to be made and minted.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use alloy::primitives::{Address, B256};
use chrono::{DateTime, Utc};
use muniment_activities::config::Profile;
use muniment_activities::signer::Signer;
use muniment_domain::clock::Clock;
use muniment_domain::db::{Conn, Db, Pools, Tx};
use muniment_domain::id::{Ids, of};
use muniment_domain::money::Money;
use muniment_domain::offering::choice::{IssuancePolicy, Template};
use muniment_domain::offering::{self, Offering, Status};
use muniment_domain::point::Point;
use muniment_domain::sql::{Row, Sql, sql};
use muniment_domain::subscription::{self, NewAccepted};
use muniment_domain::{Result, investor, migrate};
use sqlx::{PgPool, SqlitePool};
use world::{Cluster, Engine, Postgres, Seed};

use crate::refused::{STALE_VERSION, STOPPED_LANE_SIGNED};

pub const CHAIN: i64 = 31_337;
/// The second at which every seed begins.
const BEGIN: i64 = 1_800_000_000;
/// Connections to a server: two moves at once, and who watches their locks.
const CONNECTIONS: u32 = 8;

/// What a thread keeps from seed to seed.
pub struct Stage {
    pub db: Db,
    pub signers: Vec<Signer>,
    clock: Arc<AtomicI64>,
    ids: Arc<Mutex<u64>>,
    /// Empties all tables.
    empty: String,
    /// Dropped last: the server's database is deleted with it.
    _server: Option<Postgres>,
}

impl Stage {
    /// Opens and migrates the thread's database: in memory, or on a server.
    pub async fn open(engine: Engine) -> Self {
        let (clock, ids) = (Arc::new(AtomicI64::new(BEGIN * 1_000_000)), Arc::new(Mutex::new(0)));
        let server = match engine {
            Engine::Sqlite => None,
            Engine::Postgres => {
                let cluster = tokio::task::spawn_blocking(Cluster::shared).await.expect("the cluster starts");
                Some(cluster.database().await)
            }
        };
        let url = server.as_ref().map_or_else(|| "sqlite::memory:".to_owned(), Postgres::url);
        let db = Db::open(&url, CONNECTIONS, Clock::Manual(clock.clone()), Ids::Seeded(ids.clone())).await;
        let db = db.expect("a database");
        migrate::run(&db).await.expect("migrations");
        muniment_workflows::engine::queue_tables::migrate(&db).await.expect("the queue's migrations");
        if let Pools::Sqlite { write, .. } = db.pools() {
            watch(write).await;
        }
        let empty = empty(&db).await;
        let key = |n: u8| Signer::raw(B256::repeat_byte(n), Profile::Development).expect("a key of the curve");
        Self { db, signers: vec![key(0x11), key(0x22)], clock, ids, empty, _server: server }
    }

    /// The rows of a statement.
    pub async fn rows<T: Row>(&self, statement: Sql) -> Vec<T> {
        let mut tx = self.db.read().await.expect("a transaction");
        statement.rows(&mut tx).await.expect("rows")
    }

    /// Writes, as nobody of the platform does.
    pub async fn write(&self, statement: Sql) {
        let mut tx = self.db.begin_unsynced().await.expect("a transaction");
        statement.execute(&mut tx).await.expect("a write");
        match tx.conn {
            Conn::Sqlite(open, _) => open.commit().await,
            Conn::Postgres(open, _) => open.commit().await,
        }
        .expect("a commit");
    }

    /// The server's connections, if the database is on one.
    pub fn server(&self) -> Option<PgPool> {
        match self.db.pools() {
            Pools::Sqlite { .. } => None,
            Pools::Postgres(pool) => Some(pool.clone()),
        }
    }

    /// The queue's jobs that are due, with their payloads.
    pub async fn due_jobs(&self) -> Vec<(String, Vec<u8>)> {
        let now = self.db.clock().now();
        let due = match self.server() {
            None => sql("select id, job from Jobs where status = 'Pending' and run_at <= $1 order by id")
                .bind(now.timestamp()),
            Some(_) => {
                sql("select id, job from apalis.jobs where status = 'Pending' and run_at <= $1 order by id").bind(now)
            }
        };
        self.rows(due).await
    }

    /// A job is taken out of the queue, or all are.
    pub async fn delete_jobs(&self, id: Option<&str>) {
        let delete = sql(if self.server().is_some() { "delete from apalis.jobs" } else { "delete from Jobs" });
        self.write(delete.with_some(" where id = ", id)).await;
    }

    /// Empties the database and sets clock and ids to their beginning.
    pub async fn reset(&self, seed: u64) {
        self.clock.store(BEGIN * 1_000_000, Ordering::SeqCst);
        *self.ids.lock().expect("no thread panicked with it") = seed;
        let empty = sqlx::raw_sql(sqlx::AssertSqlSafe(self.empty.clone()));
        match self.db.pools() {
            Pools::Sqlite { write, .. } => empty.execute(write).await.map(drop),
            Pools::Postgres(pool) => empty.execute(pool).await.map(drop),
        }
        .expect("empty tables");
    }

    /// Seconds since 1970, by the seed's clock.
    pub fn now(&self) -> u64 {
        self.db.clock().now().timestamp().cast_unsigned()
    }

    pub fn milliseconds(&self) -> impl Fn() -> u64 + Send + Sync + use<> {
        let clock = self.clock.clone();
        move || clock.load(Ordering::SeqCst).cast_unsigned() / 1_000
    }

    /// Stores offerings, investors and accepted subscriptions; the offerings' ids.
    pub async fn offer(&self, seed: &mut Seed) -> Result<Vec<String>> {
        let mut tx = self.db.begin().await?;
        offering::insert_issuer(&mut tx, &"iss_one".into(), "Issuer").await?;
        let investors = 3 + seed.below(4);
        for n in 0..investors {
            investor::insert(&mut tx, &format!("inv_{n}").into(), None, "Investor", "CH").await?;
            investor::insert_wallet(&mut tx, &format!("inv_{n}").into(), Address::with_last_byte(0x40 + n as u8))
                .await?;
        }
        let mut ids = Vec::new();
        for n in 0..1 + seed.below(2) {
            let id = tx.new_id::<of::Offering>();
            let locked = seed.chance(0.5).then(|| tx.now() + chrono::Duration::days(365));
            // Sometimes less than what is subscribed: then a page is refused by the cap, before or after it was signed.
            let cap = if seed.chance(0.3) { 25 * investors } else { 100_000 };
            insert_offering(&mut tx, &id, n, cap.cast_signed(), locked).await?;
            for i in 0..investors {
                let units = 10 + u128::from(seed.below(10)) + u128::from(n);
                let wallet = Address::with_last_byte(0x40 + i as u8);
                let accepted = NewAccepted {
                    offering_id: &id,
                    investor_id: &format!("inv_{i}").into(),
                    amount: Money::from_minor(1_000),
                    quantity: units,
                    wallet,
                };
                subscription::insert_accepted(&mut tx, &accepted).await?;
                // Some holders subscribed twice.
                if seed.chance(0.3) {
                    subscription::insert_accepted(&mut tx, &NewAccepted { quantity: units + 50, ..accepted }).await?;
                }
            }
            ids.push(id.into());
        }
        tx.commit(Point::Housekeeping).await?;
        Ok(ids)
    }
}

async fn insert_offering(tx: &mut Tx, id: &str, n: u64, cap: i64, lock: Option<DateTime<Utc>>) -> Result<()> {
    let now = tx.now();
    let offered = Offering {
        id: id.into(),
        issuer_id: "iss_one".into(),
        name: format!("Offering {n}"),
        status: Status::Closed,
        template: Template::RealEstateEquity,
        currency: "USD".to_owned(),
        minimum_investment: 1,
        hard_cap: cap,
        target_amount: cap,
        unit_price: 1,
        token_symbol: format!("SIM{n}"),
        token_decimals: 0,
        partition_id: 1,
        issuance_policy: IssuancePolicy::OnClose,
        lockup_release_at: lock,
        chain_id: CHAIN,
        created_at: now,
        updated_at: now,
        ..Offering::default()
    };
    offering::insert(tx, &offered).await
}

/// What the guards of the engine must see before the database does: a person stops a lane between the engine's look at it and the commit
/// that signs, or a row is written over a change that its writer has not read.
async fn watch(write: &SqlitePool) {
    let watches = format!(
        "create trigger lanes_are_watched before insert on attempts
         when new.kind = 'original' and (select mode from lanes where id = new.lane_id) <> 'active'
         begin select raise(abort, '{STOPPED_LANE_SIGNED}'); end;
         create trigger versions_are_watched before update of version on operations when new.version <> old.version + 1
         begin select raise(abort, '{STALE_VERSION}'); end;"
    );
    sqlx::raw_sql(sqlx::AssertSqlSafe(watches)).execute(write).await.expect("triggers");
}

/// The statements that empty every table. The audit log's refuse it, until a worker starts and puts that up again.
async fn empty(db: &Db) -> String {
    let (tables, before, after) = match db.pools() {
        Pools::Sqlite { .. } => (
            "select name from sqlite_master where type = 'table' and name not like '%migrations%' and name not like 'sqlite%'",
            "begin; pragma defer_foreign_keys = on;",
            "commit;",
        ),
        Pools::Postgres(_) => (
            "select table_schema || '.' || table_name from information_schema.tables where table_type = 'BASE TABLE' \
             and table_schema in ('public', 'apalis') and table_name not like '%migrations%'",
            "begin; set local session_replication_role = replica;",
            "commit;",
        ),
    };
    let mut tx = db.read().await.expect("a transaction");
    let tables: Vec<String> = sql(tables).scalars(&mut tx).await.expect("a list of tables");
    let on_server = db.is_shared();
    let each = tables.iter().map(|table| match on_server {
        true => format!("delete from {table};"),
        false => format!("drop trigger if exists {table}_is_never_deleted; delete from {table};"),
    });
    format!("{before} {} {after}", each.collect::<String>())
}
