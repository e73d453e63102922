//! Random lives of a platform: people ask for every operation there is, wallets trade by themselves, processes crash at their writes, a node
//! loses requests and answers, and operators retry, cancel and abandon. After every turn each operation has a way on: the engine comes back
//! for it, or a person has an act that ends it. At the end of each life the chain and the database must say the same:
//! balances, locks, freezes, supply and money paid. The chain is the real contracts on the embedded chain. A seed decides everything:
//! `MUNIMENT_SEED=7 cargo test -p muniment-tests --test property -- replay --nocapture`.
#![allow(missing_docs, reason = "the names of tests are their sentences")]
#![allow(clippy::unwrap_used, reason = "a failing test names its line")]

mod books;
mod exit;
mod life;
mod node;
mod payday;
mod people;
mod stage;
mod stale;

use futures::FutureExt;
use std::panic::AssertUnwindSafe;

use crate::life::Life;
use crate::stage::Stage;
use world::{Database, Engine, campaign};

/// Number of lives, unless `MUNIMENT_LIVES` says otherwise: in every run, and in the whole campaign.
const LIVES_SQLITE: (u64, u64) = (15, 60);
/// Fewer than on SQLite, because each commit passes a socket.
const LIVES_POSTGRES: (u64, u64) = (3, 8);
/// From this number on, every kind of action must have happened at least once.
const LIVES_COMPLETE: u64 = LIVES_SQLITE.1;
/// Meetings of two writers.
const MEETINGS: u64 = 200;
/// A life at whose end there is something in every book.
const EVENTFUL: u64 = 1;

fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

async fn live(url: &str, number: u64) -> Result<String, String> {
    let stage = Stage::set(url, number).await;
    let mut life = Life::begin(stage, number);
    let lived = AssertUnwindSafe(life.live()).catch_unwind().await;
    let why = match lived {
        Ok(Ok(())) => return Ok(life.story()),
        Ok(Err(why)) => why,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned())).unwrap_or_default()
        }
    };
    let again = format!("MUNIMENT_SEED={number} cargo test -p muniment-tests --test property -- replay --nocapture");
    Err(format!("life {number}: {why}\n{}\n{again}", life.story()))
}

/// A move crashes on the thread that planned it, so one thread lives one life.
fn alone<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

#[test]
fn chain_and_database_agree_after_every_life_on_sqlite() {
    let count = from_environment("MUNIMENT_LIVES").unwrap_or(campaign(LIVES_SQLITE));
    let mut done = people::Done::default();
    for number in 0..count {
        let story = alone(live("sqlite::memory:", number)).unwrap_or_else(|why| panic!("{why}"));
        done.read(&story);
    }
    println!("{done}");
    // A short run has no chance to meet them all.
    assert!(count < LIVES_COMPLETE || done.never().is_empty(), "nobody ever had done: {:?}", done.never());
}

#[test]
fn chain_and_database_agree_after_every_life_on_postgres() {
    for number in 0..from_environment("MUNIMENT_LIVES").unwrap_or(campaign(LIVES_POSTGRES)) {
        let lived = alone(async {
            let database = Database::fresh(Engine::Postgres).await;
            live(&database.url(), number).await
        });
        lived.unwrap_or_else(|why| panic!("{why}"));
    }
}

#[test]
fn of_two_writers_that_read_the_same_row_one_is_refused_on_sqlite() {
    alone(stale::meet_all("sqlite::memory:", MEETINGS)).unwrap_or_else(|why| panic!("{why}"));
}

#[test]
fn of_two_writers_that_read_the_same_row_one_is_refused_on_postgres() {
    let lived = alone(async {
        let database = Database::fresh(Engine::Postgres).await;
        stale::meet_all(&database.url(), MEETINGS).await
    });
    lived.unwrap_or_else(|why| panic!("{why}"));
}

/// Changes of the books past the platform, each with its reverse and what must be said of it.
const PLANTED: [(&str, &str, &str); 6] = [
    (
        "update holdings set balance = balance || '0'",
        "update holdings set balance = substr(balance, 1, length(balance) - 1)",
        "balances and locks",
    ),
    ("update token_accounts set frozen = not frozen", "update token_accounts set frozen = not frozen", "the frozen"),
    (
        "update token_partitions set restricted = not restricted",
        "update token_partitions set restricted = not restricted",
        "the restriction",
    ),
    (
        "update offerings set committed_total = committed_total + 1",
        "update offerings set committed_total = committed_total - 1",
        "offerings that reserved something else",
    ),
    (
        "update entitlements set net = net + 1, gross = gross + 1 where status = 'paid'",
        "update entitlements set net = net - 1, gross = gross - 1 where status = 'paid'",
        "what was paid",
    ),
    (
        "update entitlements set withholding = withholding + 1, gross = gross + 1",
        "update entitlements set withholding = withholding - 1, gross = gross - 1",
        "distributions whose parts are not the whole",
    ),
];

#[test]
fn a_planted_difference_is_found() {
    alone(async {
        let mut life = Life::begin(Stage::set("sqlite::memory:", EVENTFUL).await, EVENTFUL);
        life.live().await.unwrap();
        for (change, back, what) in PLANTED {
            life.change(change).await;
            let why = books::compare(&life).await.expect_err(change);
            assert!(why.starts_with(what), "{change}: {why}");
            life.change(back).await;
        }
        books::compare(&life).await.unwrap();
    });
}

#[test]
fn replay() {
    let number = from_environment("MUNIMENT_SEED").unwrap_or(1);
    let first = alone(live("sqlite::memory:", number)).unwrap_or_else(|why| panic!("{why}"));
    println!("{first}");
    // The same seed tells the same story, or a failure could not be lived again.
    assert_eq!(Ok(first), alone(live("sqlite::memory:", number)));
}
