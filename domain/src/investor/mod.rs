//! Investors: what they declare, and what the platform decided about it.

mod accreditation;
pub mod document;
mod list;
mod state;
mod tax;

use std::collections::HashMap;

use alloy_primitives::Address;
use chrono::{DateTime, Duration, SecondsFormat, Utc};
use serde_json::json;

pub use accreditation::{AccreditationDecision, StoredAccreditation, accredit, accreditations};
pub use list::{Filter, WalletFreeze, frozen_on, page};
pub use state::{Move, Status};
pub use tax::{Rate, StoredTaxRate, tax_decisions, withhold, withholding};

use crate::column::Hex;
use crate::db::{Tx, expect_updated};
use crate::id::{InvestorId, UserId, of};
use crate::investment_limit::Finances;
use crate::recorder::Facts;
use crate::rows::portions;
use crate::sql::{insert_into, sql, update_table};
use crate::{Code, Error, Result, event};

crate::words! {
    /// The kind of investor.
    Kind {
        /// A natural person.
        Individual = "individual",
        /// A company, a fund, a trust.
        Entity = "entity",
    }
}

crate::words! {
    /// The level of an identity check.
    Level {
        /// Identity only.
        Basic = "basic",
        /// Identity and source of funds.
        Enhanced = "enhanced",
    }
}

crate::words! {
    /// The result of a screening against sanctions lists.
    Screening {
        /// Not screened yet.
        NotScreened = "not_screened",
        /// No match.
        Clear = "clear",
        /// A match.
        Hit = "hit",
    }
}

crate::words! {
    /// Whether the investor is accredited.
    Accreditation {
        /// No decision.
        None = "none",
        /// Verified, until its expiry.
        Verified = "verified",
    }
}

crate::words! {
    /// The tax form of an investor.
    TaxForm {
        /// No form.
        None = "none",
        /// W-9, for a person of the United States.
        W9 = "w9",
        /// W-8BEN, for another natural person.
        W8ben = "w8ben",
        /// W-8BEN-E, for another entity.
        W8bene = "w8bene",
        /// A self-certification, if no other form applies.
        SelfCert = "self_cert",
    }
}

/// One row of `investors`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)] // Each field is its column; 0014_investor.sql explains those that need it.
pub struct Investor {
    pub id: InvestorId,
    pub user_id: Option<UserId>,
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
    pub means: Finances,
    pub means_raised_at: Option<DateTime<Utc>>,
    /// When the personal data was erased.
    pub erased_at: Option<DateTime<Utc>>,
    pub version: i64,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

impl Investor {
    /// Takes over declared means. The first declaration is free; a higher one must wait until the policy allows it, because the law's limits
    /// follow the investor's own word.
    pub fn declare(&mut self, means: Finances, raise_days: u32, now: DateTime<Utc>) -> Result<()> {
        let wait = Duration::days(raise_days.into());
        let from = self.means_raised_at.map(|at| at + wait).filter(|from| *from > now);
        let mut raised = false;
        let mut check = |pointer, before: Option<i64>, after: Option<i64>| {
            if before.is_none_or(|before| after.is_none_or(|after| after <= before)) {
                return Ok(());
            }
            raised = true;
            let Some(from) = from else { return Ok(()) };
            let from = from.to_rfc3339_opts(SecondsFormat::Secs, true);
            let detail = format!("A higher figure can be declared again from {from} on.");
            Err(Error::field(pointer, "too_early", detail).with_params(json!({ "from": from })))
        };
        Error::all([
            check("/annual_income", self.means.annual_income, means.annual_income),
            check("/net_worth", self.means.net_worth, means.net_worth),
        ])?;
        self.means = means;
        self.means_raised_at = if raised { Some(now) } else { self.means_raised_at };
        Ok(())
    }

