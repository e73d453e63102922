//! Verification of e-mail addresses. A row names the link to send; its token is computed and never stored.

use axum::extract::State;
use axum::http::StatusCode;
use muniment_domain::Error;
use muniment_domain::db::Tx;
use muniment_domain::email_link::{self, EmailLink, Purpose};
use muniment_domain::id::EmailLinkId;
use muniment_domain::point::Point;
use muniment_domain::user::{self, User};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::access::principal::Principal;
use crate::app::App;
use crate::http::body::Input;
use crate::http::error::{Problem, Result};
use crate::secrets::Secrets;

const PURPOSE: &str = "email";

/// The token of a link.
pub fn token(secrets: &Secrets, link_id: &EmailLinkId) -> String {
    format!("{link_id}.{}", secrets.text_mac(PURPOSE, &[link_id.as_bytes()]))
}

/// The link behind a token, if it is for one of these purposes and can still be used.
pub async fn link(app: &App, tx: &mut Tx, token: &str, purposes: &[Purpose]) -> Result<EmailLink> {
    let (link_id, code) = token.split_once('.').ok_or_else(invalid)?;
    if !app.auth.secrets.is_text_mac(code, PURPOSE, &[link_id.as_bytes()]) {
        return Err(invalid());
    }
    email_link::find(tx, &link_id.into()).await?.filter(|link| purposes.contains(&link.purpose)).ok_or_else(invalid)
}

/// Uses it up; of two requests with one link, one does.
pub async fn take(tx: &mut Tx, link: &EmailLink) -> Result<()> {
    email_link::use_link(tx, link).await.map_err(|error| match error {
        Error::Stale { .. } => invalid(),
        other => other.into(),
    })
}

fn invalid() -> Problem {
    Problem::field("/token", "token_invalid", "The link is unknown, used or expired. Request a new one.")
}

/// The token of a mail.
#[derive(Deserialize, ToSchema)]
#[schema(as = MailToken)]
#[serde(deny_unknown_fields)]
pub struct Proof {
    #[schema(max_length = 256, example = "lnk_01jc8yq3k5e9v8w2m4n6p7r9st.1f0c")]
    token: String,
}

/// Verify an e-mail address with the token of a mail.
#[utoipa::path(
    post,
    path = "/v1/auth/verify-email",
    request_body = Proof,
    responses((status = 204)),
)]
pub async fn verify(State(app): State<App>, Input(body): Input<Proof>) -> Result<StatusCode> {
    let mut tx = app.db.begin().await?;
    let link = link(&app, &mut tx, &body.token, &[Purpose::VerifyEmail]).await?;
    user::lock_row(&mut tx, &link.user_id).await?;
    take(&mut tx, &link).await?;
    let user = user::find(&mut tx, &link.user_id).await?;
    let verified = User { email_verified_at: Some(tx.now()), ..user };
    user::update(&mut tx, &verified, "user.email_verified").await?;
    tx.commit(Point::Account).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Send the verification mail again.
///
/// Older links work until one of them is used. Nothing is sent if the address is verified or three links are open.
#[utoipa::path(
    post,
    path = "/v1/auth/verify-email/resend",
    responses((status = 204)),
)]
pub async fn resend(State(app): State<App>, principal: Principal) -> Result<StatusCode> {
    let mut tx = app.db.begin().await?;
    let user = user::find(&mut tx, &principal.0.user_id).await?;
    if user.email_verified_at.is_none() {
        email_link::request(&mut tx, &user.id, Purpose::VerifyEmail).await?;
        tx.commit(Point::Account).await?;
    }
    Ok(StatusCode::NO_CONTENT)
}
