//! What an investor looks like: to the investor, to the staff, and to an auditor, who sees who did what and not who it is.

use muniment_domain::db::Tx;
use muniment_domain::investor::{self, Decided, Found, Investor, Kind, Level, Status, TaxForm};
use muniment_domain::kyc::{self, Decision};
use muniment_domain::money::Money;
use muniment_domain::{Result, user, wallet};
use serde_json::{Value, json};

use super::wallet::item as wallet_item;
use crate::instant;

/// Everything about one, as the investor sees it too. What was handed in is in no answer.
pub async fn full(tx: &mut Tx, i: &Investor, masked: bool) -> Result<Value> {
    let email = match &i.user_id {
        Some(id) => Some(user::find(tx, id).await?.email),
        None => None,
    };
    let rate = investor::withholding(tx, &i.id).await?;
    let places = investor::frozen_on(tx, &i.id).await?;
    let wallets = wallet::of_investor(tx, &i.id).await?;
    let mut record = short(i, tx.now(), masked);
    record["email"] = json!(email.map(|email| if masked { masked_email(&email) } else { email }));
    record["tax_residency"] = json!(i.tax_residency);
    record["kyc"]["required_documents"] = json!(required_documents(i));
    record["accreditation"]["basis"] = json!(i.accreditation_basis);
    let form = if i.tax_form == TaxForm::None { "missing" } else { "declared" };
    record["tax"] = json!({ "form": i.tax_form, "status": form, "withholding_rate": Money::from_minor(rate).to_string(),
        "treaty_country": i.treaty_country });
    // What an investor may still put in under the rule for crowdfunding depends on an income that the platform does not ask for.
    record["limits"] = json!({ "reg_cf_remaining": null });
    record["wallets"] = wallets.iter().map(|w| wallet_item(w, &places)).collect();
    Ok(record)
}

/// What the staff sees besides: who decided what, and what a suspension asks to be frozen.
pub async fn for_staff(tx: &mut Tx, i: &Investor, masked: bool) -> Result<Value> {
    let mut record = full(tx, i, masked).await?;
    record["decisions"] = kyc::decisions(tx, &i.id).await?.iter().map(decision).collect();
    record["accreditations"] = investor::accreditations(tx, &i.id).await?.iter().map(found).collect();
    record["tax"]["decisions"] = investor::tax_decisions(tx, &i.id).await?.iter().map(taxed).collect();
    record["freeze_proposals"] = json!(freeze_proposals(tx, i).await?);
    Ok(record)
}

/// The freezes that a suspension proposes: every wallet in every token where it holds something and is free.
pub async fn freeze_proposals(tx: &mut Tx, i: &Investor) -> Result<Vec<Value>> {
    if i.kyc_status != Status::Suspended {
        return Ok(Vec::new());
    }
    let places = investor::frozen_on(tx, &i.id).await?;
    let free = places.iter().filter(|place| !place.frozen);
    Ok(free.map(|p| json!({ "offering_id": p.offering_id, "address": p.wallet_address.0.to_checksum(None) })).collect())
}

/// One of many.
pub fn short(i: &Investor, now: chrono::DateTime<chrono::Utc>, masked: bool) -> Value {
    let accredited = match i.accreditation_status {
        investor::Accreditation::Verified if !i.is_accredited(now) => "expired",
        status => status.as_str(),
    };
    json!({
        "id": i.id, "user_id": i.user_id, "type": i.kind, "legal_name": if masked { masked_name(&i.legal_name) } else { i.legal_name.clone() },
        "country": i.country,
        "accreditation": { "status": accredited, "expires_at": instant::optional(i.accreditation_expires_at) },
        "kyc": { "status": i.kyc_status, "level": i.kyc_level, "submitted_at": instant::optional(i.kyc_submitted_at),
            "decided_at": instant::optional(i.kyc_decided_at), "expires_at": instant::optional(i.kyc_expires_at),
            "reason_code": i.kyc_reason_code },
        "sanctions": { "status": i.sanctions_status, "last_screened_at": instant::optional(i.last_screened_at) },
        "version": i.version, "created_at": instant::text(i.created_at), "updated_at": instant::text(i.updated_at),
    })
}

fn decision(d: &Decision) -> Value {
    json!({ "id": d.id, "case_id": d.case_id, "decision": d.decision, "from": d.from_status, "to": d.to_status, "level": d.level,
        "reason_code": d.reason_code, "evidence_sha256": d.evidence_sha256, "screening": d.screening, "expires_at": instant::optional(d.expires_at),
        "decided_by": d.decided_by, "created_at": instant::text(d.created_at) })
}

fn found(f: &Found) -> Value {
    json!({ "id": f.id, "status": f.status, "basis": f.basis, "evidence_sha256": f.evidence_sha256,
        "expires_at": instant::optional(f.expires_at), "decided_by": f.decided_by, "created_at": instant::text(f.created_at) })
}

fn taxed(d: &Decided) -> Value {
    json!({ "id": d.id, "withholding_rate": Money::from_minor(d.rate_basis_points).to_string(), "basis": d.basis,
        "evidence_sha256": d.evidence_sha256, "decided_by": d.decided_by, "created_at": instant::text(d.created_at) })
}

/// What somebody has to show next; nothing while it is looked at or was approved.
fn required_documents(i: &Investor) -> Vec<&'static str> {
    let open =
        matches!(i.kyc_status, Status::NotStarted | Status::NeedsInformation | Status::Rejected | Status::Expired);
    let mut wanted = match (open, i.kind) {
        (false, _) => return Vec::new(),
        (true, Kind::Individual) => vec!["identity_document", "proof_of_address"],
        (true, Kind::Entity) => vec!["certificate_of_incorporation", "proof_of_address", "beneficial_owners"],
    };
    if i.kyc_level == Some(Level::Enhanced) {
        wanted.push("source_of_funds");
    }
    wanted
}

fn masked_name(name: &str) -> String {
    name.split_whitespace()
        .filter_map(|word| word.chars().next())
        .map(|first| format!("{first}…"))
        .collect::<Vec<_>>()
        .join(" ")
}

/// An address of which only the first letter and the domain are left.
pub fn masked_email(email: &str) -> String {
    let (local, domain) = email.split_once('@').unwrap_or_default();
    format!("{}…@{domain}", local.chars().take(1).collect::<String>())
}
