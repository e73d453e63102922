//! A suspension beside a payment that is being accepted, on PostgreSQL: whoever is suspended is not paid and gets no units.

use muniment_domain::clock::Clock;
use muniment_domain::column::Hex;
use muniment_domain::db::{Db, Tx};
use muniment_domain::point::Point;
use muniment_domain::sql::sql;
use muniment_domain::user::Role;
use muniment_domain::{distribution, offering};
use serde_json::json;
use world::{Database, Engine, Mining};

use crate::installation::{Answer, Installation, PayoutFixture, Server, Terms, open_at, wallet};

const WAITING: &str = "pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";

async fn fixture() -> (PayoutFixture, Db) {
    let fixture = PayoutFixture::new(Database::fresh(Engine::Postgres).await, 2).await;
    let db = open_at(&fixture.site.database.url(), Clock::System).await;
    (fixture, db)
}

/// Retries an operation while the suspension of an investor, which has this lock, is being written.
async fn retried_beside(site: &Installation, server: &Server, mut held: Tx, operation: &str, investor: &str) -> Answer {
    let suspended = sql("update investors set kyc_status = 'suspended' where id = $1").bind(investor);
    suspended.execute(&mut held).await.unwrap();
    let written = async {
        site.until("the retry waits", async || site.count(WAITING).await == 1).await;
        held.commit(Point::Account).await.unwrap();
    };
    tokio::join!(server.retry("retry", operation), written).0
}

async fn owner_of(fixture: &PayoutFixture, holder: usize) -> String {
    let sql = format!("select investor_id from wallets where address = '{:#x}'", wallet(holder));
    fixture.site.rows(&sql).await[0][0].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reissue_beside_it_leaves_the_investor_out() {
    let (fixture, db) = fixture().await;
    let site = &fixture.site;
    let olga = site.person(&fixture.server, "olga", Role::Operator).await;
    let id = fixture.calculated("direct_payout", "20.00").await;
    site.lanes("paused").await;
    let page = fixture.executed(&id).await.text("/operations/1/id");
    let body = json!({ "mode": "unsent", "reason": "a test" });
    assert_eq!(fixture.server.act("over", &page, "cancel", body).await.status, 202);
    let path = format!("/v1/distributions/{id}/reissue");
    let requested = fixture.server.post(&path, "again", json!({ "reason": "a test" })).await;
    let path = format!("/v1/investors/{}/suspend", owner_of(&fixture, 0).await);
    // The reissue has read the identities, and waits for the numbers of its pages.
    let mut held = db.begin().await.unwrap();
    let contract = sql("select address from contracts where address = $1").bind(Hex(fixture.token));
    contract.lock(&held).execute(&mut held).await.unwrap();
    let waits = async |count: i64| site.count(WAITING).await >= count;
    let suspension = async {
        site.until("the reissue waits", async || waits(1).await).await;
        olga.post(&path, json!({ "reason_code": "fraud" })).await
    };
    let release = async {
        let suspended = "investors where kyc_status = 'suspended'";
        let met = async || waits(2).await || site.count(suspended).await == 1;
        site.until("the suspension waits, or is written", met).await;
        drop(held);
    };
    let (approved, suspended, ()) = tokio::join!(fixture.approve(&requested), suspension, release);
    assert_eq!((approved.status, suspended.status), (202, 200), "{approved:?} {suspended:?}");
    site.lanes("active").await;
    fixture.reaches(&id, "partially_completed").await;
    let parts = fixture.parts(&id).await.into_iter();
    let reasons: Vec<_> = parts.map(|part| (part.1 == wallet(0), part.3, part.4)).collect();
    assert!(reasons.contains(&(true, "held".to_owned(), "kyc_required".to_owned())), "{reasons:?}");
    assert_eq!(fixture.sums_agree().await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_of_a_payout_beside_it_is_refused() {
    let (fixture, db) = fixture().await;
    let site = &fixture.site;
    let id = fixture.calculated("direct_payout", "20.00").await;
    site.lanes("paused").await;
    let executed = fixture.executed(&id).await;
    let [allowance, page] = [0, 1].map(|n| executed.text(&format!("/operations/{n}/id")));
    let body = json!({ "mode": "unsent", "reason": "a test" });
    assert_eq!(fixture.server.act("over", &allowance, "cancel", body).await.status, 202);
    site.lanes("active").await;
    site.settled().await;
    assert_eq!(fixture.server.state(&page).await, ("failed".to_owned(), "reverts".to_owned()));
    let mut held = db.begin().await.unwrap();
    distribution::lock_row(&mut held, &id.as_str().into()).await.unwrap();
    let retried = retried_beside(site, &fixture.server, held, &page, &owner_of(&fixture, 0).await).await;
    assert_eq!(retried.problem(), (409, "invalid_state".to_owned()), "{retried:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_of_a_mint_beside_it_is_refused() {
    let site = Installation::new(Database::fresh(Engine::Postgres).await, Mining::Quick, &[Terms::free(2)]).await;
    let (server, db) = (site.start().await, open_at(&site.database.url(), Clock::System).await);
    let mint = site.mint_refused(&server, 0).await;
    let investor = site.rows("select investor_id from subscriptions order by id").await[0][0].clone();
    let mut held = db.begin().await.unwrap();
    offering::lock_row(&mut held, &site.offerings[0].as_str().into()).await.unwrap();
    let retried = retried_beside(&site, &server, held, &mint, &investor).await;
    assert_eq!(retried.problem(), (409, "invalid_state".to_owned()), "{retried:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn it_waits_for_a_subscription_that_is_being_accepted() {
    let site = Installation::new(Database::fresh(Engine::Postgres).await, Mining::Quick, &[Terms::free(1)]).await;
    let (server, db) = (site.start().await, open_at(&site.database.url(), Clock::System).await);
    let olga = site.person(&server, "olga", Role::Operator).await;
    site.write("update subscriptions set status = 'binding'").await;
    let investor = site.rows("select investor_id from subscriptions").await[0][0].clone();
    let mut held = db.begin().await.unwrap();
    offering::lock_row(&mut held, &site.offerings[0].as_str().into()).await.unwrap();
    let path = format!("/v1/investors/{investor}/suspend");
    let accepted = async {
        site.until("the suspension waits", async || site.count(WAITING).await == 1).await;
        assert_eq!(site.count("investors where kyc_status = 'suspended'").await, 0);
        drop(held);
    };
    let (suspended, ()) = tokio::join!(olga.post(&path, json!({ "reason_code": "fraud" })), accepted);
    assert_eq!(suspended.status, 200, "{suspended:?}");
}