    /// Whether the investor is accredited now.
    pub fn is_accredited(&self, now: DateTime<Utc>) -> bool {
        self.accreditation_status == Accreditation::Verified
            && self.accreditation_expires_at.is_none_or(|end| end > now)
    }
}

/// Stores an investor with an approved identity and a screening without a match.
pub async fn insert(
    tx: &mut Tx,
    id: &InvestorId,
    user_id: Option<&UserId>,
    legal_name: &str,
    country: &str,
) -> Result<()> {
    let now = tx.now();
    insert_into("investors")
        .set("id", id)
        .set("user_id", user_id)
        .set("legal_name", legal_name)
        .set("country", country)
        .set("kyc_status", "approved")
        .set("sanctions_status", "clear")
        .set("last_screened_at", now)
        .set("version", 1)
        .set("created_at", now)
        .set("updated_at", now)
        .execute(tx)
        .await?;
    Ok(())
}

/// Stores an investor who has just registered.
pub async fn register(tx: &mut Tx, id: &InvestorId, user_id: &UserId, legal_name: &str, country: &str) -> Result<()> {
    let now = tx.now();
    insert_into("investors")
        .set("id", id)
        .set("user_id", user_id)
        .set("legal_name", legal_name)
        .set("country", country)
        .set("kyc_status", "not_started")
        .set("version", 1)
        .set("created_at", now)
        .set("updated_at", now)
        .execute(tx)
        .await?;
    Ok(())
}

/// One investor; `not_found` if it does not exist.
pub async fn find(tx: &mut Tx, id: &InvestorId) -> Result<Investor> {
    id.check()?;
    sql("select * from investors where id = $1")
        .bind(id)
        .optional::<Investor>(tx)
        .await?
        .ok_or_else(|| Error::refused(Code::NotFound, format!("There is no investor {id}.")))
}

/// Whether the identity is approved now.
pub async fn is_approved(tx: &mut Tx, id: &InvestorId) -> Result<bool> {
    let approved = sql("select count(*) from investors where id = $1 and kyc_status = 'approved'");
    Ok(approved.bind(id).scalar::<i64>(tx).await? == 1)
}

/// The investor of a user; `not_found` if the user is not an investor.
pub async fn of_user(tx: &mut Tx, user_id: &UserId) -> Result<Investor> {
    sql("select * from investors where user_id = $1")
        .bind(user_id)
        .optional::<Investor>(tx)
        .await?
        .ok_or_else(|| Error::refused(Code::NotFound, "You are not an investor."))
}

/// The investor of a verified wallet.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Owner {
    pub id: InvestorId,
    pub legal_name: String,
    /// Whether the identity is approved now.
    pub is_approved: bool,
}

