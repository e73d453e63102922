//! Review of an offering: the issuer submits it, and an operator approves it or requests changes.

use muniment_domain::db::Tx;
use muniment_domain::id::OfferingId;
use muniment_domain::offering::{Move, Offering, Scope, document, raise_limit, terms};
use muniment_domain::{Code, Error, Result, issuer};
use serde_json::json;

use super::{lock, make_move};
use crate::requester::Requester;

/// Submits an offering for review. A refusal names every missing field.
pub async fn submit(tx: &mut Tx, scope: &Scope, id: &OfferingId, by: &Requester) -> Result<Offering> {
    let mut o = lock(tx, scope, id).await?;
    if o.status.next(Move::Submit).is_some() {
        validate_complete(tx, &o).await?;
    }
    o.approved_by = None;
    make_move(tx, &mut o, Move::Submit, &by.actor, None).await?;
    Ok(o)
}

async fn validate_complete(tx: &mut Tx, o: &Offering) -> Result<()> {
    let mut missing = Vec::new();
    if o.description.trim().is_empty() {
        missing.push("/description");
    }
    if o.closes_at.is_none() {
        missing.push("/closes_at");
    }
    if document::list(tx, &o.id).await?.is_empty() {
        missing.push("/documents");
    }
    let Some(first) = missing.first() else {
        terms::check(o, tx.now())?;
        return raise_limit::check(tx, o).await;
    };
    let detail =
        format!("The offering cannot be submitted for review. These fields are missing: {}.", missing.join(", "));
    Err(Error::field(first, "required", detail).with_params(json!({ "missing": missing })))
}

/// Approves an offering, and fixes its terms under a hash. The person who submitted it cannot approve it.
pub async fn approve(tx: &mut Tx, id: &OfferingId, by: &Requester) -> Result<Offering> {
    let mut o = lock(tx, &Scope::All, id).await?;
    if o.status.next(Move::Approve).is_some() {
        if o.submitted_by.as_ref() == Some(&by.actor) {
            let detail = "You submitted this offering yourself. Another person must approve it.";
            return Err(Error::refused(Code::SelfApprovalForbidden, detail));
        }
        issuer::active(tx, &o.issuer_id).await?;
        // Dates that were valid at submission may have passed since.
        validate_complete(tx, &o).await?;
        o.terms_sha256 = Some(terms::sha256(&o)?);
    }
    make_move(tx, &mut o, Move::Approve, &by.actor, None).await?;
    Ok(o)
}

/// Returns an offering to its issuer for changes.
pub async fn request_changes(tx: &mut Tx, id: &OfferingId, comment: &str, by: &Requester) -> Result<Offering> {
    let mut o = lock(tx, &Scope::All, id).await?;
    make_move(tx, &mut o, Move::RequestChanges, &by.actor, Some(comment)).await?;
    Ok(o)
}
