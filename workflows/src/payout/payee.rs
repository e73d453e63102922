//! The database's view of payees: the owner of each wallet, whether the owner's identity is approved, and which wallets are frozen. It is
//! read once for a whole list.

use std::collections::{BTreeSet, HashMap};

use alloy_primitives::Address;
use muniment_domain::db::Tx;
use muniment_domain::entitlement::Entitlement;
use muniment_domain::investor::{self, Owner};
use muniment_domain::{Code, Error, Result, holding};

/// The owners and freezes of some payees.
#[derive(Debug)]
pub struct Payees {
    owners: HashMap<Address, Owner>,
    frozen: BTreeSet<Address>,
}

impl Payees {
    /// Reads the payees of these entitlements, which belong to one offering.
    pub async fn of(tx: &mut Tx, list: &[Entitlement]) -> Result<Self> {
        let wallets: Vec<Address> = list.iter().map(|e| e.payee_address.0).collect();
        let owners = investor::of_wallets(tx, &wallets).await?;
        let frozen = match list.first() {
            Some(e) => holding::frozen(tx, &e.offering_id).await?,
            None => BTreeSet::new(),
        };
        Ok(Self { owners, frozen })
    }

    /// Ignores freezes. For an approved list the page itself holds a frozen payee when it is paid, and the others do not wait.
    pub fn ignoring_freezes(self) -> Self {
        Self { frozen: BTreeSet::new(), ..self }
    }

    /// Refuses an entitlement that could not be paid, with the remedy, and sets its investor.
    pub fn admit(&self, e: &mut Entitlement) -> Result<()> {
        let payee = e.payee_address.0.to_checksum(None);
        if e.net == 0 {
            return Err(Error::refused(
                Code::InvalidState,
                "The amount is less than one cent, so there is nothing to pay.",
            ));
        }
        let Some(owner) = self.owners.get(&e.payee_address.0) else {
            let detail = format!("The wallet {payee} belongs to no known investor. Its owner must verify it first.");
            return Err(Error::refused(Code::WalletRequired, detail));
        };
        if !owner.is_approved {
            return Err(Error::refused(
                Code::InvalidState,
                format!("The identity of {} is not approved. Approve it first.", owner.id),
            ));
        }
        if self.frozen.contains(&e.payee_address.0) {
            let detail = format!("The wallet {payee} is frozen. Unfreeze it first, or recover it.");
            return Err(Error::refused(Code::InvalidState, detail));
        }
        e.investor_id = Some(owner.id.clone());
        Ok(())
    }
}
