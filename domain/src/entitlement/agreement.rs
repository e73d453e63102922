//! The content that an approver agrees to: one hash over snapshot, amounts, coin, payer and the complete payout list.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Entitlement, payable};
use crate::column::Hex;
use crate::db::Tx;
use crate::distribution::{Distribution, Method};
use crate::{Result, snapshot};

/// The agreed content of a payout. Two values are equal only if nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Agreement {
    pub snapshot_sha256: String,
    pub snapshot_block_hash: String,
    pub entitlements_root: String,
    pub method: Method,
    pub payout_token: String,
    pub funding_wallet: String,
    pub list_sha256: String,
    pub recipient_count: usize,
    /// Total that leaves the payer, in cents.
    pub net_total: i64,
}

/// The present content of a payout, with its list.
pub async fn agreement(tx: &mut Tx, d: &Distribution) -> Result<(Agreement, Vec<Entitlement>)> {
    let unready = || d.illegal(format!("The distribution is {}; calculate it first.", d.status));
    let snapshot = snapshot::find(tx, &d.id).await?.ok_or_else(unready)?;
    let root: Hex<_> = d.entitlements_root.ok_or_else(unready)?;
    let list = payable(tx, &d.id).await?;
    let mut hash = Sha256::new();
    for e in &list {
        hash.update(format!("{} {} {}\n", e.id, e.payee_address, e.net));
    }
    let agreement = Agreement {
        snapshot_sha256: snapshot.sha256,
        snapshot_block_hash: snapshot.block_hash.to_string(),
        entitlements_root: root.to_string(),
        method: d.method,
        payout_token: d.payout_token.0.to_checksum(None),
        funding_wallet: d.funding_wallet.0.to_checksum(None),
        list_sha256: format!("{:x}", hash.finalize()),
        recipient_count: list.len(),
        net_total: list.iter().map(|e| e.net).sum(),
    };
    Ok((agreement, list))
}

impl Agreement {
    /// One hash over all fields.
    pub fn sha256(&self) -> String {
        // The fields of a struct are serialised in a fixed order, so equal agreements have equal bytes.
        format!("{:x}", Sha256::digest(serde_json::to_vec(self).unwrap_or_default()))
    }
}
