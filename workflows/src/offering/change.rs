//! Changing an offering: every field of a draft, fewer fields later, and the terms of an open offering only if its subscribers confirm
//! again.

use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::id::OfferingId;
use muniment_domain::offering::document::{self, Document};
use muniment_domain::offering::{self, Move, Offering, Scope, Status, raise_limit, terms};
use muniment_domain::{Code, Error, Result, exemption, issuer, subscription};
use serde_json::json;

use super::{calendar, lock};
use crate::engine::timer;
use crate::requester::Requester;
use crate::token::deploy;

/// Fields that can change after publication without a new confirmation by the subscribers.
const IN_PUBLIC: [&str; 3] = ["description", "cover_image_url", "closes_at"];
/// Fields that never change after the approval, because the token and the ledger depend on them.
const FIXED: [(&str, &str); 11] = [
    ("currency", "/currency"),
    ("unit_price", "/unit_price"),
    ("token_symbol", "/token_symbol"),
    ("token_decimals", "/token_decimals"),
    ("partition", "/partition"),
    ("chain_id", "/network"),
    ("exemption", "/exemption"),
    ("template", "/template"),
    ("opens_at", "/opens_at"),
    ("auto_open", "/auto_open"),
    ("utc_offset_minutes", "/utc_offset_minutes"),
];

/// Creates a draft for an active issuer.
pub async fn create(tx: &mut Tx, draft: Offering, by: &Requester) -> Result<Offering> {
    issuer::active(tx, &draft.issuer_id).await?;
    terms::check(&draft, tx.now())?;
    offering::draft(tx, draft, &by.actor).await
}

/// Changes an offering as far as its status allows. The caller must name the version that they read, except for a draft.
pub async fn change(
    tx: &mut Tx,
    scope: &Scope,
    id: &OfferingId,
    seen: Option<i64>,
    apply: impl FnOnce(&mut Offering),
    by: &Requester,
) -> Result<Offering> {
    let before = lock(tx, scope, id).await?;
    validate_version(&before, seen)?;
    let mut o = before.clone();
    apply(&mut o);
    let changed = terms::changed(&before, &o);
    match before.status {
        Status::Draft => {}
        Status::Approved | Status::Open | Status::Paused => validate_public_change(&before, &o, &changed, tx.now())?,
        status => {
            let detail = format!("The offering is {status}. It cannot be changed in this status.");
            return Err(Error::illegal(detail, status.as_str(), status.requests()));
        }
    }
    if o == before {
        return Ok(before);
    }
    terms::check(&o, tx.now())?;
    if before.status.is_running() {
        o.terms_sha256 = Some(terms::sha256(&o)?);
        if before.lockup_release_at.is_some() {
            o.lockup_release_at = o.lockup_end();
        }
    }
    note_moved_end(&before, &mut o);
    offering::save(tx, &mut o, "offering.updated", json!({ "actor": by.actor, "changed": changed })).await?;
    let now = tx.now();
    timer::set(tx, &o.id, calendar::next_check(&o, now)).await?;
    Ok(o)
}

/// If the end moved, starts a new round in which the calendar updates the subscriptions page by page.
fn note_moved_end(before: &Offering, after: &mut Offering) {
    let moved = before.closes_at != after.closes_at || before.cooling_off_hours != after.cooling_off_hours;
    after.calendar_version += i64::from(moved);
}

fn validate_version(o: &Offering, seen: Option<i64>) -> Result<()> {
    match seen {
        Some(version) if version != o.version => Err(Error::refused(
            Code::VersionConflict,
            format!("The offering has version {} now. Read it again.", o.version),
        )),
        None if o.status != Status::Draft => Err(Error::refused(
            Code::PreconditionRequired,
            "Read the offering first, and send its ETag in the If-Match header.",
        )),
        _ => Ok(()),
    }
}

fn validate_public_change(before: &Offering, after: &Offering, changed: &[String], now: DateTime<Utc>) -> Result<()> {
    if changed.iter().any(|field| !IN_PUBLIC.contains(&field.as_str())) {
        let detail = format!(
            "The offering is {}. Only the description, the picture and a later end can be changed here. Use material-change for {}.",
            before.status,
            changed.join(", ")
        );
        return Err(Error::field("", "not_changeable", detail).with_params(json!({ "changed": changed })));
    }
    if after.closes_at < before.closes_at && before.exemption.profile().early_end_notice_days.is_none() {
        return Err(Error::field(
            "/closes_at",
            "below_minimum",
            "The end of the offering can only be moved to a later time.",
        ));
    }
    validate_notice(before, after, now)
}

