//! Proof of a wallet: the investor signs a text of the platform with the wallet's key, once and within ten minutes.

use alloy_primitives::{Address, hex};
use chrono::{Duration, SecondsFormat};
use muniment_activities::wallet_proof::{self, Message};
use muniment_domain::column::Hex;
use muniment_domain::db::Tx;
use muniment_domain::id::{InvestorId, WalletId, of};
use muniment_domain::point::Point;
use muniment_domain::wallet::Wallet;
use muniment_domain::wallet_challenge::{self, WalletChallenge};
use muniment_domain::{Code, Error, Result, wallet_claim};

use crate::engine::Engine;

const MINUTES: i64 = 10;
/// The chain id in the text where no chain is configured. A key's signature is valid on every chain.
const MAINNET: i64 = 1;

/// An investor's claim to a wallet.
#[derive(Clone, Debug)]
pub struct Claim<'a> {
    /// The investor.
    pub investor_id: &'a InvestorId,
    /// The wallet.
    pub address: Address,
    /// The investor's name for it.
    pub label: Option<&'a str>,
    /// The chain of a contract wallet. Without it, the first configured chain.
    pub chain_id: Option<i64>,
    /// The platform's own URL.
    pub uri: &'a str,
}

/// Stores the text that the investor has to sign.
pub async fn ask(engine: &Engine, tx: &mut Tx, claim: &Claim<'_>) -> Result<WalletChallenge> {
    wallet_claim::check_address(tx, "/address", claim.address).await?;
    let chain_id = match claim.chain_id {
        Some(known) if engine.network(known).is_some() => known,
        Some(other) => {
            return Err(Error::refused(Code::UnknownChain, format!("The chain {other} is not configured here.")));
        }
        None => engine.networks.keys().next().copied().unwrap_or(MAINNET),
    };
    let wallet_id = wallet_claim::claim(tx, claim.investor_id, claim.address, claim.label).await?;
    let (now, nonce) = (tx.now(), hex::encode(engine.db.ids().bytes()));
    let expires_at = now + Duration::minutes(MINUTES);
    let text = |at: chrono::DateTime<chrono::Utc>| at.to_rfc3339_opts(SecondsFormat::Millis, true);
    let message = Message {
        domain: authority(claim.uri),
        address: claim.address,
        uri: claim.uri,
        chain_id: chain_id.cast_unsigned(),
        nonce: &nonce,
        issued_at: &text(now),
        expires_at: &text(expires_at),
        request_id: &wallet_id,
    };
    let challenge = WalletChallenge {
        id: tx.new_id::<of::WalletChallenge>(),
        message: message.to_string(),
        wallet_id: wallet_id.clone(),
        investor_id: claim.investor_id.to_owned(),
        address: Hex(claim.address),
        label: claim.label.map(str::to_owned),
        chain_id,
        nonce: nonce.clone(),
        expires_at,
        used_at: None,
        created_at: now,
    };
    wallet_challenge::insert(tx, &challenge).await?;
    Ok(challenge)
}

/// Verifies a signature. A contract wallet is asked on the chain, with no database transaction open. The challenge is consumed in the
/// commit that verifies the wallet.
pub async fn verify(
    engine: &Engine,
    investor_id: &InvestorId,
    wallet_id: &WalletId,
    signature: &[u8],
) -> Result<Wallet> {
    wallet_id.check()?;
    let mut tx = engine.db.read().await?;
    let now = tx.now();
    let challenge = wallet_challenge::newest(&mut tx, investor_id, wallet_id).await?;
    let challenge =
        challenge.ok_or_else(|| Error::refused(Code::NotFound, format!("There is no wallet {wallet_id}.")))?;
    drop(tx);
    if challenge.used_at.is_some() || challenge.expires_at <= now {
        return Err(challenge_over());
    }
    if !is_signed(engine, &challenge, signature).await? {
        let detail = "The signature is not by this wallet over exactly the text of the challenge.";
        return Err(Error::field("/signature", "signature_invalid", detail));
    }
    let mut tx = engine.db.begin().await?;
    wallet_challenge::use_challenge(&mut tx, &challenge).await.map_err(|error| match error {
        Error::Stale { .. } => challenge_over(),
        other => other,
    })?;
    let wallet = wallet_claim::prove(&mut tx, &challenge).await?;
    tx.commit(Point::Account).await?;
    Ok(wallet)
}

async fn is_signed(engine: &Engine, c: &WalletChallenge, signature: &[u8]) -> Result<bool> {
    if wallet_proof::signer(&c.message, signature) == Some(c.address.0) {
        return Ok(true);
    }
    let Some(network) = engine.network(c.chain_id) else { return Ok(false) };
    let asked = wallet_proof::contract_accepts(&network.chain, c.address.0, &c.message, signature).await;
    asked.map_err(|fault| Error::refused(Code::ChainUnavailable, fault.to_string()))
}

fn challenge_over() -> Error {
    Error::field("/signature", "challenge_over", "The challenge was already used or has expired. Request a new one.")
}

/// The host and port of a URL.
fn authority(uri: &str) -> &str {
    let rest = uri.split_once("://").map_or(uri, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or(rest)
}
