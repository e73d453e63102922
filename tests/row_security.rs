//! Row security in PostgreSQL: a statement without owner filter shows an investor only their own rows.

use muniment_domain::db::Db;
use muniment_domain::row_security;
use muniment_domain::sql::sql;
use muniment_domain::subscription::{self, Filter, Scope};
use serde_json::{Value, json};
use world::{Database, Engine};

use crate::installation::{SubscriptionFixture, open};

const TABLES: [&str; 3] = ["subscriptions", "wallets", "webhook_endpoints"];

/// How many rows of each table an unfiltered statement sees, and how many the list of subscriptions has with too wide a scope.
async fn seen(db: &Db) -> Vec<i64> {
    let mut tx = db.read().await.unwrap();
    let listed = subscription::list(&mut tx, &Scope::All, &Filter::default(), 20, 0).await.unwrap();
    let mut counts = vec![i64::try_from(listed.len()).unwrap()];
    for table in TABLES {
        counts.push(sql("select count(*) from ").push(table).scalar::<i64>(&mut tx).await.unwrap());
    }
    counts
}

/// An offering with two investors, who each have a row of every kind.
async fn two_investors() -> SubscriptionFixture {
    let fixture = SubscriptionFixture::new(Database::fresh(Engine::Postgres).await, |_| {}).await;
    let bruno = fixture.another("bruno").await;
    fixture.give_wallet(&bruno, 1).await;
    for person in [&fixture.investor, &bruno] {
        assert_eq!(fixture.subscribe(person, "1500.00").await.status, 201);
        let endpoint = json!({ "url": "https://hooks.portal.example/in", "event_types": ["*"] });
        assert_eq!(person.post("/v1/webhooks/endpoints", endpoint).await.status, 201);
    }
    fixture
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_without_owner_filter_shows_only_own_rows() {
    let fixture = two_investors().await;
    let db = open(&fixture.api.database.url()).await;
    assert_eq!(
        row_security::applies(&db).await.unwrap(),
        Some(true),
        "the tests need an ordinary role: see ops/postgres"
    );
    let own = fixture.investor.get("/v1/investor/profile").await.text("/id");
    assert_eq!(seen(&db).await, [2; 4]);
    assert_eq!(row_security::limited_to(Some(&own.as_str().into()), seen(&db)).await, [1; 4]);
    for nobody in [None, Some("inv_1'; reset app.investor_id; --")] {
        assert_eq!(row_security::limited_to(nobody.map(Into::into).as_ref(), seen(&db)).await, [0; 4]);
    }
    assert_eq!(seen(&db).await, [2; 4], "the next statement on the same connection");
    // A write counts over the whole offering, for every caller.
    let viewer = own.as_str().into();
    let counted = row_security::limited_to(Some(&viewer), async {
        let mut tx = db.begin().await.unwrap();
        sql("select count(*) from subscriptions").scalar::<i64>(&mut tx).await.unwrap()
    });
    assert_eq!(counted.await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_investor_reads_own_and_public_rows() {
    let fixture = two_investors().await;
    let total = |answer: &Value| answer["pagination"]["total"].as_i64().unwrap();
    let listed = async || [&fixture.investor, &fixture.operator].map(|person| person.get("/v1/subscriptions"));
    let offering = fixture.investor.get(&format!("/v1/offerings/{}", fixture.offering)).await;
    assert_eq!(offering.body["investor_count"], json!(2), "{offering:?}");
    let [own, all] = listed().await;
    assert_eq!((total(&own.await.body), total(&all.await.body)), (1, 2));
    // This policy shows rows only to a statement that runs as an investor.
    fixture.write("create policy probe on subscriptions as restrictive for select using (coalesce(current_setting('app.investor_id', true), '') <> '')").await;
    let [own, all] = listed().await;
    assert_eq!((total(&own.await.body), total(&all.await.body)), (1, 0));
}
