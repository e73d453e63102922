//! Investors: who they say they are, and what the platform decided about it.

mod accreditation;
pub mod document;
mod list;
mod state;
mod tax;

use std::collections::HashMap;

use alloy_primitives::Address;
use chrono::{DateTime, Utc};
use serde_json::json;

pub use accreditation::{Finding, Found, accredit, accreditations};
pub use list::{Filter, Frozen, frozen_on, page};
pub use state::{Move, Status};
pub use tax::{Decided, Rate, tax_decisions, withhold, withholding};

use crate::audit::Facts;
use crate::column::Hex;
use crate::db::{Tx, touched};
use crate::means::Means;
use crate::rows::portions;
use crate::{Code, Error, Result, event, on};

crate::words! {
    /// What kind of somebody.
    Kind {
        /// A natural person.
        Individual = "individual",
        /// A company, a fund, a trust.
        Entity = "entity",
    }
}

crate::words! {
    /// How much somebody shows.
    Level {
        /// Who they are.
        Basic = "basic",
        /// Also where their money comes from.
        Enhanced = "enhanced",
    }
}

crate::words! {
    /// What a screening against sanction lists found.
    Screening {
        /// There was none yet.
        NotScreened = "not_screened",
        /// Nothing.
        Clear = "clear",
        /// Somebody on a list.
        Hit = "hit",
    }
}

crate::words! {
    /// Whether somebody is known to be an accredited investor.
    Accreditation {
        /// Nobody looked.
        None = "none",
        /// Somebody looked, and it holds until its date.
        Verified = "verified",
    }
}

crate::words! {
    /// The form on which taxes are withheld.
    TaxForm {
        /// None was handed in.
        None = "none",
        /// Of a person of the United States.
        W9 = "w9",
        /// Of another natural person.
        W8ben = "w8ben",
        /// Of another entity.
        W8bene = "w8bene",
        /// A self-certification, where none of those applies.
        SelfCert = "self_cert",
    }
}

