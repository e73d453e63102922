//! The people and offerings of an installation, written before it starts.

use alloy::primitives::{Address, keccak256};
use chrono::Duration;
use muniment_domain::clock::Clock;
use muniment_domain::db::{Db, Tx};
use muniment_domain::id::{Ids, of};
use muniment_domain::money::Money;
use muniment_domain::offering::choice::{IssuancePolicy, Template};
use muniment_domain::offering::{self, Offering, Status};
use muniment_domain::operation::{Kind, NewOperation, NewStep};
use muniment_domain::point::Point;
use muniment_domain::subscription::{self, NewAccepted};
use muniment_domain::user::{self, Role, Roles};
use muniment_domain::{api_key, investor, migrate};
use muniment_workflows::engine::queue_tables;
use serde_json::json;

use super::CHAIN_ID;

const LOCKUP_DAYS: i64 = 365;
/// The operator who sends the requests: by API key, or in a session where a person is required.
pub const OPERATOR: &str = "operator@test.example";
/// `PASSWORD`, hashed with the least memory allowed.
const PASSWORD_HASH: &str =
    "$argon2id$v=19$m=64,t=1,p=1$jV4Sw11rR4x3tE3p2+5rrw$+G2BvpaQZ0zw8VGM7xqzRava8iRmlLNfkGmmn2hZBmk";

/// Terms of an offering.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terms {
    /// Number of accepted subscriptions, each of another investor.
    pub holders: usize,
    /// Whether minted units are locked for a year.
    pub locked: bool,
}

impl Terms {
    /// Terms without a lockup.
    pub const fn free(holders: usize) -> Self {
        Self { holders, locked: false }
    }

    /// Terms with a lockup.
    pub const fn locked(holders: usize) -> Self {
        Self { holders, locked: true }
    }
}

/// The wallet of a numbered investor.
pub fn wallet(number: usize) -> Address {
    Address::from_word(keccak256(format!("investor {number}")))
}

/// Opens a database as the platform does; no process may have it open.
pub async fn open(url: &str) -> Db {
    open_at(url, Clock::System).await
}

/// Opens a database with a clock that the test moves.
pub async fn open_at(url: &str, clock: Clock) -> Db {
    let db = Db::open(url, 4, clock, Ids::Random).await.unwrap();
    migrate::run(&db).await.unwrap();
    queue_tables::migrate(&db).await.unwrap();
    db
}

/// Migrates the database and writes the offerings and an operator with an API key.
pub async fn fill(url: &str, terms: &[Terms]) -> (String, Vec<String>) {
    let db = open(url).await;
    let secret = [db.ids().bytes(), db.ids().bytes()].concat().try_into().unwrap();
    let mut tx = db.begin().await.unwrap();
    let operator = user::create(
        &mut tx,
        &user::New {
            email: OPERATOR,
            name: "Operator",
            roles: Roles::only(Role::Operator),
            status: user::Status::Active,
            password_hash: Some(PASSWORD_HASH),
            issuer_id: None,
        },
    )
    .await
    .unwrap();
    let key = api_key::issue(
        &mut tx,
        &operator,
        "tests",
        "distributions:read distributions:write offerings:read ops:freeze ops:read ops:write payments:write subscriptions:read \
         subscriptions:write",
        60,
        secret,
    )
    .await
    .unwrap();
    let issuer = tx.new_id::<of::Issuer>();
    offering::insert_issuer(&mut tx, &issuer, "Test Estates").await.unwrap();
    let investors = terms.iter().map(|t| t.holders).max().unwrap_or_default();
    let mut ids = Vec::with_capacity(investors);
    for number in 0..investors {
        let id = tx.new_id::<of::Investor>();
        investor::insert(&mut tx, &id, None, &format!("Investor {number}"), "DE").await.unwrap();
        investor::insert_wallet(&mut tx, &id, wallet(number)).await.unwrap();
        ids.push(id);
    }
    let mut offerings = Vec::new();
    for (number, terms) in terms.iter().enumerate() {
        let id = insert_offering(&mut tx, &issuer, number, terms.locked).await;
        for (holder, investor) in ids.iter().take(terms.holders).enumerate() {
            subscribe(&mut tx, &id, investor, holder).await;
        }
        offerings.push(id);
    }
    tx.commit(Point::Housekeeping).await.unwrap();
    db.close().await;
    (key, offerings)
}

