//! The last check before a key is used: is this still the followed chain? The URL may lead to another chain since the operation was
//! prepared, and a signature cannot be taken back.

use muniment_domain::chain::Anchor;

use crate::engine::Network;

/// The reason why nothing may be signed for this chain now, if any.
pub async fn signing_refusal(network: &Network, anchor: &Anchor) -> Option<String> {
    if let Some(reason) = &anchor.halted_reason {
        return Some(format!("chain_halted: {reason}"));
    }
    match network.chain.header(anchor.final_number.cast_unsigned()).await {
        Ok(Some(header)) if header.hash == anchor.final_hash.0 => None,
        Ok(_) => Some(format!(
            "wrong_chain: the endpoints do not show the final block {} ({}). Nothing is signed until they do",
            anchor.final_number, anchor.final_hash
        )),
        Err(fault) => Some(format!("{}: {fault}", fault.code())),
    }
}
