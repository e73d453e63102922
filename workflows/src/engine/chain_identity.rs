//! The last check before a key is used: is this still the followed chain? The URL may lead to another chain since the operation was
//! prepared, and a signature cannot be taken back.

use muniment_domain::{Result, chain};

use crate::engine::{Engine, Network};

/// The reason why nothing may be signed for this chain now, if any.
pub async fn doubt(engine: &Engine, network: &Network) -> Result<Option<String>> {
    let mut tx = engine.db.read().await?;
    let cursor = chain::find(&mut tx, network.id()).await?;
    drop(tx);
    let Some(cursor) = cursor else {
        return Ok(Some("chain_unmet: this chain has not been contacted yet".to_owned()));
    };
    if let Some(reason) = cursor.halted_reason {
        return Ok(Some(format!("chain_halted: {reason}")));
    }
    Ok(match network.chain.header(cursor.final_number.cast_unsigned()).await {
        Ok(Some(header)) if header.hash == cursor.final_hash.0 => None,
        Ok(_) => Some(format!(
            "wrong_chain: the endpoints do not show the final block {} ({}). Nothing is signed until they do",
            cursor.final_number, cursor.final_hash
        )),
        Err(fault) => Some(format!("{}: {fault}", fault.code())),
    })
}
