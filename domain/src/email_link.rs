//! Links in mails. Tokens are computed, never stored: the row names the link, and the mailer computes its token.

use chrono::{DateTime, Duration, Utc};

use crate::db::{Tx, expect_updated};
use crate::id::{EmailLinkId, UserId};
use crate::sql::{insert_into, sql};
use crate::user::User;
use crate::{Result, event, user};

crate::words! {
    /// The purpose of a link.
    Purpose {
        /// Verifies the address.
        VerifyEmail = "verify_email",
        /// Sets a new password.
        ResetPassword = "reset_password",
        /// Sets the first password after an invitation.
        Invitation = "invitation",
        /// Informs: staff of the plans of a lone admin, or a user of failed logins. The link opens nothing.
        Notice = "notice",
    }
}

impl Purpose {
    // A link that opens an account expires soon; an invitation also waits for a person on holiday.
    const fn life(self) -> Duration {
        match self {
            Self::VerifyEmail => Duration::hours(24),
            Self::ResetPassword => Duration::hours(1),
            Self::Invitation | Self::Notice => Duration::days(7),
        }
    }
}

/// One row of `email_links`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct EmailLink {
    pub id: EmailLinkId,
    pub user_id: UserId,
    pub purpose: Purpose,
    /// The subject of a notice.
    pub subject_id: Option<String>,
    pub expires_at: DateTime<Utc>,
    pub used_at: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
    pub tries: i64,
    /// Whether somebody tried to register with an address that already has an account.
    pub registered_again: bool,
}

/// A link with an unsent mail, and its recipient.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Due {
    #[sqlx(flatten)]
    pub link: EmailLink,
    pub email: String,
}

impl Due {
    /// Whether a notice is about the recipient's own account.
    pub fn is_of_the_account(&self) -> bool {
        self.link.subject_id.as_deref() == Some(&*self.link.user_id)
    }
}

/// Limit on open links for one purpose. Older links stay valid: otherwise anybody who knows the address could invalidate each mail
/// before it is read. Above the limit no mail is sent, so nobody can fill the mailbox.
const OPEN_MAX: i64 = 3;
/// How long a link is kept after its expiry.
const KEPT_DAYS: i64 = 30;
/// How many times the pause between two tries doubles: from one minute to about an hour.
const TRIES_DOUBLE: i64 = 6;

/// Creates a link; the mailer sends it.
pub async fn insert(tx: &mut Tx, user_id: &UserId, purpose: Purpose) -> Result<EmailLink> {
    write(tx, user_id, purpose, None, false).await
}

/// Informs the owner of an account that somebody is guessing the password.
pub async fn notify_of_failed_logins(tx: &mut Tx, user_id: &UserId) -> Result<()> {
    write(tx, user_id, Purpose::Notice, Some(user_id), false).await.map(drop)
}

/// Informs all staff by mail about a subject, with everybody who was staff lately.
pub async fn notify_staff(tx: &mut Tx, subject_id: &str) -> Result<()> {
    for person in user::staff_of_late(tx).await? {
        write(tx, &person.id, Purpose::Notice, Some(subject_id), false).await?;
    }
    Ok(())
}

/// How many mails about this subject are not sent yet.
pub async fn unsent_count(tx: &mut Tx, subject_id: &str) -> Result<i64> {
    sql("select count(*) from email_links where subject_id = $1 and sent_at is null").bind(subject_id).scalar(tx).await
}

async fn write(
    tx: &mut Tx,
    user_id: &UserId,
    purpose: Purpose,
    subject_id: Option<&str>,
    registered_again: bool,
) -> Result<EmailLink> {
    let (id, now) = (tx.new_id(), tx.now());
    let expires_at = now + purpose.life();
    insert_into("email_links")
        .set("id", &id)
        .set("user_id", user_id)
        .set("purpose", purpose)
        .set("expires_at", expires_at)
        .set("created_at", now)
        .set("try_at", now)
        .set("subject_id", subject_id)
        .set("registered_again", registered_again)
        .execute(tx)
        .await?;
    let data = serde_json::json!({ "link_id": id, "purpose": purpose, "expires_at": expires_at });
    event::write(tx, "user.email_requested", "user", user_id, 0, data).await?;
    let (user_id, subject_id) = (user_id.to_owned(), subject_id.map(str::to_owned));
    Ok(EmailLink {
        id,
        user_id,
        purpose,
        subject_id,
        expires_at,
        used_at: None,
        created_at: now,
        tries: 0,
        registered_again,
    })
}

