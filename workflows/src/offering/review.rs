//! The operator's word on an offering: it is asked for, given, or given back.

use muniment_domain::db::Tx;
use muniment_domain::offering::{Move, Offering, Scope, document, raise, terms};
use muniment_domain::{Code, Error, Result, issuer};
use serde_json::json;

use super::{hold, moved};
use crate::requester::Requester;

/// Asks for the operator's word. What is missing is named, all of it.
pub async fn submit(tx: &mut Tx, scope: &Scope, id: &str, by: &Requester) -> Result<Offering> {
    let mut o = hold(tx, scope, id).await?;
    if o.status.next(Move::Submit).is_some() {
        complete(tx, &o).await?;
    }
    o.approved_by = None;
    moved(tx, &mut o, Move::Submit, &by.actor, None).await?;
    Ok(o)
}

async fn complete(tx: &mut Tx, o: &Offering) -> Result<()> {
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
        return raise::must_fit(tx, o).await;
    };
    let detail = format!("Before it is looked at it needs: {}.", missing.join(", "));
    Err(Error::field(first, "required", detail).with_params(json!({ "missing": missing })))
}

/// Allows it, and freezes its terms under a hash. Whoever submitted it cannot.
pub async fn approve(tx: &mut Tx, id: &str, by: &Requester) -> Result<Offering> {
    let mut o = hold(tx, &Scope::All, id).await?;
    if o.status.next(Move::Approve).is_some() {
        if o.submitted_by.as_ref() == Some(&by.actor) {
            let detail = "You submitted it yourself. Another person has to decide.";
            return Err(Error::refused(Code::SelfApprovalForbidden, detail));
        }
        issuer::active(tx, &o.issuer_id).await?;
        // What was right when it was submitted may be too late by now.
        complete(tx, &o).await?;
        o.terms_sha256 = Some(terms::sha256(&o)?);
    }
    moved(tx, &mut o, Move::Approve, &by.actor, None).await?;
    Ok(o)
}

/// Gives it back to be changed.
pub async fn request_changes(tx: &mut Tx, id: &str, comment: &str, by: &Requester) -> Result<Offering> {
    let mut o = hold(tx, &Scope::All, id).await?;
    moved(tx, &mut o, Move::RequestChanges, &by.actor, Some(comment)).await?;
    Ok(o)
}
