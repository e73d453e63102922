//! Links that a mail carries. Their tokens are computed, never stored: the event names the link, the mailer computes the token.

use chrono::{DateTime, Duration, Utc};

use crate::db::{Tx, touched};
use crate::rows::delete_older;
use crate::user::User;
use crate::{Result, event, on, user};

crate::words! {
    /// What a link is for.
    Purpose {
        /// Proves the address.
        VerifyEmail = "verify_email",
        /// Sets a new password.
        ResetPassword = "reset_password",
        /// Sets the first password of somebody who was invited.
        Invitation = "invitation",
        /// Tells the staff of what an admin wants to do alone, or somebody of failed logins. It opens nothing.
        Notice = "notice",
    }
}

impl Purpose {
    // A link that opens an account lives shortly; an invitation waits for somebody on holiday.
    const fn life(self) -> Duration {
        match self {
            Self::VerifyEmail => Duration::hours(24),
            Self::ResetPassword => Duration::hours(1),
            Self::Invitation | Self::Notice => Duration::days(7),
        }
    }
}

/// A link.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct EmailLink {
    pub id: String,
    pub user_id: String,
    pub purpose: Purpose,
    /// What a notice is about.
    pub subject_id: Option<String>,
    pub expires_at: DateTime<Utc>,
    pub used_at: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
    pub tries: i64,
    /// Whether it was made because somebody wanted to register with an address that has its account.
    pub registered_again: bool,
}

/// A link whose mail is to be sent, and to whom.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Due {
    #[sqlx(flatten)]
    pub link: EmailLink,
    pub email: String,
}

impl Due {
    /// Whether a notice is about the account of whoever gets it.
    pub fn is_of_the_account(&self) -> bool {
        self.link.subject_id.as_ref() == Some(&self.link.user_id)
    }
}

/// How many links for one purpose somebody may ask for while they are open. Older ones stay good, or whoever knows the address could void each mail before
/// it is read; and beyond these no mail is sent, or they could fill the box.
const OPEN_MAX: i64 = 3;
/// How long a link is kept after its end.
const KEPT_DAYS: i64 = 30;
/// How often the time between two tries doubles: from a minute to about an hour.
const TRIES_DOUBLE: i64 = 6;

/// Makes a link and tells the mailer.
pub async fn insert(tx: &mut Tx, user_id: &str, purpose: Purpose) -> Result<EmailLink> {
    write(tx, user_id, purpose, None, false).await
}

/// Tells the owner of an account that somebody guesses its password. It is about the account itself, and opens nothing.
pub async fn tell_of_failures(tx: &mut Tx, user_id: &str) -> Result<()> {
    write(tx, user_id, Purpose::Notice, Some(user_id), false).await.map(drop)
}

/// Tells everybody of the staff by mail of what this is about.
pub async fn tell_staff(tx: &mut Tx, subject_id: &str) -> Result<()> {
    for person in user::staff(tx).await? {
        write(tx, &person.id, Purpose::Notice, Some(subject_id), false).await?;
    }
    Ok(())
}

/// How many of the mails about this have not gone out.
pub async fn untold(tx: &mut Tx, subject_id: &str) -> Result<i64> {
    Ok(
        on!(tx, conn => sqlx::query_scalar::<_, i64>("select count(*) from email_links where subject_id = $1 and sent_at is null")
        .bind(subject_id).fetch_one(conn).await?),
    )
}

