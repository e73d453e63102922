//! The payer of a distribution.

use alloy_primitives::Address;
use muniment_domain::db::Tx;
use muniment_domain::lane::{self, Lane};
use muniment_domain::{Code, Error, Result};

/// The lane of the payer: only the payer's key moves the payer's money.
pub async fn lane_of(tx: &mut Tx, chain_id: i64, payer: Address) -> Result<Lane> {
    let mut lanes = lane::of_chain(tx, chain_id).await?.into_iter();
    lanes.find(|lane| lane.signer.0 == payer).ok_or_else(|| {
        let payer = payer.to_checksum(None);
        Error::refused(
            Code::InvalidState,
            format!("The payer {payer} is not a signer of chain {chain_id} yet. Start a worker that has its key."),
        )
    })
}
