//! Writing an offering: while it is a draft everything, later less, and what subscribers agreed to only by asking them again.

use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::offering::document::{self, Document};
use muniment_domain::offering::{self, Move, Offering, Scope, Status, raise, terms};
use muniment_domain::{Code, Error, Result, exemption, issuer};
use serde_json::json;

use super::{calendar, hold, lockup_release_at};
use crate::engine::timer;
use crate::requester::Requester;
use crate::token::deploy;

/// What may change in public: the rest needs a new yes of whoever subscribed.
const IN_PUBLIC: [&str; 3] = ["description", "cover_image_url", "closes_at"];
/// What the token, the chain and the books rest on: it never changes once it was approved.
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

/// Writes a draft for an organisation that may offer.
pub async fn create(tx: &mut Tx, draft: Offering, by: &Requester) -> Result<Offering> {
    issuer::active(tx, &draft.issuer_id).await?;
    terms::check(&draft, tx.now())?;
    offering::draft(tx, draft, &by.actor).await
}

/// Changes it, as far as its state lets it. Which version the caller saw must be said unless it is a draft.
pub async fn change(
    tx: &mut Tx,
    scope: &Scope,
    id: &str,
    seen: Option<i64>,
    apply: impl FnOnce(&mut Offering),
    by: &Requester,
) -> Result<Offering> {
    let before = hold(tx, scope, id).await?;
    must_have_seen(&before, seen)?;
    let mut o = before.clone();
    apply(&mut o);
    let changed = terms::changed(&before, &o);
    match before.status {
        Status::Draft => {}
        Status::Approved | Status::Open | Status::Paused => in_public(&before, &o, &changed, tx.now())?,
        status => {
            let detail = format!("The offering is {status}: nothing of it can be changed there.");
            return Err(Error::illegal(detail, status.as_str(), status.moves()));
        }
    }
    if changed.is_empty() && before.cover_image_url == o.cover_image_url {
        return Ok(before);
    }
    terms::check(&o, tx.now())?;
    if before.status.is_running() {
        o.terms_sha256 = Some(terms::sha256(&o)?);
        if before.lockup_release_at.is_some() {
            o.lockup_release_at = lockup_release_at(&o);
        }
    }
    let moved = follows_the_end(&before, &mut o);
    offering::save(tx, &mut o, "offering.updated", json!({ "actor": by.actor, "changed": changed })).await?;
    let now = tx.now();
    let next = if moved && o.status.is_running() { Some(now) } else { calendar::next_look(&o, now) };
    timer::set(tx, &o.id, next).await?;
    Ok(o)
}

/// Whether the end was moved: then the subscriptions have to follow, a page at a time.
fn follows_the_end(before: &Offering, after: &mut Offering) -> bool {
    let moved = before.closes_at != after.closes_at || before.cooling_off_hours != after.cooling_off_hours;
    after.calendar_version += i64::from(moved);
    moved
}

fn must_have_seen(o: &Offering, seen: Option<i64>) -> Result<()> {
    match seen {
        Some(version) if version != o.version => {
            Err(Error::refused(Code::VersionConflict, format!("It is at version {} by now. Read it again.", o.version)))
        }
        None if o.status != Status::Draft => Err(Error::refused(
            Code::PreconditionRequired,
            "Read it first, and send the ETag of what you saw as the header If-Match.",
        )),
        _ => Ok(()),
    }
}

fn in_public(before: &Offering, after: &Offering, changed: &[String], now: DateTime<Utc>) -> Result<()> {
    if changed.iter().any(|field| !IN_PUBLIC.contains(&field.as_str())) {
        let detail = format!(
            "The offering is {}: only its description, its picture and a later end can be changed so. For {} use material-change.",
            before.status,
            changed.join(", ")
        );
        return Err(Error::field("", "not_changeable", detail).with_params(json!({ "changed": changed })));
    }
    if after.closes_at < before.closes_at && before.exemption.profile().early_end_notice_days.is_none() {
        return Err(Error::field("/closes_at", "below_minimum", "Its end can be moved ahead, and not back."));
    }
    must_be_said_ahead(before, after, now)
}

/// Where the time to withdraw is counted back from the end, an earlier end is said so long before that everybody still has some.
fn must_be_said_ahead(before: &Offering, after: &Offering, now: DateTime<Utc>) -> Result<()> {
    let notice = before.exemption.profile().early_end_notice_days;
    let Some(days) = notice.filter(|_| after.closes_at < before.closes_at) else { return Ok(()) };
    let earliest = exemption::working_days_after(now, days);
    if after.closes_at >= Some(earliest) {
        return Ok(());
    }
    let detail =
        format!("An earlier end is said {days} working days ahead: {} is the earliest.", earliest.to_rfc3339());
    Err(Error::field("/closes_at", "below_minimum", detail).with_params(json!({ "minimum": earliest })))
}

/// Changes the terms of an open offering: whoever subscribed must say yes again, or is out.
pub async fn material_change(
    tx: &mut Tx,
    scope: &Scope,
    id: &str,
    apply: impl FnOnce(&mut Offering),
    reason: &str,
    by: &Requester,
) -> Result<Offering> {
    let before = hold(tx, scope, id).await?;
    let mut o = before.clone();
    if before.status.next(Move::MaterialChange).is_some() {
        apply(&mut o);
        let changed = terms::changed(&before, &o);
        if changed.is_empty() {
            return Err(Error::field("/changes", "required", "Nothing would change."));
        }
        if let Some((_, pointer)) = FIXED.iter().find(|(field, _)| changed.iter().any(|name| name == field)) {
            return Err(Error::field(pointer, "not_changeable", "It is fixed from the approval on."));
        }
        terms::check(&o, tx.now())?;
        must_be_said_ahead(&before, &o, tx.now())?;
        if o.hard_cap != before.hard_cap {
            raise::must_fit(tx, &o).await?;
        }
        if o.hard_cap < o.committed_total {
            return Err(Error::field("/hard_cap", "below_minimum", "More than that is committed already."));
        }
        must_fit_the_token(tx, &o).await?;
        o.terms_version += 1;
        o.terms_sha256 = Some(terms::sha256(&o)?);
        o.lockup_release_at = lockup_release_at(&o);
        follows_the_end(&before, &mut o);
    }
    super::moved(tx, &mut o, Move::MaterialChange, &by.actor, Some(reason)).await?;
    // The subscriptions follow a page at a time, from now on.
    let now = tx.now();
    timer::set(tx, &o.id, Some(now)).await?;
    Ok(o)
}

/// The chain keeps the caps that the token was deployed with: what is above them could be paid for and never minted.
async fn must_fit_the_token(tx: &mut Tx, o: &Offering) -> Result<()> {
    match deploy::ceiling(tx, o).await? {
        Some(ceiling) if deploy::units(o, o.hard_cap)? > ceiling => {
            let detail = format!("The token can hold {ceiling} of its smallest units, and that never changes.");
            Err(Error::field("/hard_cap", "above_maximum", detail).with_params(json!({ "units": ceiling.to_string() })))
        }
        _ => Ok(()),
    }
}

/// Adds a paper.
pub async fn add_document(
    tx: &mut Tx,
    scope: &Scope,
    id: &str,
    new: document::New<'_>,
    by: &Requester,
) -> Result<Document> {
    let o = hold(tx, scope, id).await?;
    if o.status == Status::Draft || o.status.is_running() {
        return document::add(tx, &o, new, &by.actor).await;
    }
    let detail = format!("The offering is {}: no paper is added there.", o.status);
    Err(Error::illegal(detail, o.status.as_str(), o.status.moves()))
}