/// The investors of these verified wallets.
pub async fn of_wallets(tx: &mut Tx, wallets: &[Address]) -> Result<HashMap<Address, Owner>> {
    let mut found = HashMap::with_capacity(wallets.len());
    for portion in portions(tx, wallets) {
        let rows = sql("select w.address, i.id, i.legal_name, i.kyc_status
            from wallets w join investors i on i.id = w.investor_id
            where w.verified_at is not null and w.address in (")
        .list(portion.iter().map(|wallet| Hex(*wallet)))
        .push(")")
        .rows::<(Hex<Address>, InvestorId, String, Status)>(tx)
        .await?;
        found.extend(rows.into_iter().map(|(address, id, legal_name, kyc)| {
            (address.0, Owner { id, legal_name, is_approved: kyc == Status::Approved })
        }));
    }
    Ok(found)
}

/// Stores a wallet whose control was proved.
pub async fn insert_wallet(tx: &mut Tx, investor_id: &InvestorId, address: Address) -> Result<()> {
    let (id, now) = (tx.new_id::<of::Wallet>(), tx.now());
    sql("insert into wallets (id, investor_id, address, verified_at, created_at, is_default)
         values ($1, $2, $3, $4, $4, not exists (select 1 from wallets where investor_id = $2 and is_default))")
    .bind((id, investor_id, Hex(address), now))
    .execute(tx)
    .await?;
    Ok(())
}

/// Records the first risk warning of an investor; later warnings change nothing.
pub async fn record_risk_warning(tx: &mut Tx, id: &InvestorId) -> Result<()> {
    let now = tx.now();
    let version = sql("update investors set risk_warned_at = $2, version = version + 1, updated_at = $2
        where id = $1 and risk_warned_at is null returning version")
    .bind((id, now))
    .optional_scalar::<i64>(tx)
    .await?;
    match version {
        Some(version) => {
            event::write(tx, "investor.risk_warned", "investor", id, version, json!({ "warned_at": now })).await
        }
        None => Ok(()),
    }
}

/// Writes the investor if the version is still the one that was read, and writes the named event.
pub async fn update(tx: &mut Tx, i: &mut Investor, event: &str) -> Result<()> {
    let (before, read) = (find(tx, &i.id).await?, i.version);
    if before.erased_at.is_some() {
        return Err(Error::refused(
            Code::InvalidState,
            format!("The personal data of {} was erased, so nothing can be added.", i.id),
        ));
    }
    i.version += 1;
    i.updated_at = tx.now();
    let rows = update_table("investors")
        .set("kind", i.kind)
        .set("legal_name", &i.legal_name)
        .set("country", &i.country)
        .set("tax_residency", &i.tax_residency)
        .set("kyc_status", i.kyc_status)
        .set("kyc_level", i.kyc_level)
        .set("kyc_submitted_at", i.kyc_submitted_at)
        .set("kyc_decided_at", i.kyc_decided_at)
        .set("kyc_expires_at", i.kyc_expires_at)
        .set("kyc_reason_code", &i.kyc_reason_code)
        .set("accreditation_status", i.accreditation_status)
        .set("accreditation_basis", &i.accreditation_basis)
        .set("accreditation_expires_at", i.accreditation_expires_at)
        .set("sanctions_status", i.sanctions_status)
        .set("last_screened_at", i.last_screened_at)
        .set("tax_form", i.tax_form)
        .set("treaty_country", &i.treaty_country)
        .set("version", i.version)
        .set("updated_at", i.updated_at)
        .set("annual_income", i.means.annual_income)
        .set("net_worth", i.means.net_worth)
        .set("means_raised_at", i.means_raised_at)
        .with(" where id = ", &i.id)
        .with(" and version = ", read)
        .execute(tx)
        .await?;
    expect_updated(rows, "investor", &i.id)?;
    tx.recorder().record_change(&i.id, facts(&before), facts(i));
    let data = json!({
        "kyc": { "status": i.kyc_status, "level": i.kyc_level, "reason_code": i.kyc_reason_code },
        "accreditation": { "status": i.accreditation_status, "expires_at": i.accreditation_expires_at },
    });
    event::write(tx, event, "investor", &i.id, i.version, data).await
}

/// The fields for the audit log: the status with values, personal data by name only.
fn facts(i: &Investor) -> Facts {
    let facts = json!({
        "kind": i.kind, "kyc_status": i.kyc_status, "kyc_level": i.kyc_level, "kyc_submitted_at": i.kyc_submitted_at,
        "kyc_decided_at": i.kyc_decided_at, "kyc_expires_at": i.kyc_expires_at, "kyc_reason_code": i.kyc_reason_code,
        "accreditation_status": i.accreditation_status, "accreditation_basis": i.accreditation_basis,
        "accreditation_expires_at": i.accreditation_expires_at, "sanctions_status": i.sanctions_status,
        "last_screened_at": i.last_screened_at, "tax_form": i.tax_form, "version": i.version,
    });
    let person = json!({ "legal_name": i.legal_name, "country": i.country, "tax_residency": i.tax_residency,
        "treaty_country": i.treaty_country, "annual_income": i.means.annual_income, "net_worth": i.means.net_worth });
    Facts::new(facts, person)
}
