//! An investor as the investor, staff and auditors see it. Auditors see decisions, but masked names.

use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::id::{
    AccreditationId, InvestorId, KycCaseId, KycDecisionId, OfferingId, SubscriptionId, TaxRateId, UserId,
};
use muniment_domain::investment_limit::Limit;
use muniment_domain::investor::{self, Investor, Kind, Level, Move, Screening, Status, StoredAccreditation, TaxForm};
use muniment_domain::kyc::{self, Decision};
use muniment_domain::money::Money;
use muniment_domain::{Result, subscription, user, wallet};
use serde::Serialize;
use utoipa::ToSchema;

use super::wallet::{View as Wallet, item as wallet_item};
use crate::field::address::Typed;
use crate::field::amount::Amount;
use crate::field::name::{masked_email, masked_name};
use crate::http::instant::Instant;

/// An investor as lists show it.
#[derive(Serialize, ToSchema)]
#[schema(as = InvestorFacts)]
pub struct Facts {
    id: InvestorId,
    user_id: Option<UserId>,
    #[serde(rename = "type")]
    kind: Kind,
    /// The legal name. Masked for auditors.
    legal_name: String,
    country: String,
    accreditation: Accredited,
    kyc: KycView,
    sanctions: Screened,
    /// When the personal data was erased. Subscriptions and payments stay stored. Null if it was not.
    erased_at: Option<Instant>,
    version: i64,
    created_at: Instant,
    updated_at: Instant,
}

/// The accreditation of the investor.
#[derive(Serialize, ToSchema)]
#[schema(as = AccreditationOfInvestor)]
struct Accredited {
    /// `none`, `verified` or `expired`.
    #[schema(example = "verified")]
    status: &'static str,
    #[schema(example = "net_worth")]
    basis: Option<String>,
    expires_at: Option<Instant>,
}

/// The status of the identity check.
#[derive(Serialize, ToSchema)]
#[schema(as = InvestorKyc)]
pub struct KycView {
    status: Status,
    level: Option<Level>,
    submitted_at: Option<Instant>,
    decided_at: Option<Instant>,
    expires_at: Option<Instant>,
    #[schema(example = "documents_match")]
    reason_code: Option<String>,
    /// The documents to submit next, as their SHA-256 in `document_sha256s`: the platform stores no files. Empty during a review and after
    /// the approval.
    #[schema(example = json!(["identity_document", "proof_of_address"]))]
    required_documents: Vec<&'static str>,
}

/// The result of the sanctions screening.
#[derive(Serialize, ToSchema)]
#[schema(as = InvestorSanctions)]
struct Screened {
    status: Screening,
    /// When the investor was last screened.
    last_screened_at: Option<Instant>,
}

/// The profile of an investor, without submitted documents.
#[derive(Serialize, ToSchema)]
#[schema(as = InvestorProfile)]
pub struct Full {
    #[serde(flatten)]
    facts: Facts,
    /// The e-mail address. Masked for auditors.
    email: Option<String>,
    #[schema(example = "PT")]
    tax_residency: Option<String>,
    /// The withholding tax.
    tax: Taxes,
    /// The annual income that the investor declared. Null if none. Not shown to auditors.
    annual_income: Option<Amount>,
    /// The net worth that the investor declared. Null if none. Not shown to auditors.
    net_worth: Option<Amount>,
    limits: Limits,
    /// The wallets.
    wallets: Vec<Wallet>,
}

/// The withholding tax of the investor.
#[derive(Serialize, ToSchema)]
#[schema(as = InvestorTax)]
struct Taxes {
    /// The tax form.
    form: TaxForm,
    /// `declared` or `missing`.
    #[schema(example = "declared")]
    status: &'static str,
    /// The withholding rate in percent.
    #[schema(example = "15.00")]
    withholding_rate: String,
    #[schema(example = "PT")]
    treaty_country: Option<String>,
    /// Every withholding rate that was set, oldest first. For staff and in an export.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    decisions: Option<Vec<TaxDecided>>,
}

/// A withholding decision.
#[derive(Serialize, ToSchema)]
#[schema(as = TaxDecision)]
struct TaxDecided {
    id: TaxRateId,
    #[schema(example = "15.00")]
    withholding_rate: String,
    #[schema(example = "treaty")]
    basis: String,
    #[schema(example = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")]
    evidence_sha256: String,
    #[schema(example = "usr_01jc8yq3k5e9v8w2m4n6p7r9st")]
    decided_by: String,
    created_at: Instant,
}

/// The investment limits of the investor.
#[derive(Serialize, ToSchema)]
#[schema(as = InvestorLimits)]
struct Limits {
    /// The remaining investment limit under Regulation Crowdfunding, over all offerings of the last twelve months. Null for an accredited
    /// investor, who has no limit.
    reg_cf_remaining: Option<Amount>,
    /// What the investor may put into each offering under Regulation A, Tier 2, whatever is already in others. Null for an accredited investor.
    reg_a_t2_per_offering: Option<Amount>,
    /// What is left of it in each offering in which the investor has a subscription. Null for an accredited investor.
    reg_a_t2_remaining: Option<Vec<Remaining>>,
}

