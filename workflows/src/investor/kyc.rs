//! Identity checks (KYC): the investor submits a case, a reviewer decides it, and an approval expires. An approval allows acceptance, mint
//! and payout. The end of an approval holds the investor's entitlements in the same commit.

use alloy_primitives::Address;
use chrono::{DateTime, Duration, Months, Utc};
use muniment_domain::db::Tx;
use muniment_domain::id::{InvestorId, KycCaseId};
use muniment_domain::investor::{self, Accreditation, AccreditationDecision, Investor, Level, Move, Screening, Status};
use muniment_domain::kyc::{self, DecisionReason, NewCase};
use muniment_domain::operation::{Kind, Operation};
use muniment_domain::policy::Limits;
use muniment_domain::{Code, Error, Result, country, distribution, offering, operation_item, subscription};

use crate::engine::timer;
use crate::limits;
use crate::own_record::not_own;
use crate::payout::entitlement;
use crate::requester::Requester;
use crate::settings::Settings;
use crate::token::split;

/// After a rejection an investor waits this long before the next submission.
const REJECTED_DAYS: i64 = 30;

/// A reviewer's decision.
#[derive(Clone, Debug)]
pub struct Decision {
    /// The reviewer's move.
    pub word: Move,
    /// The verified level, if it differs from the requested one.
    pub level: Option<Level>,
    /// The code of the reason. Required except for an approval.
    pub reason_code: Option<String>,
    /// The hash of the supporting document. Required for an approval.
    pub evidence_sha256: Option<String>,
    /// The result of the screening against sanctions lists. Required for an approval.
    pub screening: Option<Screening>,
    /// The end of the approval. Without it, the longest allowed period.
    pub expires_at: Option<DateTime<Utc>>,
    /// Whether the investor is high-risk, so that the approval expires earlier.
    pub high_risk: bool,
    /// An accreditation as well: its basis, and its end.
    pub accreditation: Option<(String, Option<DateTime<Utc>>)>,
    /// The version of the investor that the reviewer read, if they named it. New papers make a new version.
    pub seen: Option<i64>,
}

/// Submits a case, with the country if the profile has none yet.
pub async fn submit(tx: &mut Tx, new: &NewCase<'_>, lives_in: Option<&str>) -> Result<(Investor, KycCaseId)> {
    let mut i = investor::of_user(tx, &new.submitted_by.into()).await?;
    if let (Status::Rejected, Some(decided)) = (i.kyc_status, i.kyc_decided_at) {
        let again = decided + Duration::days(REJECTED_DAYS);
        if tx.now() < again {
            let detail = format!("Your identity check was rejected. You can submit again from {}.", again.to_rfc3339());
            return Err(Error::refused(Code::InvalidState, detail));
        }
    }
    if !i.kyc_status.moves().contains(&Move::Submit) {
        return Err(kyc::illegal_move(&i, Move::Submit));
    }
    if let Some(country) = lives_in {
        country.clone_into(&mut i.country);
    }
    if !country::is_known(&i.country) {
        return Err(Error::field(
            "/country",
            "required",
            "The country of residence is required. It decides which offerings are open to you.",
        ));
    }
    let case = kyc::insert_case(tx, &i.id, new).await?;
    i.kyc_level = Some(new.level);
    i.kyc_submitted_at = Some(tx.now());
    kyc::transition(
        tx,
        &mut i,
        Move::Submit,
        &DecisionReason { decided_by: new.submitted_by, ..DecisionReason::default() },
    )
    .await?;
    Ok((i, case))
}

/// Decides a submitted case.
pub async fn decide(
    tx: &mut Tx,
    settings: &Settings,
    investor_id: &InvestorId,
    d: &Decision,
    by: &Requester,
) -> Result<Investor> {
    let mut i = investor::find(tx, investor_id).await?;
    not_own(tx, investor_id, by).await?;
    if d.seen.is_some_and(|version| version != i.version) {
        let detail = format!("The investor has version {} now. Read it again, with the papers.", i.version);
        return Err(Error::refused(Code::VersionConflict, detail));
    }
    if matches!(d.word, Move::Approve | Move::Renew) {
        let limits = limits::current(tx, settings).await?.1;
        approve(tx, &limits, &mut i, d)?;
        if let Some(finding) = finding(d, by) {
            finding.apply(&mut i);
        }
    }
    let decided = DecisionReason {
        decided_by: &by.actor,
        reason_code: d.reason_code.as_deref(),
        evidence_sha256: d.evidence_sha256.as_deref(),
        screening: d.screening,
    };
    kyc::transition(tx, &mut i, d.word, &decided).await?;
    if let Some(finding) = finding(d, by) {
        finding.keep(tx, &i).await?;
    }
    timer::set(tx, &i.id, ends_at(&i)).await?;
    Ok(i)
}

