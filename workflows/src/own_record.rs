//! An investor who joins the staff keeps the record: another person decides about it.

use muniment_domain::db::Tx;
use muniment_domain::entitlement::{self, Entitlement};
use muniment_domain::id::InvestorId;
use muniment_domain::{Code, Error, Result, principal, wallet};

use crate::requester::Requester;

/// Refuses a decision about the person's own investor record.
pub async fn not_own(tx: &mut Tx, investor_id: &InvestorId, by: &Requester) -> Result<()> {
    if principal::investor_of(tx, &by.user_id()).await?.as_ref() != Some(investor_id) {
        return Ok(());
    }
    Err(about_oneself())
}

fn about_oneself() -> Error {
    let detail = "This is about you as an investor. Another person must decide.";
    Error::refused(Code::SelfApprovalForbidden, detail)
}

/// Refuses a decision about entitlements of which one is the person's own.
pub async fn not_own_entitlement(
    tx: &mut Tx,
    entitlements: impl IntoIterator<Item = &Entitlement>,
    by: &Requester,
) -> Result<()> {
    match principal::investor_of(tx, &by.user_id()).await? {
        Some(own) if entitlements.into_iter().any(|e| e.investor_id.as_ref() == Some(&own)) => Err(about_oneself()),
        _ => Ok(()),
    }
}

/// Refuses a decision about a subject that is the person's own: the record, a wallet or an entitlement.
pub async fn not_own_subject(tx: &mut Tx, subject_type: &str, subject_id: &str, by: &Requester) -> Result<()> {
    let investor_id = match (subject_type, subject_id.parse()) {
        ("investor", _) => Some(subject_id.into()),
        ("entitlement", _) => entitlement::investor_of(tx, &subject_id.into()).await?,
        ("address", Ok(address)) => wallet::find(tx, address).await?.map(|wallet| wallet.investor_id),
        _ => None,
    };
    match investor_id {
        Some(investor_id) => not_own(tx, &investor_id, by).await,
        None => Ok(()),
    }
}