/// Refuses an earlier end without the notice that the exemption requires. Where the withdrawal period is counted back from the end, the
/// notice leaves every subscriber time to withdraw.
fn validate_notice(before: &Offering, after: &Offering, now: DateTime<Utc>) -> Result<()> {
    let notice = before.exemption.profile().early_end_notice_days;
    let Some(days) = notice.filter(|_| after.closes_at < before.closes_at) else { return Ok(()) };
    let earliest = exemption::working_days_after(now, days);
    if after.closes_at >= Some(earliest) {
        return Ok(());
    }
    let detail = format!(
        "An earlier end needs {days} working days of notice. The earliest possible end is {}.",
        earliest.to_rfc3339()
    );
    Err(Error::field("/closes_at", "below_minimum", detail).with_params(json!({ "minimum": earliest })))
}

/// Changes the terms of an open offering. Its subscribers must confirm again, or their subscriptions end.
pub async fn material_change(
    tx: &mut Tx,
    scope: &Scope,
    id: &OfferingId,
    apply: impl FnOnce(&mut Offering),
    reason: &str,
    by: &Requester,
) -> Result<Offering> {
    let before = lock(tx, scope, id).await?;
    let mut o = before.clone();
    if before.status.next(Move::MaterialChange).is_some() {
        apply(&mut o);
        let changed = terms::changed(&before, &o);
        if changed.is_empty() {
            return Err(Error::field("/changes", "required", "The request changes nothing."));
        }
        if let Some((_, pointer)) = FIXED.iter().find(|(field, _)| changed.iter().any(|name| name == field)) {
            return Err(Error::field(pointer, "not_changeable", "This field cannot change after the approval."));
        }
        terms::check(&o, tx.now())?;
        validate_notice(&before, &o, tx.now())?;
        if o.hard_cap != before.hard_cap {
            raise_limit::check(tx, &o).await?;
        }
        if o.hard_cap < o.committed_total {
            return Err(Error::field("/hard_cap", "below_minimum", "The committed amount is already higher."));
        }
        validate_token_cap(tx, &o).await?;
        o.terms_version += 1;
        o.terms_sha256 = Some(terms::sha256(&o)?);
        // Without days, `lockup_end` keeps the date. That is right only for one that was never counted from days.
        let is_unlocked = counts_lockup(&before) && !counts_lockup(&o);
        o.lockup_release_at = if is_unlocked { None } else { o.lockup_end() };
        note_moved_end(&before, &mut o);
    }
    // From now on the calendar updates the subscriptions page by page.
    super::make_move(tx, &mut o, Move::MaterialChange, &by.actor, Some(reason)).await?;
    subscription::forget_deadlines_of(tx, &o.id).await?;
    Ok(o)
}

fn counts_lockup(o: &Offering) -> bool {
    o.lockup_days.is_some_and(|days| days > 0)
}

/// Refuses a hard cap above the cap of the deployed token, which never changes.
async fn validate_token_cap(tx: &mut Tx, o: &Offering) -> Result<()> {
    match deploy::ceiling_below_hard_cap(tx, o).await? {
        Some(ceiling) => {
            let detail =
                format!("The token was deployed with a cap of {ceiling} base units, and this cap cannot change.");
            Err(Error::field("/hard_cap", "above_maximum", detail).with_params(json!({ "units": ceiling.to_string() })))
        }
        None => Ok(()),
    }
}

/// Adds a document.
pub async fn add_document(
    tx: &mut Tx,
    scope: &Scope,
    id: &OfferingId,
    new: document::New<'_>,
    by: &Requester,
) -> Result<Document> {
    let o = lock(tx, scope, id).await?;
    if o.status == Status::Draft || o.status.is_running() {
        return document::add(tx, &o, new, &by.actor).await;
    }
    let detail = format!("The offering is {}. No document can be added in this status.", o.status);
    Err(Error::illegal(detail, o.status.as_str(), o.status.requests()))
}