/// One row of `investors`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)] // Each field is its column; 0014_investor.sql explains those that need it.
pub struct Investor {
    pub id: String,
    pub user_id: Option<String>,
    pub kind: Kind,
    pub legal_name: String,
    pub country: String,
    pub tax_residency: Option<String>,
    pub kyc_status: Status,
    pub kyc_level: Option<Level>,
    pub kyc_submitted_at: Option<DateTime<Utc>>,
    pub kyc_decided_at: Option<DateTime<Utc>>,
    pub kyc_expires_at: Option<DateTime<Utc>>,
    pub kyc_reason_code: Option<String>,
    pub accreditation_status: Accreditation,
    pub accreditation_basis: Option<String>,
    pub accreditation_expires_at: Option<DateTime<Utc>>,
    pub sanctions_status: Screening,
    pub last_screened_at: Option<DateTime<Utc>>,
    pub tax_form: TaxForm,
    pub treaty_country: Option<String>,
    #[sqlx(flatten)]
    pub means: Means,
    /// When what was known of the investor was forgotten.
    pub erased_at: Option<DateTime<Utc>>,
    pub version: i64,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

impl Investor {
    /// Whether somebody looked, and it holds now.
    pub fn is_accredited(&self, now: DateTime<Utc>) -> bool {
        self.accreditation_status == Accreditation::Verified
            && self.accreditation_expires_at.is_none_or(|end| end > now)
    }
}

/// Stores an investor whose identity was approved, after a screening that found nothing.
pub async fn insert(tx: &mut Tx, id: &str, user_id: Option<&str>, legal_name: &str, country: &str) -> Result<()> {
    let now = tx.now();
    on!(tx, conn => sqlx::query(
        "insert into investors (id, user_id, legal_name, country, kyc_status, sanctions_status, last_screened_at, version, created_at, \
         updated_at) values ($1, $2, $3, $4, 'approved', 'clear', $5, 1, $5, $5)")
        .bind(id).bind(user_id).bind(legal_name).bind(country).bind(now).execute(conn).await?.rows_affected());
    Ok(())
}

/// Stores an investor who has registered and shown nothing yet.
pub async fn register(tx: &mut Tx, id: &str, user_id: &str, legal_name: &str, country: &str) -> Result<()> {
    let now = tx.now();
    on!(tx, conn => sqlx::query(
        "insert into investors (id, user_id, legal_name, country, kyc_status, version, created_at, updated_at) \
         values ($1, $2, $3, $4, 'not_started', 1, $5, $5)")
        .bind(id).bind(user_id).bind(legal_name).bind(country).bind(now).execute(conn).await?.rows_affected());
    Ok(())
}

/// One investor; `not_found` if there is none.
pub async fn find(tx: &mut Tx, id: &str) -> Result<Investor> {
    crate::id::check("inv", id)?;
    on!(tx, conn => sqlx::query_as::<_, Investor>("select * from investors where id = $1").bind(id).fetch_optional(conn).await?)
        .ok_or_else(|| Error::refused(Code::NotFound, format!("There is no investor {id}.")))
}

/// The investor that a person is; `not_found` for somebody who is none.
pub async fn of_user(tx: &mut Tx, user_id: &str) -> Result<Investor> {
    on!(tx, conn => sqlx::query_as::<_, Investor>("select * from investors where user_id = $1").bind(user_id).fetch_optional(conn).await?)
        .ok_or_else(|| Error::refused(Code::NotFound, "You are no investor."))
}

/// The investors of these wallets, as far as they are proved, and whether the identity of each is approved now.
pub async fn of_wallets(tx: &mut Tx, wallets: &[Address]) -> Result<HashMap<Address, (String, bool)>> {
    let mut found = HashMap::with_capacity(wallets.len());
    for portion in portions(wallets) {
        let rows = on!(tx, conn => {
            let mut query = sqlx::QueryBuilder::new(
                "select w.address, i.id, i.kyc_status from wallets w join investors i on i.id = w.investor_id \
                 where w.verified_at is not null and w.address in (");
            let mut list = query.separated(", ");
            for wallet in portion {
                list.push_bind(Hex(*wallet));
            }
            query.push(")");
            query.build_query_as::<(Hex<Address>, String, Status)>().fetch_all(conn).await?
        });
        found.extend(rows.into_iter().map(|(address, id, kyc)| (address.0, (id, kyc == Status::Approved))));
    }
    Ok(found)
}

/// Stores a wallet whose control was proved.
pub async fn insert_wallet(tx: &mut Tx, investor_id: &str, address: Address) -> Result<()> {
    let (id, now) = (tx.new_id("wal"), tx.now());
    on!(tx, conn => sqlx::query(
        "insert into wallets (id, investor_id, address, verified_at, created_at, is_default) values ($1, $2, $3, $4, $4, \
         not exists (select 1 from wallets where investor_id = $2 and is_default))")
        .bind(id).bind(investor_id).bind(Hex(address)).bind(now).execute(conn).await?.rows_affected());
    Ok(())
}

/// Remembers that somebody was warned of the risk, the first time alone.
pub async fn warn(tx: &mut Tx, id: &str) -> Result<()> {
    let now = tx.now();
    let version = on!(tx, conn => sqlx::query_scalar::<_, i64>(
        "update investors set risk_warned_at = $2, version = version + 1, updated_at = $2 where id = $1 and risk_warned_at is null \
         returning version").bind(id).bind(now).fetch_optional(conn).await?);
    match version {
        Some(version) => {
            event::write(tx, "investor.risk_warned", "investor", id, version, json!({ "warned_at": now })).await
        }
        None => Ok(()),
    }
}

/// Writes what may change of an investor, guarded by the version that was read, and tells of it under this name.
pub async fn update(tx: &mut Tx, i: &mut Investor, event: &str) -> Result<()> {
    let (before, read) = (find(tx, &i.id).await?, i.version);
    if before.erased_at.is_some() {
        return Err(Error::refused(Code::InvalidState, format!("Who {} is was forgotten: nothing is added.", i.id)));
    }
    i.version += 1;
    i.updated_at = tx.now();
    let rows = on!(tx, conn => sqlx::query(
        "update investors set kind = $3, legal_name = $4, country = $5, tax_residency = $6, kyc_status = $7, kyc_level = $8, \
         kyc_submitted_at = $9, kyc_decided_at = $10, kyc_expires_at = $11, kyc_reason_code = $12, accreditation_status = $13, \
         accreditation_basis = $14, accreditation_expires_at = $15, sanctions_status = $16, last_screened_at = $17, tax_form = $18, \
         treaty_country = $19, version = $20, updated_at = $21, annual_income = $22, net_worth = $23 where id = $1 and version = $2")
        .bind(&i.id).bind(read).bind(i.kind).bind(&i.legal_name).bind(&i.country).bind(&i.tax_residency).bind(i.kyc_status)
        .bind(i.kyc_level).bind(i.kyc_submitted_at).bind(i.kyc_decided_at).bind(i.kyc_expires_at).bind(&i.kyc_reason_code)
        .bind(i.accreditation_status).bind(&i.accreditation_basis).bind(i.accreditation_expires_at).bind(i.sanctions_status)
        .bind(i.last_screened_at).bind(i.tax_form).bind(&i.treaty_country).bind(i.version).bind(i.updated_at)
        .bind(i.means.annual_income).bind(i.means.net_worth)
        .execute(conn).await?.rows_affected());
    touched(rows, "investor", &i.id)?;
    tx.doing().changed(&i.id, facts(&before), facts(i));
    let data = json!({
        "kyc": { "status": i.kyc_status, "level": i.kyc_level, "reason_code": i.kyc_reason_code },
        "accreditation": { "status": i.accreditation_status, "expires_at": i.accreditation_expires_at },
    });
    event::write(tx, event, "investor", &i.id, i.version, data).await
}

/// What the audit log may show of somebody: how they stand, and not who they are.
fn facts(i: &Investor) -> Facts {
    let standing = json!({
        "kind": i.kind, "kyc_status": i.kyc_status, "kyc_level": i.kyc_level, "kyc_submitted_at": i.kyc_submitted_at,
        "kyc_decided_at": i.kyc_decided_at, "kyc_expires_at": i.kyc_expires_at, "kyc_reason_code": i.kyc_reason_code,
        "accreditation_status": i.accreditation_status, "accreditation_basis": i.accreditation_basis,
        "accreditation_expires_at": i.accreditation_expires_at, "sanctions_status": i.sanctions_status,
        "last_screened_at": i.last_screened_at, "tax_form": i.tax_form, "version": i.version,
    });
    let person = json!({ "legal_name": i.legal_name, "country": i.country, "tax_residency": i.tax_residency,
        "treaty_country": i.treaty_country, "annual_income": i.means.annual_income, "net_worth": i.means.net_worth });
    Facts::new(standing, person)
}
