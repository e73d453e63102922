//! The first data of the demo: people, an issuer, and two offerings with accepted subscriptions and without a token. A later start keeps
//! them, and adds a new offering for one that was deployed or closed.

use alloy_primitives::Address;
use chrono::Duration;
use muniment_domain::db::{Db, Tx};
use muniment_domain::filter::CreatedBetween;
use muniment_domain::id::{InvestorId, IssuerId, of};
use muniment_domain::investor;
use muniment_domain::money::Money;
use muniment_domain::offering::choice::{IssuancePolicy, Template};
use muniment_domain::offering::{self, Filter, Offering, Scope, Status, TokenStatus};
use muniment_domain::point::Point;
use muniment_domain::subscription::{self, NewAccepted};
use muniment_domain::user::{self, Role};
use muniment_domain::{Error, Result, api_key};
use muniment_workflows::engine::timer;

use super::account;
use super::people::{self, DOMAIN, INVESTORS, NEWCOMERS, STAFF};
use crate::access::permission::SCOPES;

const KEY_NAME: &str = "demo";
const KEY_DAYS: i64 = 365;
/// A key with less time left is replaced.
const KEY_DAYS_MIN: i64 = 7;
const PARTITION: i64 = 1;
const DECIMALS: u32 = 2;
const OPEN_DAYS: i64 = 90;
const OFFERINGS_MAX: i64 = 100;