/// Creates a link at the user's request; none if too many links are open. The user's row is locked first, so that parallel
/// requests are counted.
pub async fn request(tx: &mut Tx, user_id: &UserId, purpose: Purpose) -> Result<Option<EmailLink>> {
    ask_for(tx, user_id, purpose, false).await
}

/// Informs the owner of an address that somebody tried to register with it. The mail sets a new password, and open
/// links that verify the address expire: they would verify the account of a stranger who registered first.
pub async fn notify_owner(tx: &mut Tx, owner: &User) -> Result<Option<EmailLink>> {
    let link = ask_for(tx, &owner.id, Purpose::ResetPassword, true).await?;
    if owner.email_verified_at.is_none() {
        void(tx, &owner.id, Purpose::VerifyEmail).await?;
    }
    Ok(link)
}

async fn ask_for(tx: &mut Tx, user_id: &UserId, purpose: Purpose, registered_again: bool) -> Result<Option<EmailLink>> {
    let now = tx.now();
    user::lock_row(tx, user_id).await?;
    let open = sql("select count(*) from email_links
        where user_id = $1 and purpose = $2 and used_at is null and expires_at > $3")
    .bind((user_id, purpose, now))
    .scalar::<i64>(tx)
    .await?;
    if open >= OPEN_MAX {
        return Ok(None);
    }
    write(tx, user_id, purpose, None, registered_again).await.map(Some)
}

/// The link, if it can still be used.
pub async fn find(tx: &mut Tx, id: &EmailLinkId) -> Result<Option<EmailLink>> {
    let now = tx.now();
    sql("select * from email_links where id = $1 and used_at is null and expires_at > $2")
        .bind((id, now))
        .optional(tx)
        .await
}

/// Uses a link, and ends all links of the user for the same purpose. Of two parallel uses one succeeds.
pub async fn use_link(tx: &mut Tx, link: &EmailLink) -> Result<()> {
    let now = tx.now();
    let rows = sql("update email_links set used_at = $2 where id = $1 and used_at is null")
        .bind((&link.id, now))
        .execute(tx)
        .await?;
    expect_updated(rows, "link", &link.id)?;
    void(tx, &link.user_id, link.purpose).await
}

/// Ends all open links of a user for one purpose.
pub async fn void(tx: &mut Tx, user_id: &UserId, purpose: Purpose) -> Result<()> {
    let now = tx.now();
    sql("update email_links set used_at = $3 where user_id = $1 and purpose = $2 and used_at is null")
        .bind((user_id, purpose, now))
        .execute(tx)
        .await?;
    Ok(())
}

/// Links with a due mail, oldest first.
pub async fn due(tx: &mut Tx, limit: i64) -> Result<Vec<Due>> {
    let now = tx.now();
    sql("select l.*, u.email from email_links l join users u on u.id = l.user_id
         where l.sent_at is null and l.try_at <= $1 and l.used_at is null and l.expires_at > $1
         order by l.try_at limit $2")
    .bind((now, limit))
    .rows(tx)
    .await
}

/// Takes the next try and schedules the one after it. False if another process took it or the link has ended.
pub async fn begin_try(tx: &mut Tx, link: &EmailLink) -> Result<bool> {
    let next = tx.now() + Duration::minutes(1 << link.tries.clamp(0, TRIES_DOUBLE));
    let rows = sql("update email_links set tries = tries + 1, try_at = $3
        where id = $1 and tries = $2 and sent_at is null and used_at is null")
    .bind((&link.id, link.tries, next))
    .execute(tx)
    .await?;
    Ok(rows == 1)
}

/// Records that the mail was sent.
pub async fn sent(tx: &mut Tx, id: &EmailLinkId) -> Result<()> {
    let now = tx.now();
    sql("update email_links set sent_at = $2 where id = $1").bind((id, now)).execute(tx).await?;
    Ok(())
}

/// Deletes up to `limit` links that expired long ago.
pub async fn prune(tx: &mut Tx, limit: i64) -> Result<u64> {
    let oldest = tx.now() - Duration::days(KEPT_DAYS);
    sql("delete from email_links where id in
         (select id from email_links where expires_at < $1 order by expires_at limit $2)")
    .bind((oldest, limit))
    .execute(tx)
    .await
}
