//! The rule for a single admin. Where an action needs two admins and there is only one, the requester can approve it alone: after a day,
//! when the mails to all staff are sent, and if nobody else became an admin meanwhile. Each member of the staff can reject it until it is
//! executed. The day starts a day after somebody last lost the access of staff, and that person gets the mail too: nobody becomes the only
//! admin and uses it before the others know.

use chrono::{DateTime, Duration, Utc};
use muniment_domain::approval::{self, Approval};
use muniment_domain::db::Tx;
use muniment_domain::user;
use muniment_domain::{Code, Error, Result, email_link};

/// The action that changes a person's access.
pub const CHANGE_ACCESS: &str = "change_access";
/// The waiting time before the requester can approve alone.
pub const HOURS: i64 = 24;
/// The approver that is recorded when the requester approves alone.
pub const CHECKER: &str = "break_glass";

/// The time from which the requester can approve alone. None while there is another admin. The person whose access would change does not
/// count: otherwise the second of two admins could never be removed.
pub async fn from(tx: &mut Tx, maker: &str, action: &str, subject_id: &str) -> Result<Option<DateTime<Utc>>> {
    if others(tx, maker, action, subject_id).await? > 0 {
        return Ok(None);
    }
    let (now, wait) = (tx.now(), Duration::hours(HOURS));
    let start = user::last_staff_loss(tx).await?.map_or(now, |lost| now.max(lost + wait));
    Ok(Some(start + wait))
}

/// The number of other admins. The rows of all admins stay locked.
async fn others(tx: &mut Tx, maker: &str, action: &str, subject_id: &str) -> Result<i64> {
    user::lock_admins(tx).await?;
    let besides = if action == CHANGE_ACCESS { subject_id } else { maker };
    user::admins_besides(tx, &maker.into(), &besides.into()).await
}

/// Notifies the staff, if the action can be approved alone.
pub async fn notify_staff(tx: &mut Tx, a: &Approval) -> Result<()> {
    if a.alone_from.is_some() { email_link::notify_staff(tx, &a.id).await } else { Ok(()) }
}

/// The refusal of a requester who decides their own request.
pub fn self_approval() -> Error {
    let detail = "You requested this yourself. Another person must decide. You can cancel it.";
    Error::refused(Code::SelfApprovalForbidden, detail)
}

/// Lets the requester approve alone, once, or refuses with the reason. The rows of all admins are locked, so that the count of admins
/// cannot change before the commit.
pub async fn approve_alone(tx: &mut Tx, a: &mut Approval) -> Result<()> {
    let another = others(tx, &a.maker, &a.action, &a.subject_id).await? > 0;
    let Some(from) = a.alone_from.filter(|_| !another) else {
        return Err(self_approval());
    };
    let unsent = email_link::unsent_count(tx, &a.id).await?;
    if unsent > 0 {
        let detail = format!("{unsent} of the mails that notify the staff are not sent yet. Wait for them.");
        return Err(Error::refused(Code::InvalidState, detail));
    }
    if !approval::use_alone(tx, a).await? {
        let from = from.format("%Y-%m-%d %H:%M UTC");
        let detail = format!(
            "You are the only admin. From {from} you can approve this yourself, unless there is another admin by then."
        );
        return Err(Error::refused(Code::SelfApprovalForbidden, detail));
    }
    Ok(())
}
