//! Writers of the same rows on PostgreSQL: two that meet do not deadlock, and none stores beside the verdict of another.

use std::time::Duration;

use alloy::primitives::keccak256;
use muniment_domain::attempt::{self, Attempt, InBlock, SendAnswer};
use muniment_domain::clock::Clock;
use muniment_domain::column::Hex;
use muniment_domain::db::Db;
use muniment_domain::offering;
use muniment_domain::point::Point;
use muniment_domain::sql::sql;
use muniment_domain::step;
use muniment_domain::user::Role;
use world::{Database, Engine, Mining};

use crate::installation::{Installation, PASSWORD, Server, Terms, open_at};

/// Attempts in one commit, and how often two such commits meet.
const ATTEMPTS: usize = 300;
const MEETINGS: usize = 40;

/// An installation whose only attempt is sent, with its process.
async fn sent() -> (Installation, Server) {
    let mut site = Installation::new(Database::fresh(Engine::Postgres).await, Mining::Manual, &[Terms::free(1)]).await;
    site.config.chain("bump_after_seconds", "1");
    let server = site.start().await;
    assert_eq!(server.deploy("deploy", &site.offerings[0]).await.status, 202);
    site.until("it is sent", async || site.count("attempts where sends > 0").await == 1).await;
    (site, server)
}

/// Records the answers to all sends, in the order of their nonces, and takes it back.
async fn record(db: &Db, attempts: &[Attempt]) -> muniment_domain::Result<()> {
    let mut tx = db.begin().await?;
    let at = tx.now();
    let answer = |a: &Attempt| SendAnswer { tx_hash: a.tx_hash.0, at, answer: "accepted".to_owned() };
    attempt::record_sends(&mut tx, attempts[0].chain_id, &attempts.iter().map(answer).collect::<Vec<_>>()).await
}

/// Closes all nonces, from the highest to the lowest, and takes it back.
async fn close(db: &Db, attempts: &[Attempt]) -> muniment_domain::Result<()> {
    let mut tx = db.begin().await?;
    let nonces: Vec<_> = attempts.iter().rev().map(|a| (a.lane_id.as_str(), a.nonce)).collect();
    attempt::close_nonces(&mut tx, &nonces).await
}

/// Records the blocks of all attempts, in the order of their nonces, and takes it back.
async fn include(db: &Db, attempts: &[Attempt]) -> muniment_domain::Result<()> {
    attempt::record_blocks(&mut db.begin().await?, &attempts.iter().map(in_block).collect::<Vec<_>>()).await
}

