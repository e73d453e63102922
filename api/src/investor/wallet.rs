//! `/v1/investor/wallets`: the wallets of the calling investor.

use alloy_primitives::hex;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::id::{OfferingId, WalletId};
use muniment_domain::idempotency::Answer;
use muniment_domain::investor::{self, WalletFreeze};
use muniment_domain::point::Point;
use muniment_domain::wallet::{self, Wallet};
use muniment_domain::wallet_claim;
use muniment_workflows::investor::wallet_proof::{self, Claim};
use muniment_workflows::requester::Requester;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use crate::access::principal::Principal;
use crate::app::App;
use crate::change::ChangeRequest;
use crate::change::idempotency::{self, IdempotencyKey};
use crate::change::submission::{Form, Submission};
use crate::field::address::Typed;
use crate::http::body::Input;
use crate::http::error::{Problem, Result};
use crate::http::instant::Instant;
use crate::http::pages::{Between, List, Page, Paging};

/// An address is the same on every chain of this kind (CAIP-2).
const NAMESPACE: &str = "eip155";
const LABEL_CHARACTERS_MAX: usize = 60;
/// Contract wallets take signatures of several owners; none needs more.
const SIGNATURE_BYTES_MAX: usize = 4096;

/// A wallet of an investor.
#[derive(Serialize, ToSchema)]
#[schema(as = Wallet)]
pub struct View {
    id: WalletId,
    address: Typed,
    /// The kind of chain (CAIP-2).
    #[schema(example = "eip155")]
    chain: &'static str,
    #[schema(example = "the cold one")]
    label: Option<String>,
    /// Whether the investor proved that they control the key.
    #[schema(example = true)]
    verified: bool,
    verified_at: Option<Instant>,
    /// Whether the wallet is used when a request names none.
    default: bool,
    retired_at: Option<Instant>,
    /// The wallet that replaced it after a recovery.
    successor: Option<Typed>,
    /// The offerings in whose token the wallet is frozen.
    #[schema(example = json!(["off_01jc8yq3k5e9v8w2m4n6p7r9st"]))]
    frozen_on: Vec<OfferingId>,
    created_at: Instant,
}

/// A wallet with the offerings in which it is frozen.
pub fn item(w: &Wallet, places: &[WalletFreeze]) -> View {
    let frozen = places.iter().filter(|place| place.frozen && place.wallet_address == w.address);
    View {
        id: w.id.clone(),
        address: Typed(w.address.0),
        chain: NAMESPACE,
        label: w.label.clone(),
        verified: w.verified_at.is_some(),
        verified_at: w.verified_at.map(Instant),
        default: w.is_default,
        retired_at: w.retired_at.map(Instant),
        successor: w.successor.map(|address| Typed(address.0)),
        frozen_on: frozen.map(|place| place.offering_id.clone()).collect(),
        created_at: Instant(w.created_at),
    }
}

/// List your wallets, oldest first.
#[utoipa::path(
    get,
    path = "/v1/investor/wallets",
    params(Between, Paging),
    responses((status = 200, body = List<View>)),
    extensions(("x-codes" = json!(["not_found"]))),
)]
pub async fn list(State(app): State<App>, principal: Principal, uri: Uri) -> Result<Json<List<View>>> {
    let (page, parameters) = Page::read(&uri, &["created_from", "created_to"])?;
    let created = parameters.created()?;
    let mut tx = app.db.read().await?;
    let i = investor::of_user(&mut tx, &principal.0.user_id).await?;
    let places = investor::frozen_on(&mut tx, &i.id).await?;
    let (wallets, total) = wallet::page(&mut tx, &i.id, created, page.limit, page.offset()).await?;
    Ok(Json(page.list(wallets.iter().map(|w| item(w, &places)), total)))
}

/// The address that the investor claims.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = WalletClaim)]
#[serde(deny_unknown_fields)]
pub struct Named {
    address: Typed,
    /// A name for the wallet.
    #[schema(min_length = 1, max_length = 60, example = "the cold one")]
    label: Option<String>,
    /// The chain on which a contract wallet is verified. The first configured chain, by default.
    #[schema(example = json!(null))]
    chain_id: Option<i64>,
}

/// A wallet that is not verified yet, with the challenge to sign.
#[derive(Serialize, ToSchema)]
#[schema(as = ClaimedWallet)]
pub struct Asked {
    id: WalletId,
    address: Typed,
    #[schema(example = "the cold one")]
    label: Option<String>,
    /// Whether the wallet is verified.
    verified: bool,
    /// The text to sign.
    challenge: Challenge,
}

/// The text to sign (EIP-4361), with the wallet's key (EIP-191) or by its contract (EIP-1271).
#[derive(Serialize, ToSchema)]
#[schema(as = WalletChallenge)]
struct Challenge {
    #[schema(
        example = "portal.example wants you to sign in with your Ethereum account:\n0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed\n…"
    )]
    message: String,
    #[schema(example = "9f86d081884c7d659a2feaa0c55ad015")]
    nonce: String,
    chain_id: i64,
    expires_at: Instant,
}

