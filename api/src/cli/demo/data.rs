//! The data of the demo. It is written once and found again by later starts.

use chrono::{DateTime, Duration, Utc};
use muniment_domain::db::{Db, Tx};
use muniment_domain::investor;
use muniment_domain::money::Money;
use muniment_domain::offering::choice::{IssuancePolicy, Template};
use muniment_domain::offering::{self, Filter, Offering, Scope, Status};
use muniment_domain::point::Point;
use muniment_domain::subscription::{self, NewAccepted};
use muniment_domain::user::{self, Role};
use muniment_domain::{Error, Result, api_key};
use muniment_workflows::engine::timer;

use super::account;
use super::people::{self, OPERATOR};
use crate::access::permission::SCOPES;

const KEY_NAME: &str = "demo";
const KEY_DAYS: i64 = 1;
const PARTITION: i64 = 1;
const DECIMALS: u32 = 2;
const LOCKUP_DAYS: i64 = 365;
const OPEN_DAYS: i64 = 90;

/// Investors: name, country, and what each subscribed to the two offerings.
const INVESTORS: [(&str, &str, [&str; 2]); 6] = [
    ("Ada Brandt", "DE", ["25000.00", "10000.00"]),
    ("Bruno Costa", "PT", ["5000.00", "7500.00"]),
    ("Chiara Ferri", "IT", ["120000.00", "1000.00"]),
    ("Dragan Horvat", "HR", ["1500.00", "64000.00"]),
    ("Elin Lindqvist", "SE", ["48250.50", "2500.00"]),
    ("Faolan Byrne", "IE", ["9999.99", "33000.00"]),
];

/// What the invitation is about.
pub struct Demo {
    /// The operator's key, made anew at each start.
    pub key: String,
    /// Who can log in.
    pub people: Vec<(String, Role)>,
    /// The offerings: those without a lockup first.
    pub offerings: Vec<Offering>,
}

/// Writes the demo's data unless it is there, and makes a key for this start.
///
/// A key is new with each start and the older ones are revoked: so it never lies on the disk, and a copy of yesterday's screen is
/// worth nothing.
pub async fn ensure(db: &Db, chain_id: u64, password_hash: &str) -> Result<Demo> {
    let secret = [db.ids().bytes(), db.ids().bytes()].concat();
    let secret = secret.try_into().map_err(|_| unreadable("a secret has 32 bytes"))?;
    let mut tx = db.begin().await?;
    let operator = match user::find_by_email(&mut tx, OPERATOR).await? {
        Some(known) => known,
        None => insert_all(&mut tx, chain_id.cast_signed()).await?,
    };
    let (shown, _) = offering::page(&mut tx, &Scope::All, &Filter::default(), 100, 0).await?;
    let mut offerings: Vec<_> = shown.into_iter().map(|shown| shown.offering).collect();
    let investors = INVESTORS.map(|(name, ..)| name);
    let issuer = offerings.first().map(|offering| offering.issuer_id.as_str());
    let people = people::ensure(&mut tx, &investors, issuer, password_hash).await?;
    api_key::revoke_named(&mut tx, &operator, KEY_NAME).await?;
    let key = api_key::issue(&mut tx, &operator, KEY_NAME, &SCOPES.join(" "), KEY_DAYS, secret).await?;
    offerings.sort_by_key(|offering| (offering.lockup_release_at.is_some(), offering.id.clone()));
    tx.commit(Point::Housekeeping).await?;
    Ok(Demo { key, people, offerings })
}

async fn insert_all(tx: &mut Tx, chain_id: i64) -> Result<String> {
    let operator = user::insert(tx, OPERATOR, "Demo operator", Role::Operator).await?;
    let issuer = tx.new_id("iss");
    offering::insert_issuer(tx, &issuer, "Harbour Real Estate").await?;
    let release = tx.now() + Duration::days(LOCKUP_DAYS);
    let offerings = [
        insert_offering(tx, &issuer, chain_id, "Harbour House", "HARBOR", None).await?,
        insert_offering(tx, &issuer, chain_id, "Orchard Court", "ORCHRD", Some(release)).await?,
    ];
    for ((name, country, amounts), wallet) in INVESTORS.iter().zip(account::wallets()) {
        let investor_id = tx.new_id("inv");
        let user_id = user::insert(tx, &people::address_of(name), name, Role::Investor).await?;
        investor::insert(tx, &investor_id, Some(&user_id), name, country).await?;
        investor::insert_wallet(tx, &investor_id, *wallet).await?;
        for (offering_id, amount) in offerings.iter().zip(amounts) {
            let amount: Money = amount.parse().map_err(|_| unreadable("an amount of the demo"))?;
            let price = Money::from_minor(100);
            let quantity = amount.base_units(price, DECIMALS).ok_or_else(|| unreadable("a quantity of the demo"))?;
            let accepted = NewAccepted { offering_id, investor_id: &investor_id, amount, quantity, wallet: *wallet };
            subscription::insert_accepted(tx, &accepted).await?;
        }
    }
    Ok(operator)
}

async fn insert_offering(
    tx: &mut Tx,
    issuer_id: &str,
    chain_id: i64,
    name: &str,
    symbol: &str,
    lockup_release_at: Option<DateTime<Utc>>,
) -> Result<String> {
    let (id, now) = (tx.new_id("off"), tx.now());
    let offering = Offering {
        id: id.clone(),
        issuer_id: issuer_id.to_owned(),
        name: name.to_owned(),
        description: format!("{name}: flats by the water, let for good."),
        status: Status::Open,
        published_at: Some(now),
        closes_at: Some(now + Duration::days(OPEN_DAYS)),
        template: Template::RealEstateEquity,
        currency: "EUR".to_owned(),
        minimum_investment: 100_000,
        hard_cap: 500_000_000,
        target_amount: 500_000_000,
        unit_price: 100,
        token_symbol: symbol.to_owned(),
        token_decimals: i64::from(DECIMALS),
        partition_id: PARTITION,
        issuance_policy: IssuancePolicy::Rolling,
        lockup_release_at,
        chain_id,
        created_at: now,
        updated_at: now,
        ..Offering::default()
    };
    offering::insert(tx, &offering).await?;
    timer::set(tx, &id, offering.closes_at).await?;
    Ok(id)
}

fn unreadable(why: &str) -> Error {
    Error::Unreadable { what: "demo", id: "data".to_owned(), why: why.to_owned() }
}