/// What an investor may still put into an offering.
#[derive(Serialize, ToSchema)]
#[schema(as = InvestorLimitRemaining)]
struct Remaining {
    offering_id: OfferingId,
    /// What is left.
    remaining: Amount,
}

/// The profile in an export, with all decisions.
#[derive(Serialize, ToSchema)]
#[schema(as = InvestorProfileExport)]
pub struct ForPerson {
    #[serde(flatten)]
    full: Full,
    /// The decisions.
    decisions: Vec<Decided>,
    /// The accreditation decisions.
    accreditations: Vec<AccreditationFound>,
}

/// An investor with the decisions and the freeze proposals, for staff.
#[derive(Serialize, ToSchema)]
#[schema(as = Investor)]
pub struct ForStaff {
    #[serde(flatten)]
    known: ForPerson,
    /// The wallets to freeze.
    freeze_proposals: Vec<Proposed>,
}

/// An identity decision.
#[derive(Serialize, ToSchema)]
#[schema(as = KycDecision)]
struct Decided {
    id: KycDecisionId,
    case_id: Option<KycCaseId>,
    decision: Move,
    from: Status,
    to: Status,
    level: Option<Level>,
    #[schema(example = "documents_match")]
    reason_code: Option<String>,
    #[schema(example = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")]
    evidence_sha256: Option<String>,
    screening: Option<Screening>,
    expires_at: Option<Instant>,
    /// The reviewer, or `system` for an expiry.
    #[schema(example = "usr_01jc8yq3k5e9v8w2m4n6p7r9st")]
    decided_by: String,
    created_at: Instant,
}

/// An accreditation decision.
#[derive(Serialize, ToSchema)]
#[schema(as = AccreditationFinding)]
struct AccreditationFound {
    id: AccreditationId,
    status: investor::Accreditation,
    #[schema(example = "net_worth")]
    basis: String,
    #[schema(example = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")]
    evidence_sha256: String,
    expires_at: Option<Instant>,
    #[schema(example = "usr_01jc8yq3k5e9v8w2m4n6p7r9st")]
    decided_by: String,
    created_at: Instant,
}

/// A wallet that holds units of a token and is not frozen there.
#[derive(Serialize, ToSchema)]
#[schema(as = FreezeProposal)]
struct Proposed {
    offering_id: OfferingId,
    address: Typed,
}

/// Everything about one, as the investor sees it too.
pub async fn full(tx: &mut Tx, i: &Investor, masked: bool) -> Result<Full> {
    let email = match &i.user_id {
        Some(id) if i.erased_at.is_none() => Some(user::find(tx, id).await?.email),
        _ => None,
    };
    let rate = investor::withholding(tx, &i.id).await?;
    let places = investor::frozen_on(tx, &i.id).await?;
    let wallets = wallet::of_investor(tx, &i.id).await?;
    Ok(Full {
        facts: facts(i, tx.now(), masked),
        email: email.map(|email| if masked { masked_email(&email) } else { email }),
        tax_residency: i.tax_residency.clone(),
        tax: Taxes {
            form: i.tax_form,
            status: if i.tax_form == TaxForm::None { "missing" } else { "declared" },
            withholding_rate: Money::from_minor(rate).to_string(),
            treaty_country: i.treaty_country.clone(),
            decisions: None,
        },
        annual_income: i.means.annual_income.filter(|_| !masked).map(amount),
        net_worth: i.means.net_worth.filter(|_| !masked).map(amount),
        limits: limits(tx, i, masked).await?,
        wallets: wallets.iter().map(|w| wallet_item(w, &places)).collect(),
    })
}

/// An auditor could tell the income from what may still be put in.
async fn limits(tx: &mut Tx, i: &Investor, masked: bool) -> Result<Limits> {
    if masked || i.is_accredited(tx.now()) {
        return Ok(Limits { reg_cf_remaining: None, reg_a_t2_per_offering: None, reg_a_t2_remaining: None });
    }
    let left = Limit::CrowdfundingYear.of(i.means)
        - subscription::crowdfunding_total(tx, &i.id, &SubscriptionId::default()).await?;
    let each = Limit::TenthOfEach.of(i.means);
    let used = subscription::regulation_a_totals(tx, &i.id).await?;
    let remaining =
        |(offering_id, used): (OfferingId, i64)| Remaining { offering_id, remaining: amount((each - used).max(0)) };
    Ok(Limits {
        reg_cf_remaining: Some(amount(left.max(0))),
        reg_a_t2_per_offering: Some(amount(each)),
        reg_a_t2_remaining: Some(used.into_iter().map(remaining).collect()),
    })
}