/// Add a wallet.
///
/// Answers 201 with the text to sign. Another investor can still verify the address until you do.
#[utoipa::path(
    post,
    path = "/v1/investor/wallets",
    request_body = Named,
    params(IdempotencyKey),
    responses((status = 201, body = Asked, headers(("Location" = String)))),
    extensions(("x-codes" = json!(["not_found", "invalid_state", "wallet_in_use", "unknown_chain"]))),
)]
pub async fn add(State(app): State<App>, submission: Submission<Named>) -> Result<Response> {
    idempotency::once(&app, &submission).await
}

impl Form for Named {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        let sound = |label: &String| (1..=LABEL_CHARACTERS_MAX).contains(&label.trim().chars().count());
        if self.label.as_ref().is_some_and(|label| !sound(label) || label.chars().any(char::is_control)) {
            let detail = format!("The label must have 1 to {LABEL_CHARACTERS_MAX} characters.");
            return Err(Problem::field("/label", "text_format", detail));
        }
        Ok(())
    }
}

impl ChangeRequest for Named {
    async fn accept(&self, app: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        let i = investor::of_user(tx, &by.user_id()).await?;
        let claim = Claim {
            investor_id: &i.id,
            address: self.address.0,
            label: self.label.as_deref().map(str::trim),
            chain_id: self.chain_id,
            uri: &app.auth.config.public_url,
        };
        let asked = wallet_proof::ask(&app.desk, tx, &claim).await?;
        let body = json!(Asked {
            id: asked.wallet_id,
            address: Typed(asked.address.0),
            label: asked.label,
            verified: false,
            challenge: Challenge {
                message: asked.message,
                nonce: asked.nonce,
                chain_id: asked.chain_id,
                expires_at: Instant(asked.expires_at),
            },
        });
        let location = Some("/v1/investor/wallets".to_owned());
        Ok(Answer { status: 201, location, body: body.to_string() })
    }
}

/// The signature.
#[derive(Deserialize, ToSchema)]
#[schema(as = WalletSignature)]
#[serde(deny_unknown_fields)]
pub struct Signed {
    /// The signature in hexadecimal.
    #[schema(pattern = "^0x([0-9a-fA-F]{2}){1,4096}$", example = "0x5c3a7e1d9b2f4860")]
    signature: String,
}

/// Verify a wallet with a signature.
///
/// The signature must cover exactly the issued text, and works once.
#[utoipa::path(
    post,
    path = "/v1/investor/wallets/{id}/verify",
    request_body = Signed,
    responses((status = 200, body = View)),
    extensions(("x-codes" = json!(["wallet_in_use", "chain_unavailable"]))),
)]
pub async fn verify(
    State(app): State<App>,
    Path(wallet_id): Path<WalletId>,
    principal: Principal,
    Input(body): Input<Signed>,
) -> Result<Json<View>> {
    let bytes = body.signature.strip_prefix("0x").and_then(|digits| hex::decode(digits).ok());
    let signature = bytes.filter(|bytes| (1..=SIGNATURE_BYTES_MAX).contains(&bytes.len())).ok_or_else(|| {
        Problem::field(
            "/signature",
            "signature_format",
            "The signature must be 0x and an even number of hexadecimal digits.",
        )
    })?;
    let owner = investor::of_user(&mut app.db.read().await?, &principal.0.user_id).await?;
    let proved = wallet_proof::verify(&app.desk, &owner.id, &wallet_id, &signature).await?;
    // It may have been frozen before its owner was known.
    let places = investor::frozen_on(&mut app.db.read().await?, &owner.id).await?;
    Ok(Json(item(&proved, &places)))
}

/// Make a wallet the default.
#[utoipa::path(
    post,
    path = "/v1/investor/wallets/{id}/default",
    responses((status = 200, body = View)),
    extensions(("x-codes" = json!(["invalid_state"]))),
)]
pub async fn prefer(
    State(app): State<App>,
    Path(wallet_id): Path<WalletId>,
    principal: Principal,
) -> Result<Json<View>> {
    let mut tx = app.db.begin().await?;
    let i = investor::of_user(&mut tx, &principal.0.user_id).await?;
    let preferred = wallet_claim::set_default(&mut tx, &i.id, &wallet_id).await?;
    let places = investor::frozen_on(&mut tx, &i.id).await?;
    tx.commit(Point::Account).await?;
    Ok(Json(item(&preferred, &places)))
}

/// Remove a wallet that was never used.
#[utoipa::path(
    delete,
    path = "/v1/investor/wallets/{id}",
    responses((status = 204)),
    extensions(("x-codes" = json!(["invalid_state"]))),
)]
pub async fn remove(
    State(app): State<App>,
    Path(wallet_id): Path<WalletId>,
    principal: Principal,
) -> Result<StatusCode> {
    let mut tx = app.db.begin().await?;
    let i = investor::of_user(&mut tx, &principal.0.user_id).await?;
    wallet_claim::remove(&mut tx, &i.id, &wallet_id).await?;
    tx.commit(Point::Account).await?;
    Ok(StatusCode::NO_CONTENT)
}