/// Writes another person with an API key; no process may have the database open.
pub async fn hire(url: &str, name: &str, role: Role) -> String {
    let db = open(url).await;
    let secret = [db.ids().bytes(), db.ids().bytes()].concat().try_into().unwrap();
    let mut tx = db.begin().await.unwrap();
    let user = user::insert(&mut tx, &format!("{name}@test.example"), name, role).await.unwrap();
    let key = api_key::issue(&mut tx, &user, "tests", "offerings:read ops:read ops:write", 1, secret).await.unwrap();
    tx.commit(Point::Housekeeping).await.unwrap();
    db.close().await;
    key
}

/// Writes a new person with this role; returns the API key.
pub async fn key_of(url: &str, role: Role, scopes: &str) -> String {
    let db = open(url).await;
    let secret = [db.ids().bytes(), db.ids().bytes()].concat().try_into().unwrap();
    let mut tx = db.begin().await.unwrap();
    let email = format!("{}@test.example", tx.new_id::<of::User>());
    let user = user::insert(&mut tx, &email, "Somebody", role).await.unwrap();
    let key = api_key::issue(&mut tx, &user, "tests", scopes, 1, secret).await.unwrap();
    tx.commit(Point::Housekeeping).await.unwrap();
    db.close().await;
    key
}

async fn subscribe(tx: &mut Tx, offering_id: &str, investor_id: &str, holder: usize) {
    // Each holder has another amount, so that swapped holders would be noticed.
    let amount = Money::from_minor(100_000 + holder as i64 * 100);
    let quantity = amount.base_units(Money::from_minor(100), 2).unwrap();
    let accepted = NewAccepted {
        offering_id: &offering_id.into(),
        investor_id: &investor_id.into(),
        amount,
        quantity,
        wallet: wallet(holder),
    };
    subscription::insert_accepted(tx, &accepted).await.unwrap();
}

/// Writes an open offering of a new issuer, which the test may change; returns both ids. No process may have the database open.
pub async fn offer(url: &str, change: impl FnOnce(&mut Offering)) -> (String, String) {
    let db = open(url).await;
    let mut tx = db.begin().await.unwrap();
    let issuer = tx.new_id::<of::Issuer>();
    offering::insert_issuer(&mut tx, &issuer, "Raising Estates").await.unwrap();
    let mut offered = described(&tx, &issuer, 0, false);
    change(&mut offered);
    offering::insert(&mut tx, &offered).await.unwrap();
    tx.commit(Point::Housekeeping).await.unwrap();
    db.close().await;
    (issuer.into(), offered.id.into())
}

async fn insert_offering(tx: &mut Tx, issuer_id: &str, number: usize, locked: bool) -> String {
    let offering = described(tx, issuer_id, number, locked);
    offering::insert(tx, &offering).await.unwrap();
    offering.id.into()
}

fn described(tx: &Tx, issuer_id: &str, number: usize, locked: bool) -> Offering {
    let (id, now) = (tx.new_id::<of::Offering>(), tx.now());
    Offering {
        id,
        issuer_id: issuer_id.into(),
        name: format!("Test House {number}"),
        status: Status::Open,
        template: Template::RealEstateEquity,
        currency: "EUR".to_owned(),
        minimum_investment: 100_000,
        hard_cap: 5_000_000_000,
        target_amount: 5_000_000_000,
        unit_price: 100,
        token_symbol: format!("TST{number}"),
        token_decimals: 2,
        partition_id: 1,
        issuance_policy: IssuancePolicy::Rolling,
        lockup_release_at: locked.then(|| now + Duration::days(LOCKUP_DAYS)),
        chain_id: CHAIN_ID,
        created_at: now,
        updated_at: now,
        ..Offering::default()
    }
}

/// An operation on an offering, as a request of the operator makes it.
pub fn new_operation(kind: Kind, offering: &str, steps: Vec<NewStep>) -> NewOperation {
    NewOperation {
        kind,
        subject_type: "offering",
        subject_id: offering.to_owned(),
        offering_id: Some(offering.into()),
        batch: None,
        chain_id: CHAIN_ID,
        lane_id: None,
        payload: json!({}),
        live_key: None,
        requested_by: "operator".to_owned(),
        request_id: None,
        idempotency_key: None,
        steps,
    }
}
