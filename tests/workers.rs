//! Several processes on one database share the work, and a dead or sleeping one does no harm.

use std::time::{Duration, Instant};

use futures::future::join_all;
use muniment_domain::clock::Clock;
use muniment_domain::db::{Db, PUSHED, Pools, Tx};
use muniment_domain::id::Ids;
use muniment_domain::migrate;
use muniment_domain::point::Point;
use muniment_domain::sql::sql;
use sqlx::postgres::PgListener;
use world::{Binary, Database, Engine, Mining};

use crate::installation::{Installation, Server, Terms};

const OFFERINGS: usize = 10;
/// Longer than a lease.
const SLEEP: Duration = Duration::from_secs(20);

struct Processes {
    site: Installation,
    apis: Vec<Server>,
    workers: Vec<Binary>,
}

async fn processes(apis: usize, workers: usize) -> Processes {
    let database = Database::fresh(Engine::Postgres).await;
    let terms = vec![Terms::locked(6); OFFERINGS];
    // Blocks are slow, so that every operation is in flight for a while.
    let mut site = Installation::with_signers(database, Mining::Every(2), &terms, 2).await;
    site.config.engine("mint_page_holders", 2);
    let mut processes = Processes { apis: Vec::new(), workers: Vec::new(), site };
    for _ in 0..apis {
        processes.apis.push(processes.site.serve(processes.site.launch(&["api"])).await);
    }
    for _ in 0..workers {
        processes.workers.push(processes.site.launch(&["worker"]).spawn());
    }
    processes.site.until("a worker has contacted the chain", async || processes.site.count("lanes").await == 2).await;
    processes
}

impl Processes {
    /// Requests every deployment, each at another API process.
    async fn deploy_all(&self) {
        for (number, offering) in self.site.offerings.iter().enumerate() {
            let api = &self.apis[number % self.apis.len()];
            assert_eq!(api.deploy(&format!("deploy-{number}"), offering).await.status, 202);
        }
    }

    async fn mint_all(&self) {
        for (number, offering) in self.site.offerings.iter().enumerate() {
            let api = &self.apis[(number + 1) % self.apis.len()];
            assert_eq!(api.mint(&format!("mint-{number}"), offering).await.status, 202);
        }
    }

    /// The worker that holds the chain's lease.
    async fn leader(&self) -> usize {
        let lease = "select holder from leases where name like 'chain:%'";
        self.site.until("a worker holds the chain's lease", async || !self.site.rows(lease).await.is_empty()).await;
        let holder = self.site.rows(lease).await[0][0].clone();
        self.workers.iter().position(|worker| worker.log().contains(&holder)).unwrap()
    }

