//! Where there is one admin only, what takes two of them waits a day instead, and the whole staff is told by mail: each of them can reject it.

use chrono::{DateTime, Duration, Utc};
use muniment_domain::approval::{self, Approval};
use muniment_domain::db::Tx;
use muniment_domain::user;
use muniment_domain::{Code, Error, Result, email_link};

use crate::approval::action::Action;

/// How long it waits.
pub const HOURS: i64 = 24;
/// Who stands as the second person of what nobody else could allow.
pub const CHECKER: &str = "break_glass";

/// From when on the maker may allow it himself; none where somebody else can.
pub async fn from(tx: &mut Tx, action: &Action, maker: &str) -> Result<Option<DateTime<Utc>>> {
    if !action.takes_admins() || user::other_admins(tx, maker).await? > 0 {
        return Ok(None);
    }
    Ok(Some(tx.now() + Duration::hours(HOURS)))
}

/// Tells the staff, if it can be done alone.
pub async fn tell(tx: &mut Tx, a: &Approval) -> Result<()> {
    if a.alone_from.is_some() { email_link::tell_staff(tx, &a.id).await } else { Ok(()) }
}

/// The refusal of a maker who would decide himself.
pub fn not_by_the_maker() -> Error {
    let detail = "You asked for this yourself. Another person has to decide; you can cancel it.";
    Error::refused(Code::SelfApprovalForbidden, detail)
}

/// Lets the maker allow it himself, once, or says why not. The rows of all admins are held, so that one who comes or leaves at this moment is
/// either counted or comes later.
pub async fn take(tx: &mut Tx, a: &mut Approval) -> Result<()> {
    let another = user::other_admins(tx, &a.maker).await? > 0;
    let Some(from) = a.alone_from.filter(|_| !another) else {
        return Err(not_by_the_maker());
    };
    let untold = email_link::untold(tx, &a.id).await?;
    if untold > 0 {
        let detail = format!("{untold} of the mails that tell the staff have not gone out.");
        return Err(Error::refused(Code::InvalidState, detail));
    }
    if !approval::take_alone(tx, a).await? {
        let from = from.format("%Y-%m-%d %H:%M UTC");
        let detail =
            format!("You are the only admin: from {from} on you may allow it yourself, unless another one is there.");
        return Err(Error::refused(Code::SelfApprovalForbidden, detail));
    }
    Ok(())
}