/// An attempt in some block.
fn in_block(attempt: &Attempt) -> InBlock {
    InBlock {
        chain_id: attempt.chain_id,
        tx_hash: attempt.tx_hash,
        block_number: 1,
        block_hash: attempt.tx_hash,
        receipt: "null".to_owned(),
        answer: None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_has_the_terms_that_are_changed_while_it_is_accepted() {
    let site = Installation::new(Database::fresh(Engine::Postgres).await, Mining::Manual, &[Terms::free(1)]).await;
    let (server, offering) = (site.start().await, &site.offerings[0]);
    let db = open_at(&site.database.url(), Clock::System).await;
    let mut change = db.begin().await.unwrap();
    sql("update offerings set token_symbol = 'NEWER', version = version + 1 where id = $1")
        .bind(offering)
        .execute(&mut change)
        .await
        .unwrap();
    let (accepted, ()) = tokio::join!(server.deploy("deploy", offering), async {
        site.until("it waits for the change", async || site.count("pg_locks where not granted").await == 1).await;
        change.commit(Point::Housekeeping).await.unwrap();
    });
    assert_eq!(accepted.status, 202, "{accepted:?}");
    assert_eq!(site.count("operations where payload -> 'deployment' ->> 'symbol' = 'NEWER'").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn writers_of_the_same_attempts_do_not_deadlock() {
    let (site, server) = sent().await;
    drop(server);
    let db = open_at(&site.database.url(), Clock::System).await;
    let mut tx = db.begin().await.unwrap();
    let first = sql("select * from attempts").row::<Attempt>(&mut tx).await.unwrap();
    let more: Vec<_> = (1..ATTEMPTS as i64)
        .map(|number| Attempt {
            number: first.number + number,
            nonce: first.nonce + number,
            tx_hash: Hex(keccak256(number.to_be_bytes())),
            ..first.clone()
        })
        .collect();
    attempt::insert(&mut tx, &more).await.unwrap();
    tx.commit(Point::Sign).await.unwrap();
    let all = attempt::open_of_lane(&mut db.read().await.unwrap(), &first.lane_id).await.unwrap();
    assert_eq!(all.len(), ATTEMPTS);
    for meeting in 0..MEETINGS {
        let (recorded, closed, included) = tokio::join!(record(&db, &all), close(&db, &all), include(&db, &all));
        for result in [recorded, closed, included] {
            assert!(result.is_ok(), "meeting {meeting}: {result:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_block_of_a_transaction_stores_the_answer_to_its_send() {
    let (site, server) = sent().await;
    drop(server);
    let db = open_at(&site.database.url(), Clock::System).await;
    let read = async || sql("select * from attempts").row::<Attempt>(&mut db.read().await.unwrap()).await.unwrap();
    let first = read().await;
    let answer = SendAnswer { tx_hash: first.tx_hash.0, at: first.signed_at, answer: "noted".to_owned() };
    let after = async |answer: Option<SendAnswer>| {
        let mut tx = db.begin().await.unwrap();
        attempt::record_blocks(&mut tx, &[InBlock { answer, ..in_block(&first) }]).await.unwrap();
        tx.commit(Point::Follow).await.unwrap();
        read().await
    };
    let without = after(None).await;
    assert_eq!(
        (without.sends, without.sent_at, without.last_answer),
        (first.sends, first.sent_at, first.last_answer.clone())
    );
    let with = after(Some(answer)).await;
    assert_eq!(
        (with.sends, with.sent_at, with.last_answer.as_deref()),
        (first.sends + 1, Some(first.signed_at), Some("noted"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_higher_fee_waits_for_whoever_has_the_step() {
    let (site, _server) = sent().await;
    let id = site.rows("select id from operations").await.concat().remove(0);
    let db = open_at(&site.database.url(), Clock::System).await;
    // As the commit that settles the step, which takes its time.
    let mut settling = db.begin().await.unwrap();
    step::lock_row(&mut settling, &id.as_str().into(), 0).await.unwrap();
    let bumps = async || site.count("attempts where kind = 'bump'").await;
    for _ in 0..8 {
        site.mine_above_offers().await;
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert_eq!(bumps().await, 0, "nothing is stored beside a verdict");
    }
    drop(settling);
    site.until("the fee is raised afterwards", async || {
        site.mine_above_offers().await;
        bumps().await > 0
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_with_the_old_password_ends_with_the_change() {
    let site = Installation::new(Database::fresh(Engine::Postgres).await, Mining::Quick, &[Terms::free(1)]).await;
    let server = site.start().await;
    let person = site.person(&server, "olga", Role::Operator).await;
    // The change of the password is under way.
    let db = open_at(&site.database.url(), Clock::System).await;
    let mut held = db.begin().await.unwrap();
    let changed = sql("update users set password_hash = 'another' where id = $1").bind(&person.id);
    changed.execute(&mut held).await.unwrap();
    let waiting = "pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    let change = async {
        site.until("the login waits", async || site.count(waiting).await == 1).await;
        held.commit(Point::Account).await.unwrap();
    };
    let (login, ()) = tokio::join!(server.log_in(&person.email, PASSWORD), change);
    assert_eq!(login.problem(), (401, "invalid_credentials".to_owned()), "{login:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_mints_under_one_key_at_two_processes_the_second_is_refused_as_a_reuse() {
    let terms = [Terms::free(1), Terms::free(1)];
    let site = Installation::new(Database::fresh(Engine::Postgres).await, Mining::Quick, &terms).await;
    let (one, other) = (site.start().await, site.start().await);
    for offering in &site.offerings {
        assert_eq!(one.deploy(offering, offering).await.status, 202);
    }
    site.settled().await;
    // Both have asked for the key, and wait for their offerings.
    let db = open_at(&site.database.url(), Clock::System).await;
    let mut held = db.begin().await.unwrap();
    for offering in &site.offerings {
        offering::lock_row(&mut held, &offering.as_str().into()).await.unwrap();
    }
    let waiting = "pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    let release = async {
        site.until("both wait", async || site.count(waiting).await == 2).await;
        drop(held);
    };
    let (first, second) = (one.mint("mint", &site.offerings[0]), other.mint("mint", &site.offerings[1]));
    let (first, second, ()) = tokio::join!(first, second, release);
    let (accepted, refused) = if first.status == 202 { (first, second) } else { (second, first) };
    assert_eq!(accepted.status, 202, "{accepted:?}");
    assert_eq!(refused.problem(), (422, "idempotency_key_reuse".to_owned()), "{refused:?}");
    site.settled().await;
    assert_eq!(site.exactly_once().await.minted, 1);
}