    async fn all_happened_once(&self) {
        self.site.settled().await;
        let report = self.site.exactly_once().await;
        assert_eq!((report.deployed, report.minted, report.attention), (OFFERINGS, 3 * OFFERINGS, 0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn four_workers_and_two_apis_share_the_work() {
    let processes = processes(2, 4).await;
    processes.deploy_all().await;
    processes.site.settled().await;
    processes.mint_all().await;
    processes.all_happened_once().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_workers_take_over_from_a_killed_one() {
    let mut processes = processes(1, 3).await;
    processes.deploy_all().await;
    processes.site.until("work is under way", async || processes.site.count("attempts where open").await > 2).await;
    let leader = processes.leader().await;
    processes.workers[leader].kill();
    processes.site.settled().await;
    processes.mint_all().await;
    processes.site.until("work is under way", async || processes.site.count("attempts where open").await > 2).await;
    let unfinished = processes.site.unfinished().await;
    let heir = processes.leader().await;
    assert_ne!(heir, leader);
    processes.workers[heir].kill();
    assert!(unfinished > 0, "the kill interrupted nothing");
    processes.all_happened_once().await;
}

/// Longer than a lease: when it wakes up, other workers hold all its leases.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_frozen_past_its_leases_does_no_harm() {
    let processes = processes(1, 2).await;
    processes.deploy_all().await;
    processes.site.until("work is under way", async || processes.site.count("attempts where open").await > 2).await;
    let sleeper = processes.leader().await;
    processes.workers[sleeper].freeze();
    let held = processes.site.unfinished().await;
    let asleep = Instant::now();
    processes.site.until("the other worker finished everything", async || processes.site.unfinished().await == 0).await;
    assert_ne!(processes.leader().await, sleeper);
    tokio::time::sleep(SLEEP.saturating_sub(asleep.elapsed())).await;
    processes.mint_all().await;
    processes.workers[sleeper].thaw();
    assert!(held > 0, "the sleep interrupted nothing");
    processes.all_happened_once().await;
}

/// A process may be stopped between two statements. Its row locks must not last until it continues.
#[tokio::test]
async fn a_stalled_transaction_loses_its_locks() {
    const TAKE: &str = "insert into leases (name, holder, holder_key, until) values ('sweep', $1, 1, $2)";
    let database = Database::fresh(Engine::Postgres).await;
    let db = Db::open(&database.url(), 2, Clock::System, Ids::Random).await.unwrap();
    migrate::run(&db).await.unwrap();
    let mut stopped = db.begin().await.unwrap();
    let until = stopped.now();
    sql(TAKE).bind(("stopped", until)).execute(&mut stopped).await.unwrap();
    let mut other = db.begin().await.unwrap();
    sql(TAKE).bind(("other", until)).execute(&mut other).await.unwrap();
    other.commit(Point::Lease).await.unwrap();
    assert!(stopped.commit(Point::Lease).await.is_err(), "both hold the lease");
}

/// Statements of the engine may take longer than those of a request, and migrations have no limit.
#[tokio::test(flavor = "multi_thread")]
async fn request_statements_time_out_before_engine_statements() {
    let database = Database::fresh(Engine::Postgres).await;
    let db = Db::open(&database.url(), 2, Clock::System, Ids::Random).await.unwrap();
    for (db, expected) in [(db.for_requests(2), "5s"), (db, "30s")] {
        let mut tx = db.read().await.unwrap();
        let limit: String = sql("show statement_timeout").scalar(&mut tx).await.unwrap();
        assert_eq!(limit, expected);
        drop(tx);
        db.close().await;
    }
}

/// The process of the server behind a connection.
async fn backend(tx: &mut Tx) -> i64 {
    sql("select cast(pg_backend_pid() as bigint)").scalar(tx).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_of_requests_is_kept_for_the_next_one_and_replaced_when_it_is_dead() {
    let database = Database::fresh(Engine::Postgres).await;
    let engine = Db::open(&database.url(), 2, Clock::System, Ids::Random).await.unwrap();
    let requests = engine.for_requests(1);
    let Pools::Postgres(pool) = requests.pools().clone() else { panic!("it is on a server") };
    let first = backend(&mut requests.read().await.unwrap()).await;
    assert_eq!((pool.size(), pool.num_idle()), (1, 0), "it is not with the pool");
    // What is not committed is undone before the next request has the connection.
    let mut tx = requests.begin().await.unwrap();
    sql("create table undone (id bigint)").execute(&mut tx).await.unwrap();
    assert_eq!(backend(&mut tx).await, first);
    drop(tx);
    let mut tx = requests.begin().await.unwrap();
    assert!(!sql("select to_regclass('undone') is not null").scalar::<bool>(&mut tx).await.unwrap());
    assert_eq!(backend(&mut tx).await, first);
    // A connection whose answer may still come is not kept.
    assert!(sql("select 1 / 0").scalar::<i32>(&mut tx).await.is_err());
    drop(tx);
    let mut tx = requests.read().await.unwrap();
    let kept = backend(&mut tx).await;
    drop(tx);
    let end = sql("select pg_terminate_backend(cast($1 as int))").bind(kept);
    assert!(end.scalar::<bool>(&mut engine.begin().await.unwrap()).await.unwrap());
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_ne!(backend(&mut requests.read().await.unwrap()).await, kept, "a dead one is replaced");
    // Without requests the pool has it again, and ends it after its own time.
    let start = Instant::now();
    while pool.num_idle() == 0 {
        assert!(start.elapsed() < Duration::from_secs(20), "it is kept for ever");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    drop(requests.read().await.unwrap());
    requests.close().await;
    assert_eq!(pool.size(), 0);
    assert!(requests.read().await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_engine_keeps_connections_and_leaves_the_queue_its_share() {
    let database = Database::fresh(Engine::Postgres).await;
    // How many the engine has at most, and how many are left for the queue.
    for (connections_max, most, left) in [(10, 7, 3), (6, 3, 3), (5, 5, 0)] {
        let engine = Db::open(&database.url(), connections_max, Clock::System, Ids::Random).await.unwrap();
        let Pools::Postgres(pool) = engine.pools().clone() else { panic!("it is on a server") };
        let (mut readers, mut of_the_queue) = (Vec::new(), Vec::new());
        for _ in 0..most {
            readers.push(engine.read().await.unwrap());
        }
        let one_more = tokio::time::timeout(Duration::from_millis(200), engine.read()).await;
        assert!(one_more.is_err(), "of {connections_max}");
        for _ in 0..left {
            of_the_queue.push(pool.acquire().await.unwrap());
        }
        assert!(pool.try_acquire().is_none(), "of {connections_max}");
        drop((readers, of_the_queue));
        engine.close().await;
        assert_eq!(pool.size(), 0);
    }
    // The last handle may be dropped when no runtime is left.
    let engine = Db::open(&database.url(), 10, Clock::System, Ids::Random).await.unwrap();
    backend(&mut engine.read().await.unwrap()).await;
    std::thread::spawn(move || drop(engine)).join().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_names_the_queue_of_a_new_job_to_the_others_after_the_commit() {
    let site =
        Installation::new(Database::fresh(Engine::Postgres).await, Mining::Manual, &[Terms::free(1); OFFERINGS]).await;
    // The engine names the platform's contracts at its first start.
    site.start().await.process.kill();
    let mut others = PgListener::connect(&site.database.url()).await.unwrap();
    others.listen(PUSHED).await.unwrap();
    let api = site.serve(site.launch(&["api"])).await;
    assert_eq!(api.deploy("deploy-0", &site.offerings[0]).await.status, 202);
    assert_eq!(others.recv().await.unwrap().payload(), "deploy");
    // The library's own notification is part of the commit, and such commits wait for each other.
    assert_eq!(site.count("pg_trigger where tgname = 'notify_workers'").await, 0);
    // What is committed while the server is being told is told as well.
    let accepted = site.offerings[1..].iter().map(|offering| api.deploy(offering, offering));
    assert!(join_all(accepted).await.iter().all(|answer| answer.status == 202));
    assert_eq!(others.recv().await.unwrap().payload(), "deploy");
}