/// The name, the symbol, the days of the lockup, and the amount of each investor.
type SeedOffering = (&'static str, &'static str, Option<i64>, [&'static str; 6]);

const SEED_OFFERINGS: [SeedOffering; 2] = [
    ("Harbour House", "HARBOR", None, ["25000.00", "5000.00", "120000.00", "1500.00", "48250.50", "9999.99"]),
    ("Orchard Court", "ORCHRD", Some(365), ["10000.00", "7500.00", "1000.00", "64000.00", "2500.00", "33000.00"]),
];

/// The data for the printed invitation.
pub struct Demo {
    /// The operator's key.
    pub key: String,
    /// The two offerings without a token.
    pub offerings: [Offering; 2],
}

/// Inserts the missing data. Keeps the API key of an earlier start while it is valid.
pub async fn ensure(db: &Db, chain_id: u64, password_hash: &str, known_key: Option<&str>) -> Result<Demo> {
    let secret = [db.ids().bytes(), db.ids().bytes()].concat();
    let secret = secret.try_into().map_err(|_| unreadable("a secret has 32 bytes"))?;
    let mut tx = db.begin().await?;
    let issuer_id = issuer(&mut tx).await?;
    for (login, name, role) in STAFF {
        let issuer_id = (role == Role::Issuer).then_some(&issuer_id);
        people::ensure(&mut tx, login, name, role, issuer_id, password_hash).await?;
    }
    let mut investors = Vec::new();
    for ((name, country), wallet) in INVESTORS.into_iter().zip(account::wallets()) {
        investors.push((approved(&mut tx, name, country, *wallet, password_hash).await?, *wallet));
    }
    for (name, country) in NEWCOMERS {
        newcomer(&mut tx, name, country, password_hash).await?;
    }
    let chain_id = chain_id.cast_signed();
    let offerings = [
        waiting(&mut tx, &SEED_OFFERINGS[0], &issuer_id, chain_id, &investors).await?,
        waiting(&mut tx, &SEED_OFFERINGS[1], &issuer_id, chain_id, &investors).await?,
    ];
    let key = key(&mut tx, known_key, secret).await?;
    tx.commit(Point::Housekeeping).await?;
    Ok(Demo { key, offerings })
}

async fn issuer(tx: &mut Tx) -> Result<IssuerId> {
    let member = user::by_email(tx, &format!("issuer{DOMAIN}")).await?;
    if let Some(id) = member.and_then(|member| member.issuer_id) {
        return Ok(id);
    }
    let id = tx.new_id::<of::Issuer>();
    offering::insert_issuer(tx, &id, "Harbour Real Estate").await?;
    Ok(id)
}

/// The key of an earlier start, or a new one.
async fn key(tx: &mut Tx, known: Option<&str>, secret: [u8; 32]) -> Result<String> {
    let operator = user::find_by_email(tx, &format!("operator{DOMAIN}")).await?.unwrap_or_default();
    let until = tx.now() + Duration::days(KEY_DAYS_MIN);
    let own = api_key::Scope::Own(&operator);
    let (rows, _) = api_key::page(tx, own, CreatedBetween::default(), 100, 0).await?;
    let is_good = |key: &&str| {
        rows.iter().any(|row| {
            row.name == KEY_NAME && key.starts_with(&row.prefix) && row.revoked_at.is_none() && row.expires_at > until
        })
    };
    if let Some(key) = known.filter(is_good) {
        return Ok(key.to_owned());
    }
    api_key::revoke_named(tx, &operator, KEY_NAME).await?;
    api_key::issue(tx, &operator, KEY_NAME, &SCOPES.join(" "), KEY_DAYS, secret).await
}

/// An investor who passed the identity check, with a wallet.
async fn approved(tx: &mut Tx, name: &str, country: &str, wallet: Address, password_hash: &str) -> Result<InvestorId> {
    let login = people::login_of(name);
    let user_id = people::ensure(tx, &login, name, Role::Investor, None, password_hash).await?;
    if let Ok(known) = investor::of_user(tx, &user_id).await {
        return Ok(known.id);
    }
    let id = tx.new_id::<of::Investor>();
    investor::insert(tx, &id, Some(&user_id), name, country).await?;
    investor::insert_wallet(tx, &id, wallet).await?;
    Ok(id)
}

async fn newcomer(tx: &mut Tx, name: &str, country: &str, password_hash: &str) -> Result<()> {
    let login = people::login_of(name);
    let user_id = people::ensure(tx, &login, name, Role::Investor, None, password_hash).await?;
    if investor::of_user(tx, &user_id).await.is_err() {
        let id = tx.new_id::<of::Investor>();
        investor::register(tx, &id, &user_id, name, country).await?;
    }
    Ok(())
}

/// The open offering without a token. If the last one is deployed or closed, a new one is inserted.
async fn waiting(
    tx: &mut Tx,
    seed: &SeedOffering,
    issuer_id: &IssuerId,
    chain_id: i64,
    investors: &[(InvestorId, Address)],
) -> Result<Offering> {
    let (shown, _) = offering::page(tx, &Scope::All, &Filter::default(), OFFERINGS_MAX, 0).await?;
    let mut earlier = shown.into_iter().map(|shown| shown.offering).filter(|o| o.name.starts_with(seed.0));
    let (mut count, now) = (0, tx.now());
    for offering in &mut earlier {
        let is_open = offering.status == Status::Open && offering.closes_at.is_some_and(|at| at > now);
        if is_open && offering.token_status == TokenStatus::NotDeployed {
            return Ok(offering);
        }
        count += 1;
    }
    let offering = offering_of(tx, seed, count, issuer_id, chain_id);
    offering::insert(tx, &offering).await?;
    timer::set(tx, &offering.id, offering.closes_at).await?;
    for ((investor_id, wallet), amount) in investors.iter().zip(seed.3) {
        let amount: Money = amount.parse().map_err(|_| unreadable("an amount of the demo"))?;
        let quantity = amount.base_units(Money::from_minor(100), DECIMALS);
        let quantity = quantity.ok_or_else(|| unreadable("a quantity of the demo"))?;
        let accepted = NewAccepted { offering_id: &offering.id, investor_id, amount, quantity, wallet: *wallet };
        subscription::insert_accepted(tx, &accepted).await?;
    }
    Ok(offering)
}

fn offering_of(tx: &mut Tx, seed: &SeedOffering, earlier: u32, issuer_id: &IssuerId, chain_id: i64) -> Offering {
    let (id, now) = (tx.new_id::<of::Offering>(), tx.now());
    let (name, symbol) = match earlier {
        0 => (seed.0.to_owned(), seed.1.to_owned()),
        more => (format!("{} {}", seed.0, more + 1), format!("{}{}", seed.1, more + 1)),
    };
    Offering {
        id,
        issuer_id: issuer_id.to_owned(),
        description: format!("{name}: flats by the water, let for good."),
        name,
        status: Status::Open,
        published_at: Some(now),
        closes_at: Some(now + Duration::days(OPEN_DAYS)),
        template: Template::RealEstateEquity,
        currency: "EUR".to_owned(),
        minimum_investment: 100_000,
        hard_cap: 500_000_000,
        target_amount: 500_000_000,
        unit_price: 100,
        token_symbol: symbol,
        token_decimals: i64::from(DECIMALS),
        partition_id: PARTITION,
        issuance_policy: IssuancePolicy::Rolling,
        lockup_release_at: seed.2.map(|days| now + Duration::days(days)),
        chain_id,
        created_at: now,
        updated_at: now,
        ..Offering::default()
    }
}

fn unreadable(why: &str) -> Error {
    Error::Unreadable { what: "demo", id: "data".to_owned(), why: why.to_owned() }
}