async fn write(
    tx: &mut Tx,
    user_id: &str,
    purpose: Purpose,
    subject_id: Option<&str>,
    registered_again: bool,
) -> Result<EmailLink> {
    let (id, now) = (tx.new_id("lnk"), tx.now());
    let expires_at = now + purpose.life();
    on!(tx, conn => sqlx::query(
        "insert into email_links (id, user_id, purpose, expires_at, created_at, try_at, subject_id, registered_again) \
         values ($1, $2, $3, $4, $5, $5, $6, $7)")
        .bind(&id).bind(user_id).bind(purpose).bind(expires_at).bind(now).bind(subject_id).bind(registered_again).execute(conn).await?.rows_affected());
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

/// The same for whoever asks; none if enough of them are open. The person's row is taken first: many who ask at once are counted one after
/// the other.
pub async fn ask(tx: &mut Tx, user_id: &str, purpose: Purpose) -> Result<Option<EmailLink>> {
    ask_for(tx, user_id, purpose, false).await
}

/// Tells the owner of an address that somebody wanted to register with it: by the link that proves it where that is still to be done, and else by
/// one that sets a new password.
pub async fn tell_owner(tx: &mut Tx, owner: &User) -> Result<Option<EmailLink>> {
    let purpose = if owner.email_verified_at.is_some() { Purpose::ResetPassword } else { Purpose::VerifyEmail };
    ask_for(tx, &owner.id, purpose, true).await
}

async fn ask_for(tx: &mut Tx, user_id: &str, purpose: Purpose, registered_again: bool) -> Result<Option<EmailLink>> {
    let now = tx.now();
    user::hold(tx, user_id).await?;
    let open = on!(tx, conn => sqlx::query_scalar::<_, i64>(
        "select count(*) from email_links where user_id = $1 and purpose = $2 and used_at is null and expires_at > $3")
        .bind(user_id).bind(purpose).bind(now).fetch_one(conn).await?);
    if open >= OPEN_MAX {
        return Ok(None);
    }
    write(tx, user_id, purpose, None, registered_again).await.map(Some)
}

/// A link that can still be used.
pub async fn find(tx: &mut Tx, id: &str) -> Result<Option<EmailLink>> {
    let now = tx.now();
    Ok(on!(tx, conn => sqlx::query_as::<_, EmailLink>(
        "select * from email_links where id = $1 and used_at is null and expires_at > $2")
        .bind(id).bind(now).fetch_optional(conn).await?))
}

/// Uses a link up, and with it the others for the same purpose. Of two at once only one does.
pub async fn take(tx: &mut Tx, link: &EmailLink) -> Result<()> {
    let now = tx.now();
    let rows = on!(tx, conn => sqlx::query("update email_links set used_at = $2 where id = $1 and used_at is null")
        .bind(&link.id).bind(now).execute(conn).await?.rows_affected());
    touched(rows, "link", &link.id)?;
    void(tx, &link.user_id, link.purpose).await
}

/// Ends all open links of a person for one purpose.
pub async fn void(tx: &mut Tx, user_id: &str, purpose: Purpose) -> Result<()> {
    let now = tx.now();
    on!(tx, conn => sqlx::query("update email_links set used_at = $3 where user_id = $1 and purpose = $2 and used_at is null")
        .bind(user_id).bind(purpose).bind(now).execute(conn).await?.rows_affected());
    Ok(())
}

/// The links whose mails are due, the oldest first.
pub async fn due(tx: &mut Tx, limit: i64) -> Result<Vec<Due>> {
    let now = tx.now();
    Ok(on!(tx, conn => sqlx::query_as::<_, Due>(
        "select l.*, u.email from email_links l join users u on u.id = l.user_id \
         where l.sent_at is null and l.try_at <= $1 and l.used_at is null and l.expires_at > $1 order by l.try_at limit $2")
        .bind(now).bind(limit).fetch_all(conn).await?))
}

/// Takes a try, and sets the time of the next one; false if another process was first or the link was ended.
pub async fn try_now(tx: &mut Tx, link: &EmailLink) -> Result<bool> {
    let next = tx.now() + Duration::minutes(1 << link.tries.clamp(0, TRIES_DOUBLE));
    let rows = on!(tx, conn => sqlx::query(
        "update email_links set tries = tries + 1, try_at = $3 where id = $1 and tries = $2 and sent_at is null and used_at is null")
        .bind(&link.id).bind(link.tries).bind(next).execute(conn).await?.rows_affected());
    Ok(rows == 1)
}

/// The mail went out.
pub async fn sent(tx: &mut Tx, id: &str) -> Result<()> {
    let now = tx.now();
    on!(tx, conn => sqlx::query("update email_links set sent_at = $2 where id = $1").bind(id).bind(now).execute(conn).await?.rows_affected());
    Ok(())
}

/// Forgets so many of the links that ended long ago.
pub async fn prune(tx: &mut Tx, limit: i64) -> Result<u64> {
    let oldest = tx.now() - Duration::days(KEPT_DAYS);
    let delete = "delete from email_links where id in (select id from email_links where expires_at < $1 order by expires_at limit $2)";
    delete_older(tx, delete, oldest, limit).await
}
