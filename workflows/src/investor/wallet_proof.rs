//! How an investor shows that a wallet is theirs: the platform asks for a signature under a text of its own, once and within ten minutes.

use alloy_primitives::{Address, hex};
use chrono::{Duration, SecondsFormat};
use muniment_activities::wallet_proof::{self, Message};
use muniment_domain::column::Hex;
use muniment_domain::db::Tx;
use muniment_domain::point::Point;
use muniment_domain::wallet::Wallet;
use muniment_domain::wallet_challenge::{self, WalletChallenge};
use muniment_domain::{Code, Error, Result, id, wallet_claim};

use crate::engine::Engine;

const MINUTES: i64 = 10;
/// The chain that a key is shown for where none is configured: a signature of a key is the same on all of them.
const MAINNET: i64 = 1;

/// What an investor says.
#[derive(Clone, Debug)]
pub struct Claim<'a> {
    /// Who.
    pub investor_id: &'a str,
    /// The wallet.
    pub address: Address,
    /// What they call it.
    pub label: Option<&'a str>,
    /// The chain on which a contract wallet is asked; the first one that is configured, if none is named.
    pub chain_id: Option<i64>,
    /// Where the platform is found.
    pub uri: &'a str,
}

/// Writes down what has to be signed.
pub async fn ask(engine: &Engine, tx: &mut Tx, claim: &Claim<'_>) -> Result<WalletChallenge> {
    wallet_claim::allow(tx, "/address", claim.address).await?;
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
        id: tx.new_id("chl"),
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

/// Looks at a signature. A contract wallet is asked with no transaction open; what was asked for is used up in the commit that believes it.
pub async fn verify(engine: &Engine, investor_id: &str, wallet_id: &str, signature: &[u8]) -> Result<Wallet> {
    id::check("wal", wallet_id)?;
    let mut tx = engine.db.read().await?;
    let now = tx.now();
    let challenge = wallet_challenge::newest(&mut tx, investor_id, wallet_id).await?;
    let challenge =
        challenge.ok_or_else(|| Error::refused(Code::NotFound, format!("There is no wallet {wallet_id}.")))?;
    drop(tx);
    if challenge.used_at.is_some() || challenge.expires_at <= now {
        return Err(over());
    }
    if !is_signed(engine, &challenge, signature).await? {
        let detail = "The signature is not that of this wallet under exactly the text that was asked for.";
        return Err(Error::field("/signature", "signature_invalid", detail));
    }
    let mut tx = engine.db.begin().await?;
    wallet_challenge::take(&mut tx, &challenge).await.map_err(|error| match error {
        Error::Stale { .. } => over(),
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

fn over() -> Error {
    Error::field("/signature", "challenge_over", "The text was used, or its time is over. Ask for a new one.")
}

/// The host, with its port, of an address of the web.
fn authority(uri: &str) -> &str {
    let rest = uri.split_once("://").map_or(uri, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or(rest)
}
