//! The anchors of the audit log. After each day the API process signs the end of the hash chain and writes it to its anchor file and its log,
//! which a database administrator cannot change.

use std::time::Duration;

use muniment_domain::audit::{self, Anchor, AnchorProblem};
use muniment_domain::point::Point;
use serde::Serialize;
use tokio_util::sync::CancellationToken;
use utoipa::ToSchema;

use crate::anchor_file::{AnchorFile, MaySign, Seen, Signed};
use crate::app::App;
use crate::auth::access_token::AccessTokens;
use crate::failure::Failure;
use crate::http::instant::Instant;

/// The type of the signed statement.
const TYPE: &str = "audit-anchor+jwt";
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// How many looks go by before the head of the chain is noted again.
const HEAD_LOOKS: u64 = 12;

/// What this process noted last, so that nothing is read or verified again while nothing changes.
#[derive(Default)]
struct Noted {
    /// The position of the head of the chain.
    head: i64,
    /// The last position of the newest anchor.
    anchor: Option<i64>,
    /// The first position of the day that is not signed again.
    refused: i64,
}

/// Writes the anchor of each past day until it is told to stop, and notes the head of the chain once more at the end.
pub async fn run(app: App, file: AnchorFile, stop: CancellationToken) -> Result<(), Failure> {
    let (mut noted, mut looks) = (Noted::default(), 0_u64);
    while stop.run_until_cancelled(tokio::time::sleep(LOOK_EVERY)).await.is_some() {
        let mut looked = anchor(&app, &file, &mut noted).await;
        if looked.is_ok() && looks.is_multiple_of(HEAD_LOOKS) {
            looked = note_head(&app, &file, &mut noted).await;
        }
        looks += 1;
        if let Err(failure) = looked {
            tracing::warn!(error.cause = %failure, "the audit anchor was not written and is tried again");
        }
    }
    note_head(&app, &file, &mut noted).await
}

async fn anchor(app: &App, file: &AnchorFile, noted: &mut Noted) -> Result<(), Failure> {
    loop {
        let mut tx = app.db.read().await?;
        let stored: Vec<_> = audit::anchors(&mut tx).await?;
        let drafted = audit::draft(&mut tx).await?;
        drop(tx);
        let newest = stored.last().map(|anchor| anchor.to_position);
        if newest != noted.anchor {
            // An anchor of another host is noted as well, so that each host refuses to sign its day again.
            let genuine =
                stored.iter().filter(|a| app.auth.tokens.read_statement(TYPE, &a.signature) == Some(a.statement()));
            file.note(
                &app.auth.secrets,
                app.db.clock().now(),
                &genuine.map(|a| Seen::Anchor(Signed::of(a))).collect::<Vec<_>>(),
            )?;
            noted.anchor = newest;
        }
        let Some(draft) = drafted else { return Ok(()) };
        let signature = match file.may_sign(&draft)? {
            MaySign::Yes => app.auth.tokens.sign_statement(TYPE, &draft.statement()).map_err(Failure::new)?,
            MaySign::Already(signature) => signature,
            MaySign::No => {
                refuse(&draft, noted);
                return Ok(());
            }
        };
        let anchor = Anchor { signature, ..draft };
        // Noted before it is stored: after a crash between the two, the same anchor is stored and no other.
        file.note(&app.auth.secrets, app.db.clock().now(), &[Seen::Signing(Signed::of(&anchor))])?;
        let mut tx = app.db.begin().await?;
        if audit::insert_anchor(&mut tx, &anchor).await? {
            tx.commit(Point::Chain).await?;
            tracing::info!(
                audit.day = anchor.day,
                audit.from = anchor.from_position,
                audit.to = anchor.to_position,
                audit.root = anchor.root,
                audit.head_hash = anchor.head_hash,
                audit.signature = anchor.signature,
                "the audit anchor was written"
            );
        }
    }
}

fn refuse(draft: &Anchor, noted: &mut Noted) {
    if noted.refused != draft.from_position {
        tracing::error!(
            audit.day = draft.day,
            audit.from = draft.from_position,
            "an audit anchor was deleted: its day is not signed again. Run `muniment audit verify` and preserve the database"
        );
        noted.refused = draft.from_position;
    }
}

async fn note_head(app: &App, file: &AnchorFile, noted: &mut Noted) -> Result<(), Failure> {
    let head = audit::head(&mut app.db.read().await?).await?;
    if let Some((position, hash)) = head.filter(|(position, _)| *position != noted.head) {
        let seen = Seen::Head { position, hash: hash.clone() };
        file.note(&app.auth.secrets, app.db.clock().now(), &[seen])?;
        tracing::info!(audit.head_position = position, audit.head_hash = hash, "the audit anchor is up to date");
        noted.head = position;
    }
    Ok(())
}

/// The signed daily root of the audit log.
#[derive(Serialize, ToSchema)]
#[schema(as = AuditAnchor)]
pub struct View {
    /// The day (UTC).
    #[schema(example = "2026-11-20")]
    day: String,
    /// The first position of the day.
    from_position: i64,
    /// The last position of the day.
    to_position: i64,
    /// The Merkle root of the entry hashes of these positions (RFC 6962, SHA-256 over hexadecimal texts).
    #[schema(example = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")]
    root: String,
    /// The chain hash of the last entry.
    head_hash: String,
    /// A JWS of the fields above, signed with the key that was first in `/.well-known/jwks.json` at that time.
    #[schema(example = "eyJ0eXAiOiJhdWRpdC1hbmNob3Irand0In0.eyJkYXkiOiIyMDI2LTExLTIwIn0.c2lnbmVk")]
    signature: String,
    created_at: Instant,
    /// What is wrong with this anchor, or with the entries before it. Null if it is correct.
    flaw: Option<AnchorProblem>,
}

impl View {
    /// An anchor with the result of its check.
    pub fn of(anchor: &Anchor, flaw: Option<AnchorProblem>, tokens: Option<&AccessTokens>) -> Self {
        let said = tokens.map(|tokens| tokens.read_statement(TYPE, &anchor.signature));
        let signed = said.is_none_or(|said| said == Some(anchor.statement()));
        Self {
            day: anchor.day.clone(),
            from_position: anchor.from_position,
            to_position: anchor.to_position,
            root: anchor.root.clone(),
            head_hash: anchor.head_hash.clone(),
            signature: anchor.signature.clone(),
            created_at: Instant(anchor.created_at),
            flaw: flaw.or((!signed).then_some(AnchorProblem::SignatureInvalid)),
        }
    }

    /// Whether nothing is wrong with it.
    pub const fn is_sound(&self) -> bool {
        self.flaw.is_none()
    }
}