/// The accreditation that an approval includes. It has the same supporting document.
fn finding<'a>(d: &'a Decision, by: &'a Requester) -> Option<AccreditationDecision<'a>> {
    let (basis, expires_at) = d.accreditation.as_ref()?;
    let evidence_sha256 = d.evidence_sha256.as_deref()?;
    let (status, expires_at) = (Accreditation::Verified, *expires_at);
    Some(AccreditationDecision { status, basis, evidence_sha256, expires_at, decided_by: &by.actor })
}

fn approve(tx: &Tx, limits: &Limits, i: &mut Investor, d: &Decision) -> Result<()> {
    if d.screening != Some(Screening::Clear) {
        let detail = "An approval needs a screening with the result clear.";
        return Err(Error::field("/screening", "sanctions_not_clear", detail));
    }
    if !country::is_known(&i.country) {
        let detail = "The investor's country is unknown. Request it with the decision needs_information.";
        return Err(Error::field("/decision", "country_required", detail));
    }
    let now = tx.now();
    let months = Months::new(if d.high_risk { limits.kyc_months_at_high_risk } else { limits.kyc_months });
    let latest = now.checked_add_months(months).unwrap_or(now);
    let expires_at = d.expires_at.unwrap_or(latest);
    if expires_at <= now || expires_at > latest {
        let detail = format!("The approval must expire between now and {}.", latest.to_rfc3339());
        return Err(Error::field("/expires_at", "out_of_range", detail));
    }
    i.kyc_expires_at = Some(expires_at);
    i.kyc_level = d.level.or(i.kyc_level);
    Ok(())
}

/// The end of an investor's approval, if the investor is approved.
pub fn ends_at(i: &Investor) -> Option<DateTime<Utc>> {
    i.kyc_expires_at.filter(|_| i.kyc_status == Status::Approved)
}

/// Ends an approval that has expired, holds the investor's entitlements, and returns the time of the next check.
pub async fn on_timer(tx: &mut Tx, investor_id: &InvestorId) -> Result<Option<DateTime<Utc>>> {
    let mut i = investor::find(tx, investor_id).await?;
    if ends_at(&i).is_some_and(|end| end <= tx.now()) {
        await_mints(tx, investor_id).await?;
        let by = Requester { actor: "engine".to_owned(), request_id: None, idempotency_key: None };
        kyc::transition(
            tx,
            &mut i,
            Move::Expire,
            &DecisionReason { decided_by: &by.actor, ..DecisionReason::default() },
        )
        .await?;
        approval_ended(tx, &i.id, &by, "the approval of the identity has expired").await?;
    }
    Ok(ends_at(&i))
}

/// Waits for subscriptions and mints that are being accepted and have read the identity. Later ones see its new status.
pub async fn await_mints(tx: &mut Tx, investor_id: &InvestorId) -> Result<()> {
    for offering_id in subscription::offerings_to_mint(tx, investor_id).await? {
        offering::lock_row(tx, &offering_id).await?;
    }
    Ok(())
}

/// Stops what an investor whose identity is not approved any more would receive: payments are held, and mints leave the investor out.
pub async fn approval_ended(tx: &mut Tx, investor_id: &InvestorId, by: &Requester, note: &str) -> Result<()> {
    entitlement::hold_all_of(tx, investor_id, by, note).await?;
    split::leave_out(tx, investor_id, note).await
}

/// Refuses a page with a holder whose identity is not approved. A page that waits leaves such a holder out, but this one had failed by then.
/// First it takes the lock under which a suspension is written, so that neither misses the other.
pub async fn refuse_unapproved(tx: &mut Tx, op: &Operation) -> Result<()> {
    match (op.kind, &op.offering_id) {
        (Kind::Payout, _) if op.subject_type == "distribution" => {
            distribution::lock_row(tx, &op.subject()).await?;
        }
        (Kind::Mint, Some(offering_id)) => {
            offering::lock_row(tx, offering_id).await?;
        }
        _ => return Ok(()),
    }
    let items = operation_item::of_operation(tx, &op.id).await?;
    let wallets: Vec<Address> = items.iter().map(|item| item.wallet_address.0).collect();
    let owners = investor::of_wallets(tx, &wallets).await?;
    match owners.values().find(|owner| !owner.is_approved) {
        Some(owner) => Err(op.illegal(format!(
            "The identity of {} is not approved. Abandon the page, and request the others again.",
            owner.id
        ))),
        None => Ok(()),
    }
}
