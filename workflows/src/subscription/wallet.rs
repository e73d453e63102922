//! Which wallet a subscription is minted to: the investor's own, a new one, or none yet.

use alloy_primitives::Address;
use muniment_domain::db::Tx;
use muniment_domain::offering::Offering;
use muniment_domain::{Error, Result, holding, wallet, wallet_claim};

const POINTER: &str = "/wallet_address";

/// The wallet of a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Its address.
    pub address: Address,
    /// Whether nobody has shown that it is theirs, and the investor did not name it before: it is kept, and has to be proved before anything is minted to it.
    pub is_new: bool,
}

/// The named wallet if it may be used, or the one that the investor has proved, if there is one. Changes nothing.
pub async fn choose(
    tx: &mut Tx,
    offering: &Offering,
    investor_id: &str,
    named: Option<Address>,
) -> Result<Option<Chosen>> {
    let Some(address) = named else {
        let own = wallet::default_of(tx, investor_id).await?;
        return Ok(own.map(|address| Chosen { address, is_new: false }));
    };
    wallet_claim::allow(tx, POINTER, address).await?;
    let shown = address.to_checksum(None);
    if holding::is_frozen(tx, &offering.id, address).await? {
        return Err(Error::field(POINTER, "address_forbidden", format!("{shown} is frozen in this token.")));
    }
    match wallet::find(tx, address).await? {
        None => Ok(Some(Chosen { address, is_new: true })),
        // That another one says so too changes nothing: whoever shows its key has it.
        Some(known) if known.investor_id != investor_id && known.is_only_claimed() => {
            Ok(Some(Chosen { address, is_new: true }))
        }
        Some(known) if known.investor_id != investor_id => Err(wallet::in_use(address)),
        Some(known) if known.retired_at.is_some() => {
            Err(Error::field(POINTER, "address_forbidden", format!("{shown} was given up as lost.")))
        }
        Some(_) => Ok(Some(Chosen { address, is_new: false })),
    }
}
