//! The wallet that receives a subscription's units: the investor's verified one, a new one, or none yet.

use alloy_primitives::Address;
use muniment_domain::db::Tx;
use muniment_domain::id::InvestorId;
use muniment_domain::offering::Offering;
use muniment_domain::{Error, Result, holding, wallet, wallet_claim};

const POINTER: &str = "/wallet_address";

/// The wallet of a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChosenWallet {
    /// The address.
    pub address: Address,
    /// Whether the investor names it for the first time and nobody has verified it. It is stored, and must be verified before a mint.
    pub is_new: bool,
}

/// Returns the named wallet if it is allowed, or else the investor's verified wallet, if any. Changes nothing.
pub async fn choose(
    tx: &mut Tx,
    offering: &Offering,
    investor_id: &InvestorId,
    named: Option<Address>,
) -> Result<Option<ChosenWallet>> {
    let Some(address) = named else {
        let own = wallet::default_of(tx, investor_id).await?;
        return Ok(own.map(|address| ChosenWallet { address, is_new: false }));
    };
    wallet_claim::check_address(tx, POINTER, address).await?;
    let shown = address.to_checksum(None);
    if holding::is_frozen(tx, &offering.id, address).await? {
        return Err(Error::field(POINTER, "address_forbidden", format!("{shown} is frozen on this token.")));
    }
    match wallet::find(tx, address).await? {
        None => Ok(Some(ChosenWallet { address, is_new: true })),
        // Another investor only claimed it. The first one to prove the key owns the wallet.
        Some(known) if known.investor_id != investor_id && known.is_only_claimed() => {
            Ok(Some(ChosenWallet { address, is_new: true }))
        }
        Some(known) if known.investor_id != investor_id => Err(wallet::in_use(address)),
        Some(known) if known.retired_at.is_some() => Err(Error::field(
            POINTER,
            "address_forbidden",
            format!("{shown} was recovered to another wallet and cannot be used."),
        )),
        Some(_) => Ok(Some(ChosenWallet { address, is_new: false })),
    }
}
