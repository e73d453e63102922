//! What the books say of those who are to be paid: whose their wallets are, whether that person's identity is approved, and who is frozen.
//! Read once for a whole list.

use std::collections::{BTreeSet, HashMap};

use alloy_primitives::Address;
use muniment_domain::db::Tx;
use muniment_domain::entitlement::Entitlement;
use muniment_domain::{Code, Error, Result, holding, investor};

/// The standing of some payees.
#[derive(Debug)]
pub struct Payees {
    owners: HashMap<Address, (String, bool)>,
    frozen: BTreeSet<Address>,
}

impl Payees {
    /// That of the payees of these entitlements, which are of one offering.
    pub async fn of(tx: &mut Tx, list: &[Entitlement]) -> Result<Self> {
        let wallets: Vec<Address> = list.iter().map(|e| e.payee_address.0).collect();
        let owners = investor::of_wallets(tx, &wallets).await?;
        let frozen = match list.first() {
            Some(e) => holding::frozen(tx, &e.offering_id).await?,
            None => BTreeSet::new(),
        };
        Ok(Self { owners, frozen })
    }

    /// The same, with nobody called frozen: of what was agreed on the page itself holds back whoever is frozen when it is paid, and the
    /// others do not wait for them.
    pub fn whoever_is_frozen(self) -> Self {
        Self { frozen: BTreeSet::new(), ..self }
    }

    /// Refuses what could not be paid anyway, with what to do about it; notes whose it is.
    pub fn admit(&self, e: &mut Entitlement) -> Result<()> {
        let payee = e.payee_address.0.to_checksum(None);
        if e.net == 0 {
            return Err(Error::refused(Code::InvalidState, "There is nothing to pay: it comes to less than a cent."));
        }
        let Some((owner, approved)) = self.owners.get(&e.payee_address.0) else {
            let detail = format!("The wallet {payee} belongs to no investor that the platform knows.");
            return Err(Error::refused(Code::WalletRequired, detail));
        };
        if !approved {
            return Err(Error::refused(Code::InvalidState, format!("The identity of {owner} is not approved.")));
        }
        if self.frozen.contains(&e.payee_address.0) {
            let detail = format!("The wallet {payee} is frozen. Unfreeze it first, or recover it.");
            return Err(Error::refused(Code::InvalidState, detail));
        }
        e.investor_id = Some(owner.clone());
        Ok(())
    }
}
