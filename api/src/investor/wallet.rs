//! `/v1/investor/wallets`: the addresses of the investor who calls.

use alloy_primitives::hex;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use muniment_domain::investor::{self, Frozen};
use muniment_domain::point::Point;
use muniment_domain::wallet::{self, Wallet};
use muniment_domain::wallet_claim;
use muniment_workflows::wallet_proof::{self, Claim};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::address::Typed;
use crate::app::App;
use crate::body::Input;
use crate::error::{Problem, Result};
use crate::instant;
use crate::principal::Principal;

/// An address is the same on every chain of this kind (CAIP-2).
const NAMESPACE: &str = "eip155";
const LABEL_CHARACTERS_MAX: usize = 60;
/// Contract wallets take signatures of several owners; none needs more.
const SIGNATURE_BYTES_MAX: usize = 4096;

/// One wallet, with the offerings in whose token it is frozen.
pub fn item(w: &Wallet, places: &[Frozen]) -> Value {
    let frozen = places.iter().filter(|place| place.frozen && place.wallet_address == w.address);
    json!({
        "id": w.id, "address": w.address.0.to_checksum(None), "chain": NAMESPACE, "label": w.label,
        "verified": w.verified_at.is_some(), "verified_at": instant::optional(w.verified_at), "default": w.is_default,
        "retired_at": instant::optional(w.retired_at), "successor": w.successor.map(|a| a.0.to_checksum(None)),
        "frozen_on": frozen.map(|place| &place.offering_id).collect::<Vec<_>>(), "created_at": instant::text(w.created_at),
    })
}

/// `GET /v1/investor/wallets`: the oldest first.
pub async fn list(State(app): State<App>, principal: Principal) -> Result<Json<Value>> {
    let mut tx = app.db.read().await?;
    let i = investor::of_user(&mut tx, &principal.0.user_id).await?;
    let places = investor::frozen_on(&mut tx, &i.id).await?;
    let wallets = wallet::of_investor(&mut tx, &i.id).await?;
    Ok(Json(json!({ "data": wallets.iter().map(|w| item(w, &places)).collect::<Vec<_>>() })))
}

/// An address that the investor says is theirs.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    address: Typed,
    label: Option<String>,
    chain_id: Option<i64>,
}

/// `POST /v1/investor/wallets`: 201, and the text that has to be signed.
pub async fn add(State(app): State<App>, principal: Principal, Input(body): Input<Named>) -> Result<impl IntoResponse> {
    let sound = |label: &String| (1..=LABEL_CHARACTERS_MAX).contains(&label.trim().chars().count());
    if body.label.as_ref().is_some_and(|label| !sound(label) || label.chars().any(char::is_control)) {
        let detail = format!("A label has 1 to {LABEL_CHARACTERS_MAX} characters.");
        return Err(Problem::field("/label", "text_format", detail));
    }
    let mut tx = app.db.begin().await?;
    let i = investor::of_user(&mut tx, &principal.0.user_id).await?;
    let claim = Claim {
        investor_id: &i.id,
        address: body.address.0,
        label: body.label.as_deref().map(str::trim),
        chain_id: body.chain_id,
        uri: &app.auth.config.public_url,
    };
    let asked = wallet_proof::ask(&app.desk, &mut tx, &claim).await?;
    tx.commit(Point::Account).await?;
    let answer = json!({
        "id": asked.wallet_id, "address": asked.address.0.to_checksum(None), "label": asked.label, "verified": false,
        "challenge": { "message": asked.message, "nonce": asked.nonce, "chain_id": asked.chain_id,
            "expires_at": instant::text(asked.expires_at) },
    });
    Ok((StatusCode::CREATED, [(header::LOCATION, "/v1/investor/wallets")], Json(answer)))
}

/// A signature.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signed {
    signature: String,
}

/// `POST /v1/investor/wallets/{id}/verify`.
pub async fn verify(
    State(app): State<App>,
    Path(wallet_id): Path<String>,
    principal: Principal,
    Input(body): Input<Signed>,
) -> Result<Json<Value>> {
    let bytes = body.signature.strip_prefix("0x").and_then(|digits| hex::decode(digits).ok());
    let signature = bytes.filter(|bytes| (1..=SIGNATURE_BYTES_MAX).contains(&bytes.len())).ok_or_else(|| {
        Problem::field("/signature", "signature_format", "A signature is 0x and an even number of hexadecimal digits.")
    })?;
    let owner = investor::of_user(&mut app.db.read().await?, &principal.0.user_id).await?;
    let proved = wallet_proof::verify(&app.desk, &owner.id, &wallet_id, &signature).await?;
    Ok(Json(item(&proved, &[])))
}

/// `POST /v1/investor/wallets/{id}/default`.
pub async fn prefer(
    State(app): State<App>,
    Path(wallet_id): Path<String>,
    principal: Principal,
) -> Result<Json<Value>> {
    let mut tx = app.db.begin().await?;
    let i = investor::of_user(&mut tx, &principal.0.user_id).await?;
    let preferred = wallet_claim::prefer(&mut tx, &i.id, &wallet_id).await?;
    let places = investor::frozen_on(&mut tx, &i.id).await?;
    tx.commit(Point::Account).await?;
    Ok(Json(item(&preferred, &places)))
}

/// `DELETE /v1/investor/wallets/{id}`: of one that was never used.
pub async fn remove(State(app): State<App>, Path(wallet_id): Path<String>, principal: Principal) -> Result<StatusCode> {
    let mut tx = app.db.begin().await?;
    let i = investor::of_user(&mut tx, &principal.0.user_id).await?;
    wallet_claim::remove(&mut tx, &i.id, &wallet_id).await?;
    tx.commit(Point::Account).await?;
    Ok(StatusCode::NO_CONTENT)
}
