//! Links that a mail carries. Their tokens are computed, never stored: the event names the link, the mailer computes the token.

use chrono::{DateTime, Duration, Utc};

use crate::db::{Tx, touched};
use crate::{Result, event, on};

crate::words! {
    /// What a link is for.
    Purpose {
        /// Proves the address.
        VerifyEmail = "verify_email",
        /// Sets a new password.
        ResetPassword = "reset_password",
        /// Sets the first password of somebody who was invited.
        Invitation = "invitation",
    }
}

impl Purpose {
    // A link that opens an account lives shortly; an invitation waits for somebody on holiday.
    const fn life(self) -> Duration {
        match self {
            Self::VerifyEmail => Duration::hours(24),
            Self::ResetPassword => Duration::hours(1),
            Self::Invitation => Duration::days(7),
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
    pub expires_at: DateTime<Utc>,
    pub used_at: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
}

/// Makes a link, ends the older ones for the same purpose, and tells the mailer.
pub async fn insert(tx: &mut Tx, user_id: &str, purpose: Purpose) -> Result<EmailLink> {
    let (id, now) = (tx.new_id("lnk"), tx.now());
    on!(tx, conn => sqlx::query("update email_links set used_at = $3 where user_id = $1 and purpose = $2 and used_at is null")
        .bind(user_id).bind(purpose).bind(now).execute(conn).await?.rows_affected());
    let expires_at = now + purpose.life();
    on!(tx, conn => sqlx::query(
        "insert into email_links (id, user_id, purpose, expires_at, created_at) values ($1, $2, $3, $4, $5)")
        .bind(&id).bind(user_id).bind(purpose).bind(expires_at).bind(now).execute(conn).await?.rows_affected());
    let data = serde_json::json!({ "link_id": id, "purpose": purpose, "expires_at": expires_at });
    event::write(tx, "user.email_requested", "user", user_id, 0, data).await?;
    let user_id = user_id.to_owned();
    Ok(EmailLink { id, user_id, purpose, expires_at, used_at: None, created_at: now })
}

/// A link that can still be used.
pub async fn find(tx: &mut Tx, id: &str) -> Result<Option<EmailLink>> {
    let now = tx.now();
    Ok(on!(tx, conn => sqlx::query_as::<_, EmailLink>(
        "select * from email_links where id = $1 and used_at is null and expires_at > $2")
        .bind(id).bind(now).fetch_optional(conn).await?))
}

/// Uses a link up. Of two at once only one does.
pub async fn take(tx: &mut Tx, link: &EmailLink) -> Result<()> {
    let now = tx.now();
    let rows = on!(tx, conn => sqlx::query("update email_links set used_at = $2 where id = $1 and used_at is null")
        .bind(&link.id).bind(now).execute(conn).await?.rows_affected());
    touched(rows, "link", &link.id)
}