fn amount(minor: i64) -> Amount {
    Amount(Money::from_minor(minor))
}

/// The same with everything that was decided, for whom it is about.
pub async fn for_person(tx: &mut Tx, i: &Investor) -> Result<ForPerson> {
    with_decisions(tx, i, false).await
}

/// The same for the staff.
pub async fn for_staff(tx: &mut Tx, i: &Investor, masked: bool) -> Result<ForStaff> {
    let known = with_decisions(tx, i, masked).await?;
    Ok(ForStaff { known, freeze_proposals: freeze_proposals(tx, i).await? })
}

async fn with_decisions(tx: &mut Tx, i: &Investor, masked: bool) -> Result<ForPerson> {
    let mut full = full(tx, i, masked).await?;
    full.tax.decisions = Some(investor::tax_decisions(tx, &i.id).await?.into_iter().map(withheld).collect());
    Ok(ForPerson {
        full,
        decisions: kyc::decisions(tx, &i.id).await?.into_iter().map(decided).collect(),
        accreditations: investor::accreditations(tx, &i.id).await?.into_iter().map(accredited).collect(),
    })
}

/// The freezes that a suspension proposes: every wallet in every token where it holds something and is free.
async fn freeze_proposals(tx: &mut Tx, i: &Investor) -> Result<Vec<Proposed>> {
    if i.kyc_status != Status::Suspended {
        return Ok(Vec::new());
    }
    let free = investor::frozen_on(tx, &i.id).await?.into_iter().filter(|place| !place.frozen);
    Ok(free.map(|p| Proposed { offering_id: p.offering_id, address: Typed(p.wallet_address.0) }).collect())
}

/// One of many.
pub fn facts(i: &Investor, now: DateTime<Utc>, masked: bool) -> Facts {
    let accredited = match i.accreditation_status {
        investor::Accreditation::Verified if !i.is_accredited(now) => "expired",
        status => status.as_str(),
    };
    Facts {
        id: i.id.clone(),
        user_id: i.user_id.clone(),
        kind: i.kind,
        legal_name: if masked { masked_name(&i.legal_name) } else { i.legal_name.clone() },
        country: i.country.clone(),
        accreditation: Accredited {
            status: accredited,
            basis: i.accreditation_basis.clone(),
            expires_at: i.accreditation_expires_at.map(Instant),
        },
        kyc: kyc_of(i),
        sanctions: Screened { status: i.sanctions_status, last_screened_at: i.last_screened_at.map(Instant) },
        erased_at: i.erased_at.map(Instant),
        version: i.version,
        created_at: Instant(i.created_at),
        updated_at: Instant(i.updated_at),
    }
}

/// The status of the identity check.
pub fn kyc_of(i: &Investor) -> KycView {
    KycView {
        status: i.kyc_status,
        level: i.kyc_level,
        submitted_at: i.kyc_submitted_at.map(Instant),
        decided_at: i.kyc_decided_at.map(Instant),
        expires_at: i.kyc_expires_at.map(Instant),
        reason_code: i.kyc_reason_code.clone(),
        required_documents: required_documents(i),
    }
}

fn decided(d: Decision) -> Decided {
    Decided {
        id: d.id,
        case_id: d.case_id,
        decision: d.decision,
        from: d.from_status,
        to: d.to_status,
        level: d.level,
        reason_code: d.reason_code,
        evidence_sha256: d.evidence_sha256,
        screening: d.screening,
        expires_at: d.expires_at.map(Instant),
        decided_by: d.decided_by,
        created_at: Instant(d.created_at),
    }
}

fn accredited(f: StoredAccreditation) -> AccreditationFound {
    AccreditationFound {
        id: f.id,
        status: f.status,
        basis: f.basis,
        evidence_sha256: f.evidence_sha256,
        expires_at: f.expires_at.map(Instant),
        decided_by: f.decided_by,
        created_at: Instant(f.created_at),
    }
}

fn withheld(d: investor::StoredTaxRate) -> TaxDecided {
    TaxDecided {
        id: d.id,
        withholding_rate: Money::from_minor(d.rate_basis_points).to_string(),
        basis: d.basis,
        evidence_sha256: d.evidence_sha256,
        decided_by: d.decided_by,
        created_at: Instant(d.created_at),
    }
}

/// The documents to submit next. Empty during a review and after the approval.
fn required_documents(i: &Investor) -> Vec<&'static str> {
    let mut wanted = match (i.kyc_status.next(Move::Submit).is_some(), i.kind) {
        (false, _) => return Vec::new(),
        (true, Kind::Individual) => vec!["identity_document", "proof_of_address"],
        (true, Kind::Entity) => vec!["certificate_of_incorporation", "proof_of_address", "beneficial_owners"],
    };
    if i.kyc_level == Some(Level::Enhanced) {
        wanted.push("source_of_funds");
    }
    wanted
}
